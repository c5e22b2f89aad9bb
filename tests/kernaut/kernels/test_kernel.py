"""What GPyTorch sees of a kernel: dtypes, copies, indexing, gradients and exact inference in feature space."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from linear_operator.operators import LowRankRootLinearOperator, MatmulLinearOperator
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from kernaut.errors import InputError
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]


class Regression(gpytorch.models.ExactGP):
    def __init__(self, x: Tensor, y: Tensor, kernel: gpytorch.kernels.Kernel, noise: float) -> None:
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        likelihood.noise = noise
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = kernel

    def forward(self, x: Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class LargestTensor(TorchDispatchMode):
    """Records the most elements that any operation returned."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for output in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(output, Tensor):
                self.elements = max(self.elements, output.numel())
        return result


def points(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_arithmetic_is_float64_and_results_have_the_dtype_of_the_points() -> None:
    kernel = leaf("matern52", lengthscale=0.1)
    assert kernel.values.tolist() == [1.0, 0.1]
    x = points(6, 2)
    single = kernel(x.float()).to_dense()
    assert single.dtype == torch.float32
    assert torch.equal(single, kernel(x.float().double()).to_dense().float())


def test_the_dtype_follows_what_gpytorch_asks_for() -> None:
    kernel = leaf("rbf", lengthscale=0.1)
    assert kernel.dtype == torch.float32
    assert kernel.double().dtype == torch.float64
    assert kernel.lengthscale is None


def test_embeddings_select_active_columns_and_carry_the_batch_shape() -> None:
    kernel = leaf("rbf", lengthscale=0.3, active_dims=[2, 0], batch_shape=torch.Size([3]))
    x = points(5, 4)
    (embedded,) = kernel.embed(x)
    assert embedded.shape == (3, 5, 2)
    torch.testing.assert_close(embedded[1], x[:, [2, 0]] / 0.3)
    torch.testing.assert_close(kernel.cross((embedded,), (embedded,)), kernel(x).to_dense())
    assert kernel.diagonal((embedded,)).shape == (3, 5)


def test_embedded_points_can_be_cut_and_gathered(program: Program, pool: SandboxPool) -> None:
    order = torch.tensor([3, 0, 0, 4])
    for name in ("feature_map", "residual_input_transform", "closure", "state_space", "unverified"):
        kernel = interpret(program(name), pool=pool)
        embedding = kernel.embed(points(2, 6, 3))
        full = kernel.cross(embedding, embedding)
        some = tuple(part[..., order, :] for part in embedding)
        cut = tuple(part[..., :2, :] for part in embedding)
        torch.testing.assert_close(kernel.cross(some, cut), full[..., order, :2])
        torch.testing.assert_close(kernel.diagonal(some), full.diagonal(dim1=-2, dim2=-1)[..., order])


def test_last_dim_is_batch_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match=r"Expected last_dim_is_batch=False.*additive_feature_map"):
        leaf("rbf").forward(points(3, 2), points(3, 2), last_dim_is_batch=True)


def test_copies_share_the_child_but_not_the_values(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("input_transform"), pool=pool)
    x = points(4, 2)
    before = kernel(x).to_dense()
    twin = copy.deepcopy(kernel)
    twin.values.data *= 2
    assert torch.equal(kernel(x).to_dense(), before)
    assert not torch.equal(twin(x).to_dense(), before)
    assert twin.form is kernel.form


def test_pickles_carry_values_and_identity(program: Program, pool: SandboxPool) -> None:
    for name in ("input_transform", "closure", "residual_feature_map", "numpy_feature_map", "state_space"):
        kernel = interpret(program(name), pool=pool, active_dims=[1, 0])
        kernel.values.data *= 1.1
        x = points(4, 3)
        restored = pickle.loads(pickle.dumps(kernel))
        torch.testing.assert_close(restored(x).to_dense(), kernel(x).to_dense())
        assert restored.identity == program(name)
        restored.close()


def test_states_restore_values_exactly() -> None:
    kernel, other = leaf("rq", alpha=0.1, lengthscale=0.3), leaf("rq")
    other.load_state_dict(kernel.state_dict())
    assert other.values.tolist() == [1.0, 0.3, 0.1]


def test_indexing_a_batch_of_kernels() -> None:
    kernel = leaf("rbf", batch_shape=torch.Size([2, 3]))
    kernel.values.data[..., 1] = torch.arange(1, 7, dtype=torch.float64).reshape(2, 3)
    assert kernel[1, 2].values.tolist() == [1.0, 6.0]
    assert kernel[0].values[:, 1].tolist() == [1.0, 2.0, 3.0]
    assert kernel[..., 1].values[:, 1].tolist() == [2.0, 5.0]
    assert kernel[:, 1:].batch_shape == (2, 2)
    assert kernel[torch.tensor([1, 0]), torch.tensor([2, 0])].values[:, 1].tolist() == [6.0, 1.0]
    assert leaf("rbf")[0].values.tolist() == [1.0, 1.0]
    with pytest.raises(IndexError, match="Too many indices"):
        kernel[0, 1, 0]


def test_expanding_a_batch_of_kernels() -> None:
    kernel = leaf("rbf", batch_shape=torch.Size([2]), active_dims=[0])
    kernel.values.data[1, 1] = 4.0
    for wide in (kernel.expand_batch(torch.Size([3, 2])), kernel.expand_batch(3, 2)):
        assert wide.batch_shape == (3, 2)
        assert wide.values[2, :, 1].tolist() == [1.0, 4.0]
    assert kernel.expand_batch(2) is kernel
    with pytest.raises(RuntimeError, match="Cannot expand"):
        leaf("rbf", batch_shape=torch.Size([2, 1])).expand_batch(1, 2)


def test_lazy_batch_indexing_with_a_smaller_kernel_batch() -> None:
    kernel = leaf("rbf", batch_shape=torch.Size([2]))
    kernel.values.data[1, 1] = 4.0
    x = points(3, 2, 5, 2)
    lazy = kernel(x)
    torch.testing.assert_close(lazy[0, 0].to_dense(), lazy.to_dense()[0, 0])
    torch.testing.assert_close(lazy[2, 1].to_dense(), lazy.to_dense()[2, 1])


def test_setting_values_and_calling_again_uses_them(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("input_transform"), pool=pool)
    x = points(4, 2)
    kernel(x).to_dense()
    kernel.values.data = torch.tensor([0.3, 0.2, 1.1], dtype=torch.float64)
    changed = program("input_transform").with_parameters({"rate": 0.3, "height": 0.2, "pitch": 1.1})
    torch.testing.assert_close(kernel(x).to_dense(), interpret(changed, pool=pool)(x).to_dense())


def test_gradients_reach_values_and_points_through_gpytorch(program: Program, pool: SandboxPool) -> None:
    for name in ("feature_map", "input_transform", "closure", "spectral", "state_space"):
        kernel = interpret(program(name), pool=pool)
        kernel.values.requires_grad_()
        x = points(4, 2).requires_grad_()
        kernel(x).to_dense().sum().backward()
        step = 1e-6
        with torch.no_grad():
            kernel.values[1] += step
            above = kernel(x).to_dense().sum()
            kernel.values[1] -= 2 * step
            below = kernel(x).to_dense().sum()
        assert kernel.values.grad is not None
        torch.testing.assert_close(kernel.values.grad[1], (above - below) / (2 * step), rtol=1e-6, atol=1e-7)
        assert x.grad is not None
        assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("kind", ["rbf", "linear"])
def test_equal_points_of_different_origin_keep_their_own_gradients(kind: str) -> None:
    x = points(3, 2).requires_grad_()
    z = x.detach().clone().requires_grad_()
    left, right = torch.autograd.grad(leaf(kind)(x, z).to_dense()[0, 1], (x, z))
    assert left[1].tolist() == [0.0, 0.0]
    assert right[0].tolist() == [0.0, 0.0]
    assert left[0].abs().sum() > 0
    assert right[1].abs().sum() > 0
    (alone,) = torch.autograd.grad(leaf(kind)(x, x.detach()).to_dense()[0, 1], x)
    torch.testing.assert_close(alone, left)


def test_kernels_of_finite_rank_return_low_rank_operators(program: Program, pool: SandboxPool) -> None:
    x, z = points(7, 2), points(4, 2, seed=1)
    for kernel in (interpret(program("feature_map"), pool=pool), leaf("rff", features=5, seed=1), leaf("linear")):
        with gpytorch.settings.lazily_evaluate_kernels(False):
            assert isinstance(kernel(x), LowRankRootLinearOperator)
            assert isinstance(kernel(x, z), MatmulLinearOperator)
        embedding = kernel.embed(x)
        torch.testing.assert_close(kernel(x).to_dense(), kernel.cross(embedding, embedding))


def test_exact_inference_in_feature_space_forms_no_matrix_of_all_points(program: Program, pool: SandboxPool) -> None:
    n, m = 5000, 64
    source = """
import torch
def feature_point(x, parameters):
    waves = torch.arange(1, 33, dtype=x.dtype) * parameters["pitch"]
    total = x.sum()
    return torch.cat([torch.sin(waves * total), torch.cos(waves * total)]) / 8
"""
    kernel = interpret(KernelProgram("wide", "feature_map", source, {"pitch": 0.7}), pool=pool)
    kernel.values.requires_grad_()
    x = points(n, 2)
    y = torch.sin(3 * x[:, 0]) + 0.1 * torch.cos(40 * x[:, 1])
    model = Regression(x, y, kernel, 0.05)
    model.double().train()
    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    with LargestTensor() as largest:
        value = likelihood(model(x), y)
        value.backward()
    assert largest.elements <= n * m
    phi = kernel.features(x).detach()
    noise = model.likelihood.noise.item()
    noisy = phi.mT @ phi / noise + torch.eye(m, dtype=torch.float64)
    fit = torch.linalg.solve(noisy, phi.mT @ y / noise)
    quadratic = (y @ y - y @ phi @ fit) / noise
    logdet = torch.logdet(noisy) + n * np.log(noise)
    expected = -0.5 * (quadratic + logdet + n * np.log(2 * np.pi)) / n
    torch.testing.assert_close(value.detach(), expected, rtol=1e-8, atol=1e-10)
    assert kernel.values.grad is not None
    assert torch.isfinite(kernel.values.grad).all()
    z = points(6, 2, seed=1)
    model.eval()
    with torch.no_grad(), LargestTensor() as largest:
        prediction = model(z)
        mean, variance = prediction.mean, prediction.variance
    assert largest.elements <= (n + 6) * m
    psi = kernel.features(z).detach()
    torch.testing.assert_close(mean, psi @ fit, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(variance, (psi * torch.linalg.solve(noisy, psi.mT).mT).sum(-1), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [20, 3])
def test_predictions_in_feature_space_are_those_of_the_matrices(n: int) -> None:
    kernel = leaf("rff", features=8, seed=3, lengthscale=0.4)
    x, z = points(n, 2), points(5, 2, seed=1)
    y = torch.sin(3 * x[:, 0])
    model = Regression(x, y, gpytorch.kernels.ScaleKernel(kernel), 0.1)
    model.double().eval()
    model.covar_module.outputscale = 1.7
    with torch.no_grad():
        prediction = model(z)
        K, k, kk = (1.7 * kernel(a, b).to_dense() for a, b in ((x, x), (z, x), (z, z)))
    solve = torch.linalg.solve(K + 0.1 * torch.eye(n, dtype=torch.float64), torch.cat([y[:, None], k.mT], dim=1))
    torch.testing.assert_close(prediction.mean, k @ solve[:, 0], rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(prediction.covariance_matrix, kk - k @ solve[:, 1:], rtol=1e-6, atol=1e-7)


def test_fitting_the_values_raises_the_likelihood(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("input_transform"), pool=pool)
    kernel.values.requires_grad_()
    x = points(15, 2)
    y = torch.sin(5 * x[:, 0])
    model = Regression(x, (y - y.mean()) / y.std(), kernel, 0.01)
    model.double().train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    optimizer = torch.optim.Adam([kernel.values], lr=0.05)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = -objective(model(x), model.train_targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.05


def test_upstream_sums_and_products_take_our_kernels(program: Program, pool: SandboxPool) -> None:
    x = points(5, 3)
    ours = interpret(program("input_transform"), pool=pool)
    theirs = gpytorch.kernels.RBFKernel(active_dims=[1]).double()
    both = ours(x).to_dense(), theirs(x).to_dense()
    torch.testing.assert_close((ours + theirs)(x).to_dense(), both[0] + both[1])
    torch.testing.assert_close((ours * theirs)(x).to_dense(), both[0] * both[1])
    assert isinstance(ours, KernautKernel)


@pytest.mark.parametrize("name", ["feature_map", "input_transform", "closure", "additive_feature_map", "state_space"])
def test_posteriors_are_differentiable_in_their_points(name: str, program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program(name), pool=pool)
    x = points(12, 2)
    model = Regression(x, torch.sin(4 * x[:, 0]), kernel, 0.05)
    model.double().eval()

    def bound(z: Tensor) -> Tensor:
        posterior = model(z)
        return (posterior.mean + 0.7 * posterior.variance.sqrt()).sum()

    z = points(3, 2, seed=4).requires_grad_()
    (gradient,) = torch.autograd.grad(bound(z), z)
    for place in ((0, 0), (2, 1)):
        step = torch.zeros_like(z)
        step[place] = 1e-5
        with torch.no_grad():
            slope = (bound(z + step) - bound(z - step)) / 2e-5
        torch.testing.assert_close(gradient[place], slope, rtol=1e-5, atol=1e-7)
