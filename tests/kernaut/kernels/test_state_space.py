"""State-space programs: the kernel of the matrices they answer with, along one coordinate or all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
import torch

from kernaut.errors import InputError, ProgramRefused, SandboxFailure
from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

MATERN = """
import torch

def state_space_matrices(parameters):
    rate = 5.0**0.5 / parameters["lengthscale"]
    feedback = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-(rate**3), -3.0 * rate**2, -3.0 * rate]]
    return feedback, [0.0, 0.0, torch.sqrt(parameters["variance"] * 16.0 / 3.0 * rate**5)], [1.0, 0.0, 0.0]
"""


def matern(**parameters: object) -> KernelProgram:
    return KernelProgram("matern", "state_space", MATERN, {"lengthscale": 0.4, "variance": 1.7, **parameters})


def matrices(parameters: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the example of the folder's programs writes."""
    rate, pitch, sight = (parameters[name] for name in ("rate", "pitch", "sight"))
    feedback = np.array([[-0.4 * rate, 0.7, 0.0], [-pitch, -rate, 0.2], [0.0, 0.9, -1.3]])
    return feedback, np.array([[0.3 * pitch, 0.0], [rate, pitch], [0.0, rate**2]]), np.array([0.9, 0.4, sight])


def twin(parameters: dict[str, float], x: np.ndarray, z: np.ndarray) -> float:
    """Point by point, coordinate by coordinate."""
    feedback, noise, observation = matrices(parameters)
    covariance = scipy.linalg.solve_continuous_lyapunov(feedback, -noise @ noise.T)
    variance = observation @ covariance @ observation
    result = variance
    for lag in np.abs(x - z):
        result *= observation @ scipy.linalg.expm(feedback * lag) @ covariance @ observation / variance
    return float(result)


@pytest.mark.parametrize("dimension", [1, 3])
def test_a_program_is_the_covariance_of_its_system_in_every_coordinate(
    dimension: int, program: Program, pool: SandboxPool
) -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(5, dimension)), rng.normal(size=(4, dimension))
    kernel = interpret(program("state_space"), pool=pool)
    expected = [[twin({"rate": 0.8, "pitch": 2.3, "sight": -0.5}, x, z) for z in Z] for x in X]
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-10, atol=1e-12)
    assert kernel.stationary
    assert not kernel.low_rank


def test_a_named_coordinate_is_the_only_one_that_counts(pool: SandboxPool) -> None:
    X = np.random.default_rng(5).uniform(size=(6, 3))
    for place, coordinate in ((1, 1), (2, -1), (0, 0.0)):
        found = gram(interpret(matern(coordinate=coordinate), pool=pool), X)
        expected = gram(leaf("matern52", lengthscale=0.4, variance=1.7), X[:, place])
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(InputError, match=r"Expected points with the coordinate 1 .*Got 1 coordinates"):
        gram(interpret(matern(coordinate=1), pool=pool), X[:, :1])


def test_a_product_over_coordinates_keeps_the_variance(pool: SandboxPool) -> None:
    X = np.random.default_rng(5).uniform(size=(6, 2))
    one = leaf("matern52", lengthscale=0.4)
    expected = 1.7 * gram(one, X[:, 0]) * gram(one, X[:, 1])
    np.testing.assert_allclose(gram(interpret(matern(), pool=pool), X), expected, rtol=1e-12)


@pytest.mark.parametrize("coordinate", ["first", True, 0.5, 10**6, [0]])
def test_a_coordinate_that_is_none_is_refused(coordinate: object) -> None:
    with pytest.raises(ProgramRefused, match=r"parameters\.coordinate to be a column's number"):
        interpret(matern(coordinate=coordinate))


def test_gradients_are_those_of_finite_differences(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("state_space"), pool=pool)
    x = torch.rand(4, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    theta = kernel.values.detach().clone().requires_grad_()

    def covariances(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        embedding = kernel.form.embed(x, theta)
        return kernel.form.cross(embedding, embedding, theta) + kernel.form.diagonal(embedding, theta)

    assert torch.autograd.gradcheck(covariances, (x, theta))


def test_rows_of_a_batch_have_gradients_of_their_own(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("state_space"), pool=pool, batch_shape=torch.Size([2]))
    kernel.values.data[1] = torch.tensor([1.1, 1.4, 0.3], dtype=torch.float64)
    kernel.values.requires_grad_()
    x = torch.rand(3, 5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    matrix = kernel(x[:, None]).to_dense()
    matrix[1, 1].sum().backward()
    single = interpret(program("state_space").with_parameters({"rate": 1.1, "pitch": 1.4, "sight": 0.3}), pool=pool)
    single.values.requires_grad_()
    alone = single(x[1]).to_dense()
    torch.testing.assert_close(matrix[1, 1], alone)
    alone.sum().backward()
    assert kernel.values.grad[0].tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(kernel.values.grad[1], single.values.grad)


def test_a_numpy_program_has_no_gradient_and_says_so(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("numpy_state_space"), pool=pool)
    kernel.values.requires_grad_()
    total = kernel(torch.rand(3, 1, dtype=torch.float64)).to_dense().sum()
    with pytest.raises(InputError, match=r"Expected a differentiable state_space_matrices\. Got rough"):
        total.backward()


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        ("[[-1.0]], [1.0]", ProgramRefused, "to return F, L, H. Got 2 values"),
        ("{'F': 1.0}", ProgramRefused, "to return F, L, H. Got (dict|mappingproxy)"),
        ("[[-1.0, 0.0]], [1.0], [1.0]", ProgramRefused, "Got F of 1x2, L of 1, H of 1"),
        ("[[-1.0, 0.0], [0.0, -1.0]], [1.0], [1.0, 0.0]", ProgramRefused, "Got F of 2x2, L of 1, H of 2"),
        ("[[-1.0]], [1.0], [[1.0], [1.0]]", ProgramRefused, "Got F of 1x1, L of 1, H of 2x1"),
        ("[[-1.0]], [[1.0] * 33], [1.0]", ProgramRefused, "with w at most 32"),
        ("[[-1.0, 0.0], [1.0]], [1.0, 1.0], [1.0, 1.0]", ProgramRefused, "lists of equal length for F"),
        ("[[-1.0] * 33] * 33, [1.0] * 33, [1.0] * 33", ProgramRefused, "Expected at most 32 states. Got F of 33 rows"),
        ("[['a']], [1.0], [1.0]", ProgramRefused, r"number in .* for F\[0\]\[0\]\. Got 'a'"),
        ("[[-1.0]], [float('nan')], [1.0]", SandboxFailure, "nan"),
        ("[[-1.0]], [1.0], [float('inf')]", SandboxFailure, "inf"),
        ("[[parameters['rate']]], [1.0], [1.0]", SandboxFailure, "Expected a stable F"),
        ("[[-1.0]], [0.0], [1.0]", SandboxFailure, "Expected an L that does not vanish"),
    ],
)
def test_wrong_matrices_are_refused_or_fail(
    returned: str, error: type[Exception], message: str, pool: SandboxPool
) -> None:
    source = f"def state_space_matrices(parameters):\n    return {returned}\n"
    kernel = interpret(KernelProgram("wrong", "state_space", source, {"rate": 0.3}), pool=pool)
    with pytest.raises(error, match=message):
        gram(kernel, np.zeros((2, 1)))


def test_a_kernel_may_leave_where_it_is_stable_and_come_back(pool: SandboxPool) -> None:
    source = "def state_space_matrices(parameters):\n    return [[-parameters['rate']]], [1.0], [1.0]\n"
    kernel = interpret(KernelProgram("edge", "state_space", source, {"rate": 0.5}), pool=pool)
    before = gram(kernel, [[0.0], [1.0]])
    kernel.values.data.fill_(-0.5)
    with pytest.raises(SandboxFailure, match="stable"):
        gram(kernel, [[0.0], [1.0]])
    kernel.values.data.fill_(0.5)
    np.testing.assert_array_equal(gram(kernel, [[0.0], [1.0]]), before)


def test_a_state_space_may_stand_in_a_closure(pool: SandboxPool) -> None:
    source = """
def closure_tree(parameters):
    inner = {"op": "program", "candidate": parameters["inner"]}
    return {"op": "product", "children": [inner, {"op": "base", "kind": "linear", "variance": 0.6}]}
"""
    X = np.random.default_rng(5).uniform(size=(4, 2))
    outer = KernelProgram("outer", "closure", source, {"inner": matern().to_json()})
    expected = gram(matern(), X) * gram(leaf("linear", variance=0.6), X)
    np.testing.assert_allclose(gram(interpret(outer, pool=pool), X), expected, rtol=1e-12)
