"""The extraction probe."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.sealed.families.fm_kernel_loss import FMKernelLoss
from kernaut.sealed.families.haar_encode import HaarEncode
from kernaut.sealed.families.registry import BUILT_IN, family_named
from kernaut.sealed.generation import instance
from kernaut.sealed.probe import probe
from kernaut.sealed.sealing import SealedKey

KEY = SealedKey(bytes(range(32)))


def drawn(family: Any, count: int = 60) -> list[Any]:
    return [instance(family, n, 1000 + n, KEY, {}) for n in range(count)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_nothing_public_predicts_what_is_hidden(name: str) -> None:
    family = family_named(name)
    result = probe(family, drawn(family))
    assert result.passed, result
    assert result.constant == pytest.approx(0.5, abs=0.05)
    assert result.elements > 150


def test_a_hidden_number_in_the_low_bits_is_found() -> None:
    """The last byte of each public number holds a coarse copy of what is hidden at its place."""

    class Leaky(HaarEncode):
        def secrets(self, task: Any, targets: Any) -> Any:
            found = super().secrets(task, targets)
            features = found.features.copy()
            bits = np.clip(128 + 60 * found.hidden / found.hidden.std(), 0, 255).astype(np.uint64)
            raw = features[:, 3].copy().view(np.uint64) & ~np.uint64(0xFF)
            features[:, 3] = (raw | bits).view(np.float64)
            return dataclasses.replace(found, features=features)

    result = probe(Leaky(), drawn(HaarEncode()))
    assert not result.passed, result


def test_labels_drawn_from_the_public_seed_are_found() -> None:
    class Leaky(FMKernelLoss):
        def secrets(self, task: Any, targets: Any) -> Any:
            found = super().secrets(task, targets)
            labels = np.where(found.features[:, 0] + 0.3 * found.features[:, 2] > 0.6, 1.0, -1.0)
            return dataclasses.replace(found, hidden=labels)

    assert not probe(Leaky(), drawn(FMKernelLoss())).passed


def test_a_public_parameter_that_tells_is_found() -> None:
    told = []
    for task, targets in drawn(HaarEncode()):
        shifted = {"coefficients": targets["coefficients"] + 3.0 * (task.seed % 2)}
        told.append((dataclasses.replace(task, p_i=thaw(task.p_i)), shifted))
    assert not probe(HaarEncode(), told).passed


def test_few_instances_are_refused() -> None:
    with pytest.raises(InputError, match="at least 20"):
        probe(HaarEncode(), drawn(HaarEncode(), 19))
