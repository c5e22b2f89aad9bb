"""Covariances of linear systems against known kernels, against matrix exponentials lag by lag, and at their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import polynomial

from kernaut.errors import SandboxFailure
from kernaut.kernels.adapters import gram
from kernaut.kernels.library import leaf
from kernaut.kernels.linear_sde import LinearSDE
from kernaut.kernels.lyapunov import lyapunov
from kernaut.kernels.piecewise import piecewise

LAGS = torch.linspace(0.0, 3.0, 301, dtype=torch.float64)


def companion(order: int, rate: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The Matern process of smoothness order - 1/2: (d/dt + rate)^order f = white noise, of one Jordan block."""
    feedback = np.eye(order, k=1)
    feedback[-1] = -polynomial.polyfromroots([-rate] * order)[:-1]
    unit = np.eye(order)
    return torch.from_numpy(feedback), torch.from_numpy(unit[:, -1:].copy()), torch.from_numpy(unit[0].copy())


def tensors(*arrays: object) -> tuple[torch.Tensor, ...]:
    return tuple(torch.tensor(array, dtype=torch.float64) for array in arrays)


def twin(feedback: np.ndarray, noise: np.ndarray, observation: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """H exp(F t) P H^T as it is written, P from the sum over Kronecker products."""
    s = len(feedback)
    whole = np.kron(np.eye(s), feedback) + np.kron(feedback, np.eye(s))
    covariance = np.linalg.solve(whole, -(noise @ noise.T).reshape(-1)).reshape(s, s)
    return np.array([observation @ scipy.linalg.expm(feedback * t) @ covariance @ observation for t in lags])


@pytest.mark.parametrize("lengthscale", [0.002, 0.3, 40.0])
@pytest.mark.parametrize(("order", "kind"), [(1, "matern12"), (2, "matern32"), (3, "matern52")])
def test_matern_is_a_system_of_one_jordan_block(order: int, kind: str, lengthscale: float) -> None:
    system = LinearSDE(*companion(order, math.sqrt(2 * order - 1) / lengthscale))
    expected = gram(leaf(kind, lengthscale=lengthscale), [[0.0]], LAGS[:, None].numpy())[0]
    found = (system.covariance(LAGS) / system.variance).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("order", [8, 20, 32])
def test_matern_of_many_states_is_what_its_bessel_function_says(order: int) -> None:
    nu = order - 0.5
    system = LinearSDE(*companion(order, math.sqrt(2 * nu) / 0.5))
    r = math.sqrt(2 * nu) * LAGS[1:].numpy() / 0.5
    expected = 2 ** (1 - nu) / scipy.special.gamma(nu) * r**nu * scipy.special.kv(nu, r)
    found = (system.covariance(LAGS[1:]) / system.variance).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("damping", [1e-5, 0.2, 0.999])
def test_a_damped_oscillator_is_what_its_formula_says(damping: float) -> None:
    turn, push = 7.0, 1.7
    system = LinearSDE(*tensors([[0.0, 1.0], [-(turn**2), -2 * damping * turn]], [[0.0], [push]], [1.0, 0.0]))
    decay, beat = damping * turn, turn * math.sqrt(1 - damping**2)
    t = LAGS.numpy()
    wave = np.exp(-decay * t) * (np.cos(beat * t) + decay / beat * np.sin(beat * t))
    variance = push**2 / (4 * damping * turn**3)
    np.testing.assert_allclose(system.covariance(LAGS).numpy() / variance, wave, rtol=0, atol=1e-11)
    assert math.isclose(float(system.variance), variance, rel_tol=1e-9)


@pytest.mark.parametrize("states", [1, 2, 5, 9])
def test_any_system_is_its_matrix_exponential(states: int) -> None:
    rng = np.random.default_rng(states)
    feedback = rng.normal(size=(states, states)) * 10.0 ** rng.uniform(-1, 1, size=(states, states))
    feedback -= (np.linalg.eigvals(feedback).real.max() + 0.3) * np.eye(states)
    noise, observation = rng.normal(size=(states, 2)), rng.normal(size=states)
    system = LinearSDE(*map(torch.from_numpy, (feedback, noise, observation)))
    lags = np.array([0.0, 1e-9, 0.01, 0.7, 2.9])
    expected = twin(feedback, noise, observation, lags)
    found = system.covariance(torch.from_numpy(lags)).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * expected[0])


def test_a_state_that_nothing_drives_does_no_harm() -> None:
    driven = LinearSDE(*tensors([[-2.0]], [[1.5]], [0.8])).covariance(LAGS)
    beside = LinearSDE(*tensors([[-2.0, 0.0], [0.5, -0.3]], [[1.5], [0.0]], [0.8, 0.0])).covariance(LAGS)
    idle = LinearSDE(*tensors([[-2.0, 0.6], [0.0, -0.3]], [[1.5], [0.0]], [0.8, 0.0])).covariance(LAGS)
    torch.testing.assert_close(beside, driven, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(idle, driven, rtol=1e-11, atol=1e-13)


def test_far_lags_are_uncorrelated_and_near_ones_asked_again_are_the_same() -> None:
    system = LinearSDE(*companion(3, 2.0))
    near = system.covariance(LAGS)
    far = system.covariance(torch.tensor([1e3, 1e9, 1e300, math.inf], dtype=torch.float64))
    assert far.tolist() == [0.0] * 4
    torch.testing.assert_close(system.covariance(LAGS), near, rtol=0, atol=1e-15)
    assert bool(system.covariance(torch.tensor([math.nan], dtype=torch.float64)).isnan())


@pytest.mark.parametrize(
    ("feedback", "noise", "observation", "message"),
    [
        ([[0.5]], [[1.0]], [1.0], r"Expected a stable F, whose eigenvalues have negative real parts\. Got one of 0\.5"),
        ([[0.0, 1.0], [-4.0, 0.0]], [[0.0], [1.0]], [1.0, 0.0], "Expected a stable F"),
        ([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], [1.0, 0.0], "Expected a stable F"),
        ([[0.0]], [[1.0]], [1.0], "Expected a stable F"),
        (
            [[-1e9, 0.0], [0.0, -1e-3]],
            [[1.0], [1.0]],
            [1.0, 1.0],
            r"within a factor of 1e\+10 of each other\. Got a real part of -0\.001 beside a modulus of 1e\+09",
        ),
        ([[-1.0]], [[0.0]], [1.0], "Expected an L that does not vanish"),
        ([[-1.0, 0.0], [0.0, -2.0]], [[1.0], [0.0]], [0.0, 1.0], "Expected noise that reaches what is observed"),
        ([[-1.0]], [[1.0]], [0.0], "Expected noise that reaches what is observed"),
        ([[-1e-90]], [[1e90]], [1e90], "Got a variance of inf|mean square of inf|finite"),
    ],
)
def test_what_is_no_covariance_fails_and_says_why(
    feedback: list[list[float]], noise: list[list[float]], observation: list[float], message: str
) -> None:
    with pytest.raises(SandboxFailure, match=message) as caught:
        LinearSDE(*tensors(feedback, noise, observation))
    assert caught.value.state == "failed"


def test_fast_and_slow_states_too_far_apart_are_a_failure() -> None:
    system = LinearSDE(*tensors([[-1.0, 0.0], [0.0, -1e7]], [[1.0, 0.0], [0.0, 1e3]], [1.0, 1.0]))
    with pytest.raises(SandboxFailure, match="times the fastest rate to be at most 262144"):
        system.covariance(LAGS)


def test_gradients_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(4)
    feedback = torch.from_numpy(rng.normal(size=(3, 3)) - 3.0 * np.eye(3)).requires_grad_()
    noise = torch.from_numpy(rng.normal(size=(3, 2))).requires_grad_()
    observation = torch.from_numpy(rng.normal(size=3)).requires_grad_()
    lags = torch.tensor([[0.0, 0.013], [0.4, 1.7]], dtype=torch.float64).requires_grad_()

    def covariances(*inputs: torch.Tensor) -> torch.Tensor:
        return LinearSDE(*inputs[1:]).covariance(inputs[0])

    assert torch.autograd.gradcheck(covariances, (lags.clamp_min(1e-3), feedback, noise, observation))


def test_lyapunov_solves_its_equation_and_is_differentiable() -> None:
    rng = np.random.default_rng(7)
    feedback = torch.from_numpy(rng.normal(size=(4, 4)) - 3.0 * np.eye(4)).requires_grad_()
    half = torch.from_numpy(rng.normal(size=(4, 2))).requires_grad_()
    found = lyapunov(feedback, half @ half.mT)
    residual = feedback @ found + found @ feedback.mT + half @ half.mT
    torch.testing.assert_close(residual, torch.zeros(4, 4, dtype=torch.float64), rtol=0, atol=1e-13)
    assert torch.autograd.gradcheck(lambda F, L: lyapunov(F, L @ L.mT), (feedback, half))


def test_pieces_are_polynomials_around_the_nearest_knot() -> None:
    coefficients = torch.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0], [0.2, 0.7, -0.6]], dtype=torch.float64)
    lags = torch.tensor([[0.0, 0.3, 0.6], [1.1, 2.4, 9.0]], dtype=torch.float64)
    expected = [
        [1.0, 1.0 + 0.5 * 0.15 + 0.2 * 0.15**2, 1.0 + 0.5 * 0.3 + 0.2 * 0.3**2],
        [2.0 + 0.45 + 0.7 * 0.45**2, 2.0 - 0.2 + 0.7 * 0.2**2, 4.0 + 3.0 - 0.6],
    ]
    torch.testing.assert_close(piecewise(lags, coefficients, 2.0), torch.tensor(expected, dtype=torch.float64))


systems = st.tuples(st.integers(1, 12), st.integers(1, 3), st.integers(0, 10**6), st.floats(-3, 2), st.floats(-3, 3))


@settings(max_examples=60)
@given(drawn=systems)
def test_every_stable_system_gives_positive_semidefinite_matrices(drawn: tuple[int, int, int, float, float]) -> None:
    states, inputs, seed, spread, stability = drawn
    rng = np.random.default_rng(seed)
    feedback = rng.normal(size=(states, states)) * np.exp(spread * rng.normal(size=(states, states)))
    size = np.abs(np.linalg.eigvals(feedback)).max()
    feedback -= (np.linalg.eigvals(feedback).real.max() + size * 10.0 ** -abs(stability)) * np.eye(states)
    noise, observation = rng.normal(size=(states, inputs)), rng.normal(size=states)
    system = LinearSDE(*map(torch.from_numpy, (feedback, noise, observation)))
    x = torch.from_numpy(np.concatenate([rng.uniform(0, 5.0 / size, 12), rng.uniform(0, 500.0 / size, 12), [0.0, 0.0]]))
    found = system.covariance((x[:, None] - x).abs())
    assert torch.equal(found, found.mT)
    assert float(found.abs().max()) <= float(system.variance) * (1 + 1e-9)
    assert float(torch.linalg.eigvalsh(found)[0]) >= -1e-10 * len(x) * float(system.variance)
