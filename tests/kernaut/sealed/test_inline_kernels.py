"""Programs inside a confined process give what the sandbox gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from kernaut.errors import SandboxFailure
from kernaut.sandbox.records import SandboxProgram
from kernaut.sealed.inline_kernels import InlinePool
from kernaut.sealed.kernel_records import cross_gram, kernel_of

NUMPY = "import numpy as np\n\ndef feature_point(x, parameters):\n    return np.concatenate([x, [parameters['a'] * x[0] ** 2]])\n"
TORCH = "import torch\n\ndef feature_point(x, parameters):\n    return torch.cat([x, (parameters['a'] * x[0] ** 2).reshape(1)])\n"
TREE = (
    "def closure_tree(parameters):\n"
    "    return {'op': 'sum', 'children': [{'op': 'base', 'kind': 'rbf', 'lengthscale': parameters['a']},"
    " {'op': 'base', 'kind': 'linear'}]}\n"
)
SPECTRAL = (
    "import numpy as np\n\ndef spectral_components(input_dimension, parameters):\n"
    "    return np.ones((2, input_dimension)) * parameters['a'], np.array([1.0, 2.0])\n"
)
STATES = "def state_space_matrices(parameters):\n    return [[-parameters['a']]], [1.3], [0.7]\n"
TASKS = (
    "def coregionalization(parameters):\n"
    "    kernel = {'op': 'base', 'kind': 'rbf', 'lengthscale': parameters['a']}\n"
    "    return {'factor': [0.4, 1.1], 'kernel': kernel}\n"
)
RECORDS: dict[str, dict[str, Any]] = {
    "numpy": {"name": "n", "contract": "feature_map", "source": NUMPY, "parameters": {"a": 0.5}},
    "torch": {"name": "t", "contract": "feature_map", "source": TORCH, "parameters": {"a": 0.5}},
    "tree": {"name": "c", "contract": "closure", "source": TREE, "parameters": {"a": 0.5}},
    "torch tree": {"name": "d", "contract": "closure", "source": "import torch\n\n" + TREE, "parameters": {"a": 0.5}},
    "states": {"name": "s", "contract": "state_space", "source": "import torch\n\n" + STATES, "parameters": {"a": 0.5}},
    "tasks": {"name": "s", "contract": "coregionalized", "source": TASKS, "parameters": {"a": 0.5}},
    "spectral": {"name": "s", "contract": "spectral", "source": SPECTRAL, "parameters": {"a": 0.5}},
}


@pytest.fixture(autouse=True)
def as_in_the_template() -> Any:
    """Policies' processes compute in float64 by default."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("kind", RECORDS)
def test_the_same_kernel_as_in_the_sandbox(kind: str, rng: np.random.Generator) -> None:
    x, z = rng.uniform(size=(5, 2)), rng.uniform(size=(3, 2))
    if kind == "tasks":
        x[:, 1], z[:, 1] = [0.0, 1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0]
    inline = cross_gram(kernel_of(RECORDS[kind], pool=InlinePool()), x, z)
    np.testing.assert_array_equal(inline, cross_gram(kernel_of(RECORDS[kind]), x, z))
    if kind in ("numpy", "torch"):
        features = [np.column_stack([p, 0.5 * p[:, 0] ** 2]) for p in (x, z)]
        np.testing.assert_allclose(inline, features[0] @ features[1].T, rtol=1e-12)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import numpy as np\ndef feature_point(x, parameters):\n    return x * np.nan\n", "nan"),
        ("import numpy as np\ndef feature_point(x, parameters):\n    return 'x'\n", "array of numbers"),
        ("def other(x, parameters):\n    return x\n", "no function"),
    ],
)
def test_a_program_without_a_value_is_a_failure(source: str, word: str) -> None:
    child = InlinePool().child(SandboxProgram(source, "feature_point", "point", "numpy"))
    with pytest.raises(SandboxFailure, match=word):
        child.evaluate(np.ones((2, 2)), {})
    child.close()


def test_a_source_that_does_not_compile_is_a_failure() -> None:
    with pytest.raises(SandboxFailure, match="compile"):
        InlinePool().child(SandboxProgram("def f(:", "f", "point", "numpy"))
