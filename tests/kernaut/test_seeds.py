"""Stable seeds: known values, so that no machine and no version changes them."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernaut.seeds import generator, stable_seed


def test_a_seed_is_the_first_eight_bytes_of_the_digest_of_the_joined_names() -> None:
    assert stable_seed("a", "b") == int.from_bytes(hashlib.sha256(b"a|b").digest()[:8], "big")
    assert stable_seed("branin:seed-10000", "predictive") == int(
        hashlib.sha256(b"branin:seed-10000|predictive").hexdigest()[:16], 16
    )
    assert stable_seed("a", 7) == stable_seed("a", "7") == stable_seed("a|7")
    assert stable_seed("é") == int.from_bytes(hashlib.sha256("é".encode()).digest()[:8], "big")


@given(st.lists(st.text() | st.integers(), min_size=1))
def test_seeds_are_64_bits_and_repeatable(names: list[str | int]) -> None:
    assert 0 <= stable_seed(*names) < 2**64
    assert stable_seed(*names) == stable_seed(*names)


def test_generators_of_one_name_agree_and_of_two_do_not() -> None:
    first, again, other = (generator("x", index).uniform(size=4) for index in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(first, np.random.default_rng(stable_seed("x", 1)).uniform(size=4))
