"""GPyTorch's own suite on every leaf and on a program of every contract."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import pytest
import torch
from gpytorch.test.base_kernel_test_case import BaseKernelTestCase

from kernaut.kernels.inspection import with_tasks
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram

LEAVES: dict[str, dict[str, Any]] = {
    "linear": {"kind": "linear", "variance": 0.6},
    "rbf": {"kind": "rbf", "lengthscale": 0.7},
    "matern12": {"kind": "matern12", "lengthscale": 1.7},
    "matern32": {"kind": "matern32", "lengthscale": 0.8},
    "matern52": {"kind": "matern52", "lengthscale": 0.9},
    "rq": {"kind": "rq", "alpha": 0.6},
    "periodic": {"kind": "periodic", "period": 1.3, "lengthscale": 0.8},
    "cosine": {"kind": "cosine", "period": 1.4},
    "polynomial": {"kind": "polynomial", "power": 3, "offset": 0.4},
    "piecewise_polynomial": {"kind": "piecewise_polynomial", "q": 1, "lengthscale": 2.5},
    "spectral_mixture": {"kind": "spectral_mixture", "weights": [0.4, 0.9], "means": [0.3, 1.1], "scales": [0.2, 0.5]},
    "rff": {"kind": "rff", "features": 32, "seed": 5, "lengthscale": 1.2},
    "ard_rbf": {"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 0.25, "max": 4.0}},
    "ard_matern32": {"kind": "ard_matern32", "lengthscales": 0.7},
    "ard_matern52": {"kind": "ard_matern52", "lengthscale": 0.6, "variance": 1.3},
}
CONTRACTS = (
    "feature_map",
    "numpy_feature_map",
    "additive_feature_map",
    "spectral",
    "input_transform",
    "residual_feature_map",
    "residual_input_transform",
    "closure",
    "numpy_closure",
    "state_space",
    "numpy_state_space",
    "unverified",
)
TASKS = ("coregionalized", "numpy_coregionalized")


class Suite(BaseKernelTestCase):
    """GPyTorch's tests, and three that it lacks."""

    make: Callable[..., Any]

    def create_kernel_no_ard(self, **kwargs: Any) -> Any:
        return self.make(**kwargs)

    def test_active_dims_survive_expansion_and_indexing(self) -> None:
        kernel = self.make(active_dims=[3, 1], batch_shape=torch.Size([2]))
        x = torch.randn(2, 5, 4)
        expected = self.make()(x[..., [3, 1]]).to_dense()
        expanded = kernel.expand_batch(3, 2)
        self.assertAllClose(expanded(x.expand(3, 2, 5, 4)).to_dense()[2], expected, rtol=1e-5, atol=1e-6)
        self.assertAllClose(kernel[1](x[1]).to_dense(), expected[1], rtol=1e-5, atol=1e-6)

    def test_batches_of_two_sets_of_points_broadcast(self) -> None:
        kernel = self.make(batch_shape=torch.Size([2]))
        x, z = torch.randn(3, 1, 4, 2), torch.randn(2, 5, 2)
        matrix = kernel(x, z).to_dense()
        assert matrix.shape == (3, 2, 4, 5)
        self.assertAllClose(matrix[2, 1], self.make()(x[2, 0], z[1]).to_dense(), rtol=1e-4, atol=1e-5)

    def test_the_diagonal_of_pairs_is_that_of_the_matrix(self) -> None:
        x, z = torch.randn(2, 4, 3), torch.randn(2, 4, 3)
        kernel = self.make(batch_shape=torch.Size([2]))
        full = kernel(x, z).to_dense()
        self.assertAllClose(kernel(x, z, diag=True), full.diagonal(dim1=-2, dim2=-1), rtol=1e-5, atol=1e-6)


def _library(parameters: dict[str, Any]) -> Callable[..., Any]:
    return lambda self, **kwargs: leaf(**parameters, **kwargs)


for _name, _parameters in LEAVES.items():
    globals()[f"Test_{_name}"] = type(
        f"Test_{_name}", (Suite, unittest.TestCase), {"make": _library(_parameters), "__module__": __name__}
    )


class ContractSuite(Suite):
    """The suite on an example program."""

    example: str

    @pytest.fixture(autouse=True)
    def _with_programs(self, program: Callable[[str], KernelProgram]) -> None:
        self.make = lambda **kwargs: interpret(program(self.example), **kwargs)


for _name in CONTRACTS:
    globals()[f"Test_{_name}_program"] = type(
        f"Test_{_name}_program", (ContractSuite, unittest.TestCase), {"example": _name, "__module__": __name__}
    )


class Tasked(KernautKernel):
    """A kernel of tasks that takes any numbers: those of its task column choose one."""

    def forward(self, x1: Any, x2: Any, *args: Any, **kwargs: Any) -> Any:
        active, self.active_dims = self.active_dims, None
        try:
            return super().forward(self._placed(x1), self._placed(x2), *args, **kwargs)
        finally:
            self.active_dims = active

    def _placed(self, x: Any) -> Any:
        place = self.form.tasks(self.theta().detach(), x.shape[-1])
        chosen = with_tasks(self, torch.special.ndtr(x))
        columns = torch.arange(x.shape[-1]) == next(iter(place))
        return torch.where(columns, chosen, x)


class TaskSuite(ContractSuite):
    """The suite on kernels of tasks."""

    @pytest.fixture(autouse=True)
    def _with_programs(self, program: Callable[[str], KernelProgram]) -> None:
        def make(**kwargs: Any) -> KernautKernel:
            kernel = interpret(program(self.example), **kwargs)
            kernel.__class__ = Tasked
            return kernel

        self.make = make


for _name in TASKS:
    globals()[f"Test_{_name}_program"] = type(
        f"Test_{_name}_program", (TaskSuite, unittest.TestCase), {"example": _name, "__module__": __name__}
    )
