"""Blocks as functions: their sources are run as they stand, with the helpers that they name."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from kernaut.authors.blocks import Block
from kernaut.authors.vocabulary import HELPERS, KNOWN_BLOCKS

Features = Callable[..., np.ndarray]


@pytest.fixture
def features() -> Features:
    """``features(name, x, slot=value, ...)``: the feature vector of a block at one point, slots at their initial values unless given."""

    def calculate(name: str, x: list[float], **values: float) -> np.ndarray:
        block: Block = KNOWN_BLOCKS[name]
        space: dict[str, object] = {"torch": torch, "math": math}
        for text in (*(HELPERS[helper] for helper in block.helpers), block.source):
            exec(text, space)
        given = [torch.tensor(values.get(slot.name, slot.initial), dtype=torch.float64) for slot in block.slots]
        function = space[name]
        assert callable(function)
        return np.asarray(function(torch.tensor(x, dtype=torch.float64), *given))

    return calculate
