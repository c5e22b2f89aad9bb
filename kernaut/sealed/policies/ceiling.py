"""The fair ceiling: for each built-in family a policy that knows the stated mechanism, and learns the rest from its queries alone.

``haar_encode``: J is a parabola of known curvature, so that a query along a coordinate tells that coordinate's error exactly.  ``attention_2d``: the
perturbation is the most probable one given all answers.  ``fm_kernel_loss``: below the hinge J is linear in the labels, so that a query tells
one projection of them.  Other families get Bayesian optimization.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares, minimize

from kernaut.sealed.inline_kernels import InlinePool
from kernaut.sealed.kernel_records import cross_gram, kernel_of
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.mechanisms import attention, haar_estimate, haar_spread
from kernaut.sealed.policies.bayesian import BayesianOptimization
from kernaut.sealed.policy import Array, Evaluate, Policy, Trail

STARTS = 2
_ANSWER_WEIGHT = 1e4
_UNEXPLAINED = 1e-5
"""Where no perturbation near the last guess explains the answers this well, others are tried."""
_SMOOTH = 0.05


class Ceiling(Policy):
    """The strongest policy here that plays fair."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        match task.family:
            case "haar_encode":
                return _haar(task, Trail(task, evaluate))
            case "attention_2d":
                return _attention(task, Trail(task, evaluate), rng)
            case "fm_kernel_loss":
                return _kernel_loss(task, Trail(task, evaluate))
            case _:
                return BayesianOptimization({}).act(task, evaluate, rng)


def _haar(task: PublicTask, trail: Trail) -> Array:
    """Posterior mean, then exact corrections of the most uncertain coefficients."""
    copies, noise = task.input["copies"], float(task.p_i["noise"])
    lower, upper = (float(side) for side in task.p_i["box"])
    length = copies.shape[1]
    prior = haar_spread(length) ** 2
    uncertainty = prior * noise**2 / len(copies) / (prior + noise**2 / len(copies))
    current = np.clip(haar_estimate(copies, noise), lower, upper)
    base = trail.query(current)
    for place in np.argsort(-uncertainty, kind="stable"):
        if trail.remaining <= 1 or base is None:
            break
        step = 0.5 * noise if current[place] + 0.5 * noise <= upper else -0.5 * noise
        moved = current.copy()
        moved[place] += step
        value = trail.query(moved)
        if value is None:
            break
        # length (base - value) = step^2 - 2 step error, with error = c* - current
        error = (step**2 - length * (base - value)) / (2.0 * step)
        current[place] = np.clip(current[place] + error, lower, upper)
        base += error**2 / length
    if trail.remaining:
        trail.query(current)
    return trail.best


def _attention(task: PublicTask, trail: Trail, rng: np.random.Generator) -> Array:
    """Most probable perturbation given the answers, queried again and again."""
    tokens, temperature, scale = task.input["tokens"], float(task.p_i["temperature"]), float(task.p_i["scale"])
    width = tokens.shape[1]
    outputs: list[Array] = []
    answers: list[float] = []

    def misfit(flat: Array) -> Array:
        guess = attention(tokens, flat.reshape(width, width), temperature)
        expected = [-float(np.sum((output - guess) ** 2)) / guess.size for output in outputs]
        return np.concatenate([_ANSWER_WEIGHT * (np.array(expected) - np.array(answers)), flat / scale])

    guess = np.zeros(width * width)
    while trail.remaining:
        output = task.space.project(attention(tokens, guess.reshape(width, width), temperature))
        value = trail.query(output)
        if value is None:
            value = trail.query(task.space.sample(rng)) if trail.remaining else None
            output = trail.outputs[-1]
        if value is None or value > -1e-13:
            break
        outputs.append(output)
        answers.append(value)
        found = [least_squares(misfit, guess, max_nfev=40)]
        if np.abs(found[0].fun[: len(answers)]).max() > _ANSWER_WEIGHT * _UNEXPLAINED:
            starts = scale * rng.standard_normal((STARTS, width * width))
            found += [least_squares(misfit, start, max_nfev=40) for start in starts]
        guess = min(found, key=lambda fit: float(fit.cost)).x
    return trail.best


def _kernel_loss(task: PublicTask, trail: Trail) -> Array:
    """Projections of the labels on the kernel's leading directions, then the weights that are best for these soft labels."""
    kernel = kernel_of(task.p_i["kernel"], pool=InlinePool())
    gram = cross_gram(kernel, task.input["points"], task.input["anchors"])
    lower, upper = (float(side) for side in task.p_i["box"])
    ridge = float(task.p_i["lambda"])
    _, _, directions = np.linalg.svd(gram, full_matrices=False)
    pull = np.zeros(gram.shape[1])
    for direction in directions[: max(1, task.horizon_budget - 1)]:
        size = min(0.99 / float(np.abs(gram @ direction).max()), 0.99 * upper / float(np.abs(direction).max()))
        value = trail.query(size * direction)
        if value is None:
            break
        # J = -1 + theta . v - lambda |theta|^2 while every |f| < 1, v = gram' y / m
        pull += (value + 1.0 + ridge * size**2) / size * direction
    soft = np.clip(len(gram) * np.linalg.pinv(gram.T, rcond=1e-6) @ pull, -1.0, 1.0)
    theta = _soft_optimum(gram, soft, ridge, lower, upper)
    if trail.remaining:
        trail.query(np.clip(theta, lower, upper))
    return trail.best


def _soft_optimum(gram: Array, soft: Array, ridge: float, lower: float, upper: float) -> Array:
    """Weights of least expected loss when label i is 1 with probability (1 + soft_i) / 2; the hinge is rounded off."""
    positive = 0.5 * (1.0 + soft)

    def loss(theta: Array) -> tuple[float, Array]:
        score = gram @ theta
        up, up_slope = _rounded_hinge(1.0 - score)
        down, down_slope = _rounded_hinge(1.0 + score)
        value = np.mean(positive * up + (1.0 - positive) * down) + ridge * (theta @ theta)
        slope = gram.T @ ((1.0 - positive) * down_slope - positive * up_slope) / len(gram) + 2.0 * ridge * theta
        return float(value), slope

    bounds = [(lower, upper)] * gram.shape[1]
    return np.asarray(minimize(loss, np.zeros(gram.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x)


def _rounded_hinge(margin: Array) -> tuple[Array, Array]:
    """``max(0, margin)`` with its corner rounded, and its slope."""
    root = np.sqrt(margin**2 + _SMOOTH**2)
    return 0.5 * (margin + root), 0.5 * (1.0 + margin / root)
