"""The evidence says what is enforced, and in words what is not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernaut.sandbox.protections import RLIMITS, Protections

FULL = Protections(
    seccomp=0,
    landlock=6,
    rlimits=sum(RLIMITS.values()),
    unprivileged=True,
    no_new_privs=True,
    parent_death=True,
    threads=1,
)


def test_the_record_arrives_as_it_was_sent() -> None:
    odd = Protections(2, 3, 5, False, True, False, 7)
    assert Protections.unpack(odd.pack()) == odd


def test_full_protection_leaves_nothing_open() -> None:
    described = FULL.describe()
    assert described["not_enforced"] == []
    assert described["no_files"] and described["no_network"] and described["no_processes"]
    assert json.loads(json.dumps(described)) == described


@pytest.mark.parametrize(
    ("without", "words"),
    [
        ({"seccomp": 2}, "libseccomp or pyseccomp is not installed"),
        ({"seccomp": 1, "landlock": 0}, "files can be read"),
        ({"seccomp": 1, "unprivileged": False}, "processes can be started"),
        ({"seccomp": 3}, "network other than TCP"),
        ({"seccomp": 3, "landlock": 3}, "network can be used"),
        ({"landlock": 0}, "Landlock"),
        ({"rlimits": RLIMITS["cpu_seconds"]}, "no address_space limit"),
        ({"parent_death": False}, "outlive"),
    ],
)
def test_what_is_missing_is_said(without: dict[str, int], words: str) -> None:
    lacking = replace(FULL, **without).describe()  # type: ignore[arg-type]
    assert any(words in sentence for sentence in lacking["not_enforced"])
