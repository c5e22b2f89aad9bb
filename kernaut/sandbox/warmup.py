"""Everything a program may use that Python would otherwise import at its first use, which a confined child cannot.

Run once in the template, before the first fork; it also brings the child's first request down to the cost of later ones.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import torch

from kernaut.sandbox.execution import ALLOWED_MODULES, Parameters, Source
from kernaut.sandbox.gradients import Differentiator
from kernaut.sandbox.numpy_execution import numpy_values
from kernaut.sandbox.records import SandboxProgram
from kernaut.sandbox.torch_execution import TorchProgram

_TORCH = """
import math
import torch

def feature_point(x, parameters):
    y = torch.cat([torch.sin(x * parameters["a"]), torch.stack([x[0], x.sum()])])
    z = torch.einsum("i,j->ij", y, y).reshape(-1)
    return torch.where(z > 0, torch.exp(-z), z) + torch.linspace(0.0, 1.0, z.shape[0])
"""
_NUMPY = """
import numpy as np

def feature_point(x, parameters):
    return np.concatenate([np.sin(x * parameters["a"]), np.linalg.norm(x)[None]])
"""


def warm_up() -> None:
    """Fix the numerical settings of all children, import what is lazily imported, run one program of each kind, on one thread."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for names in ALLOWED_MODULES.values():
        for name in names:
            importlib.import_module(name)
    exercise()
    _lazy_imports()
    _keep_batches_unreadable()


def exercise() -> None:
    """Run one program of each kind, which in a forked child copies the pages it would otherwise copy at its first request."""
    points, parameters = np.full((3, 2), 0.5), Parameters({"a": 0.5})
    program = TorchProgram(Source(SandboxProgram(_TORCH, "feature_point", "point", "torch")))
    (values,) = program.forward(torch.from_numpy(points), torch.tensor([0.5]), parameters, 2)
    with torch.enable_grad():
        Differentiator(program, 1e9).pullback(points, parameters, [np.ones(values.shape)], 2, True)
    numpy_values(Source(SandboxProgram(_NUMPY, "feature_point", "point", "numpy")), points, parameters, 2)


def _lazy_imports() -> None:
    """Calls known to import on first use."""
    square = torch.eye(3) + 0.1
    for text in (str(square), repr(square[0, 0]), f"{square[0, 0]:.3f}"):
        assert text
    torch.linalg.eigh(square)
    torch.linalg.solve(square, square)
    torch.einsum("ij,jk,kl->il", square, square, square)
    torch.tensordot(square, square, dims=1)
    torch.meshgrid(square[0], square[1], indexing="ij")
    torch.cartesian_prod(square[0], square[1])
    torch.nn.functional.softplus(square)
    torch.nn.functional.pad(square, (1, 1))
    torch.fft.fft(square[0])
    np.einsum("ij,jk,kl->il", np.eye(3), np.eye(3), np.eye(3), optimize=True)
    np.array2string(np.eye(2))
    np.polynomial.chebyshev.chebval(0.5, [1.0, 2.0])
    np.fft.rfft(np.arange(4.0))
    np.median(np.arange(3.0))
    np.unique(np.arange(3.0))
    np.quantile(np.arange(3.0), 0.5)


def _keep_batches_unreadable() -> None:
    """Text is the one way by which vmap shows other points: a batched tensor prints its whole batch.  Refuse to print it."""
    written: Any = torch.Tensor.__repr__

    def text(self: torch.Tensor, *, tensor_contents: Any = None) -> str:
        if torch._C._functorch.is_batchedtensor(self):
            raise RuntimeError("a value that depends on the point cannot become text")
        return written(self, tensor_contents=tensor_contents)

    torch.Tensor.__repr__ = text  # type: ignore[method-assign, assignment]
