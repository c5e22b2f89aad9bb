"""Child side: a closure tree as JSON text whose float-dependent numbers are references into one float64 vector.

``{"weight": tensor}`` becomes ``{"weight": {"$": 0}}`` and the tensor element 0 of the vector; plain numbers stay where they are.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import torch

from kernaut.sandbox.execution import ProgramError
from kernaut.sandbox.messages import MAX_TEXT

MAX_NODES = 20_000
MAX_DEPTH = 64
REFERENCE = "$"


def tree_values(tree: Any) -> tuple[str, list[torch.Tensor]]:
    """Split a tree into structure and numbers.

    Args:
        tree: what ``closure_tree`` returned: JSON values, tensors and numpy arrays.

    Returns:
        Canonical JSON text, and 0-d tensors in the order of their references.

    Raises:
        ProgramError: naming the path of the first thing that is not JSON, not finite, or too deep or large.
    """
    numbers: list[torch.Tensor] = []
    count = 0

    def walk(value: Any, path: str, depth: int) -> Any:
        nonlocal count
        count += 1
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise ProgramError(
                f"expected a tree of at most {MAX_DEPTH} levels and {MAX_NODES} values; got more at {path}"
            )
        if isinstance(value, torch.Tensor):
            return _tensor(value, path, depth)
        if isinstance(value, (np.ndarray, np.generic)):
            return walk(value.tolist(), path, depth)
        if isinstance(value, dict):
            return {_key(key, path): walk(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [walk(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            raise ProgramError(f"expected finite numbers in the tree; got {value!r} at {path}")
        if value is None or type(value) in (bool, int, float, str):
            return value
        raise ProgramError(f"expected JSON values in the tree; got {type(value).__name__} at {path}")

    def _tensor(value: torch.Tensor, path: str, depth: int) -> Any:
        if value.is_complex():
            raise ProgramError(f"expected real numbers in the tree; got a complex tensor at {path}")
        if not value.is_floating_point():
            return walk(value.tolist(), path, depth)
        if value.ndim == 0:
            numbers.append(value.to(torch.float64))
            return {REFERENCE: len(numbers) - 1}
        return [walk(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value.unbind())]

    text = json.dumps(walk(tree, "tree", 0), sort_keys=True, separators=(",", ":"))
    if len(text) > MAX_TEXT:
        raise ProgramError(f"expected a tree of at most {MAX_TEXT} characters; got {len(text)}")
    return text, numbers


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str) or key == REFERENCE:
        raise ProgramError(f"expected string keys other than {REFERENCE!r} in the tree; got {key!r} at {path}")
    return key
