"""The four benchmarks once more, slow and obvious: plain loops over episodes, grid points and queries, written from the protocol's words alone.

Nothing of Kernaut is imported, so that a mistake has to be made twice to be missed. Kernels are plain functions of two sets of points.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]

OFFSETS = {"train": 0, "validation": 10_000, "test": 20_000}
PENALTY = 2.0


def stable_seed(*words: str) -> int:
    return int.from_bytes(hashlib.sha256("|".join(words).encode()).digest()[:8], "big")


def episode_seed(split: str, family: int, episode: int) -> int:
    return OFFSETS[split] + 1000 * family + episode


# Kernels


def squares(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return ((x[:, None, :] - z[None, :, :]) ** 2).sum(axis=-1)


def rbf(lengthscale: float) -> Kernel:
    return lambda x, z: np.exp(-squares(x, z) / (2.0 * lengthscale**2))


def matern12(lengthscale: float) -> Kernel:
    return lambda x, z: np.exp(-np.sqrt(squares(x, z)) / lengthscale)


def matern32(lengthscale: float) -> Kernel:
    def kernel(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = math.sqrt(3.0) * np.sqrt(squares(x, z)) / lengthscale
        return (1.0 + r) * np.exp(-r)

    return kernel


def matern52(lengthscale: float) -> Kernel:
    def kernel(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        r = math.sqrt(5.0) * np.sqrt(squares(x, z)) / lengthscale
        return (1.0 + r + r * r / 3.0) * np.exp(-r)

    return kernel


def rational_quadratic(lengthscale: float, alpha: float) -> Kernel:
    return lambda x, z: (1.0 + squares(x, z) / (2.0 * alpha * lengthscale**2)) ** -alpha


def periodic(lengthscale: float, period: float) -> Kernel:
    def kernel(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        out = np.ones((len(x), len(z)))
        for c in range(x.shape[1]):
            angle = math.pi * np.abs(x[:, c][:, None] - z[:, c][None, :]) / period
            out = out * np.exp(-2.0 * np.sin(angle) ** 2 / lengthscale**2)
        return out

    return kernel


def linear(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return x @ z.T


def total(first: Kernel, second: Kernel) -> Kernel:
    return lambda x, z: first(x, z) + second(x, z)


# The Gaussian process


def fit_and_predict(
    kernel: Kernel,
    x: np.ndarray,
    y: np.ndarray,
    queries: np.ndarray,
    conditioning: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Amplitude and noise by the grid on (x, y); mean and deviation of an observation at queries, given the conditioning points too."""
    gram = kernel(x, x)
    gram = 0.5 * (gram + gram.T)
    best: tuple[float, float, float] | None = None
    for amplitude in (0.1, 0.3, 1.0, 3.0):
        for noise in (1e-4, 1e-3, 1e-2, 1e-1):
            covariance = amplitude * gram + noise * np.eye(len(x))
            try:
                lower = np.linalg.cholesky(covariance)
            except np.linalg.LinAlgError:
                continue
            white = np.linalg.solve(lower, y)
            likelihood = (
                -0.5 * float(white @ white)
                - float(np.sum(np.log(np.diag(lower))))
                - 0.5 * len(y) * math.log(2.0 * math.pi)
            )
            if best is None or likelihood > best[0]:
                best = (likelihood, amplitude, noise)
    if best is None:
        raise ArithmeticError("no grid point is positive definite")
    _, amplitude, noise = best
    if conditioning is not None:
        x = np.concatenate([x, conditioning[0]])
        y = np.concatenate([y, conditioning[1]])
        gram = kernel(x, x)
        gram = 0.5 * (gram + gram.T)
    covariance = amplitude * gram + noise * np.eye(len(x))
    cross = amplitude * kernel(queries, x)
    mean = cross @ np.linalg.solve(covariance, y)
    variance = np.empty(len(queries))
    for i in range(len(queries)):
        prior = amplitude * float(kernel(queries[i : i + 1], queries[i : i + 1])[0, 0])
        variance[i] = prior + noise - float(cross[i] @ np.linalg.solve(covariance, cross[i]))
    return mean, np.sqrt(np.maximum(variance, 1e-10))


def scores(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> dict[str, float]:
    """Means over query points, one point at a time."""
    crps, nlpd, square, inside = [], [], [], []
    for target, m, s in zip(y, mean, deviation, strict=True):
        z = (target - m) / s
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        below = 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
        crps.append(s * (z * (2.0 * below - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi)))
        nlpd.append(0.5 * math.log(2.0 * math.pi) + math.log(s) + 0.5 * z * z)
        square.append((target - m) ** 2)
        inside.append(abs(z) <= 1.959963984540054)
    return {
        "crps": float(np.mean(crps)),
        "nlpd": float(np.mean(nlpd)),
        "rmse": math.sqrt(float(np.mean(square))),
        "coverage95": float(np.mean(inside)),
    }


# Black-box optimization


def branin(x: np.ndarray) -> float:
    a, b = x
    value = (b - 5.1 * a * a / (4 * math.pi**2) + 5 * a / math.pi - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a)
    return -(value + 10.0)


def ackley(x: np.ndarray) -> float:
    first = -20.0 * math.exp(-0.2 * math.sqrt(float(np.mean(x**2))))
    return -(first - math.exp(float(np.mean(np.cos(2 * math.pi * x)))) + 20.0 + math.e)


def cosine(x: np.ndarray) -> float:
    return sum(float(v) ** 2 - 0.1 * math.cos(5 * math.pi * float(v)) for v in x)


def hartmann(x: np.ndarray) -> float:
    alpha = [1.0, 1.2, 3.0, 3.2]
    a = [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
    p = [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
    return sum(
        alpha[i] * math.exp(-sum(a[i][j] * (float(x[j]) - 1e-4 * p[i][j]) ** 2 for j in range(6))) for i in range(4)
    )


def levy(x: np.ndarray) -> float:
    w = [1.0 + (float(v) - 1.0) / 4.0 for v in x]
    value = math.sin(math.pi * w[0]) ** 2
    value += sum((v - 1.0) ** 2 * (1.0 + 10.0 * math.sin(math.pi * v + 1.0) ** 2) for v in w[:-1])
    return -(value + (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2))


def bukin(x: np.ndarray) -> float:
    return -(100.0 * math.sqrt(abs(x[1] - 0.01 * x[0] ** 2)) + 0.01 * abs(x[0] + 10.0))


def dropwave(x: np.ndarray) -> float:
    square = float(x[0] ** 2 + x[1] ** 2)
    return (1.0 + math.cos(12.0 * math.sqrt(square))) / (0.5 * square + 2.0)


def griewank(x: np.ndarray) -> float:
    product = math.prod(math.cos(float(v) / math.sqrt(i)) for i, v in enumerate(x, start=1))
    return -(sum(float(v) ** 2 for v in x) / 4000.0 - product + 1.0)


def holdertable(x: np.ndarray) -> float:
    return abs(math.sin(x[0]) * math.cos(x[1]) * math.exp(abs(1.0 - math.hypot(x[0], x[1]) / math.pi)))


def rosenbrock(x: np.ndarray) -> float:
    return -sum(100.0 * (float(b) - float(a) ** 2) ** 2 + (1.0 - float(a)) ** 2 for a, b in pairwise(x))


def rastrigin(x: np.ndarray) -> float:
    return -(10.0 * len(x) + sum(float(v) ** 2 - 10.0 * math.cos(2.0 * math.pi * float(v)) for v in x))


SEEN = ("branin", "ackley", "cosine", "hartmann", "levy")
BBO: dict[str, tuple[str, ...]] = {
    "train": SEEN,
    "validation": SEEN,
    "test": ("bukin", "dropwave", "griewank", "holdertable", "rosenbrock", "rastrigin"),
}
OBJECTIVES: dict[str, tuple[Callable[[np.ndarray], float], list[tuple[float, float]], float]] = {
    "branin": (branin, [(-5, 10), (0, 15)], -0.39788735772973816),
    "ackley": (ackley, [(-32.768, 32.768)] * 2, 0.0),
    "cosine": (cosine, [(-1, 1)] * 8, 8.8),
    "hartmann": (hartmann, [(0, 1)] * 6, 3.322368011415515),
    "levy": (levy, [(-10, 10)] * 6, 0.0),
    "bukin": (bukin, [(-15, -5), (-3, 3)], 0.0),
    "dropwave": (dropwave, [(-5.12, 5.12)] * 2, 1.0),
    "griewank": (griewank, [(-600, 600)] * 5, 0.0),
    "holdertable": (holdertable, [(-10, 10)] * 2, 19.20850256788675),
    "rosenbrock": (rosenbrock, [(-5, 10)] * 6, 0.0),
    "rastrigin": (rastrigin, [(-5.12, 5.12)] * 6, 0.0),
}


class Hidden:
    """One black-box function behind its hidden transformation."""

    def __init__(self, family: str, seed: int) -> None:
        self.objective, self.domain, self.maximum = OBJECTIVES[family]
        d = len(self.domain)
        rng = np.random.default_rng(seed)
        self.dimension = d + min(int(rng.integers(0, 3)), max(0, 8 - d))
        self.permutation = rng.permutation(d)
        self.reflected = rng.integers(0, 2, d)
        self.powers = rng.uniform(0.75, 1.25, d)
        self.active = rng.choice(self.dimension, size=d, replace=False)
        self.couplings = [0.0, *rng.uniform(-1.5, 1.5, d - 1)]
        self.name = f"{family}:seed-{seed}"

    def __call__(self, point: np.ndarray) -> float:
        values = [float(point[j]) for j in self.active]
        values = [values[j] for j in self.permutation]
        values = [1.0 - v if flag else v for v, flag in zip(values, self.reflected, strict=True)]
        values = [min(max(v, 0.0), 1.0) ** power for v, power in zip(values, self.powers, strict=True)]
        for i in range(1, len(values)):
            if 0.0 < values[i] < 1.0:
                v = min(max(values[i], 1e-12), 1.0 - 1e-12)
                logit = math.log(v / (1.0 - v)) + self.couplings[i] * (values[i - 1] - 0.5)
                values[i] = 1.0 / (1.0 + math.exp(-logit))
        return self.objective(np.array([lo + v * (hi - lo) for v, (lo, hi) in zip(values, self.domain, strict=True)]))

    def many(self, points: np.ndarray) -> np.ndarray:
        return np.array([self(point) for point in points])


def standardize(y: np.ndarray, floor: float = 1e-8) -> tuple[float, float]:
    """Mean and population deviation; a deviation under the floor counts as 1."""
    deviation = float(np.std(y))
    return float(np.mean(y)), deviation if deviation >= floor else 1.0


def bbo_scores(kernel: Kernel, split: str, per_family: int) -> dict[str, dict[str, float]]:
    out = {}
    for index, family in enumerate(BBO[split]):
        for episode in range(per_family):
            task = Hidden(family, episode_seed(split, index, episode))
            rng = np.random.default_rng(stable_seed(task.name, "predictive"))
            x = rng.uniform(size=(8 + 2 * task.dimension, task.dimension))
            queries = rng.uniform(size=(32, task.dimension))
            y = task.many(x)
            mean, deviation = standardize(y)
            predicted = fit_and_predict(kernel, x, (y - mean) / deviation, queries)
            out[task.name] = scores((task.many(queries) - mean) / deviation, *predicted)
    return out


def bbo_regret(kernel: Kernel, split: str, per_family: int, steps: int, pool: int) -> dict[str, list[float]]:
    """Normalized simple regret after each step, by task."""
    out = {}
    for index, family in enumerate(BBO[split]):
        for episode in range(per_family):
            task = Hidden(family, episode_seed(split, index, episode))
            rng = np.random.default_rng(stable_seed(task.name, "bo"))
            x = rng.uniform(size=(4 + 2 * task.dimension, task.dimension))
            y = task.many(x)
            first = float(np.max(y))
            curve = []
            for _ in range(steps):
                candidates = rng.uniform(size=(pool, task.dimension))
                mean, deviation = standardize(y)
                standard = (y - mean) / deviation
                m, s = fit_and_predict(kernel, x, standard, candidates)
                best = float(np.max(standard))
                gains = []
                for mu, sigma in zip(m, s, strict=True):
                    z = (mu - best) / sigma
                    below = 0.5 * math.erfc(-z / math.sqrt(2.0))
                    gains.append((mu - best) * below + sigma * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
                chosen = candidates[int(np.argmax(gains))]
                x = np.concatenate([x, chosen[None, :]])
                y = np.append(y, task(chosen))
                curve.append(max(task.maximum - float(np.max(y)), 0.0) / max(task.maximum - first, 1e-8))
            out[task.name] = curve
    return out


# Greenhouse gases

GASES = {"train": ("co2", "ch4", "n2o"), "validation": ("co2", "ch4", "n2o"), "test": ("sf6", "cfc12", "cfc11")}


def greenhouse_scores(
    kernel: Kernel, folder: Path, split: str, per_record: int, horizon: int = 48
) -> dict[tuple[str, int], dict[str, float]]:
    out = {}
    for index, gas in enumerate(GASES[split]):
        with (folder / f"{gas}.csv").open() as file:
            record = np.array([float(row["value"]) for row in csv.DictReader(file)])
        times = np.linspace(0.0, 1.0, len(record))[:, None]
        for episode in range(per_record):
            rng = np.random.default_rng(episode_seed(split, index, episode))
            n = int(rng.integers(216, len(record) - horizon + 1))
            flipped = bool(rng.integers(0, 2))
            nu = float(rng.uniform(0.0, 0.04))
            values = record[::-1] if flipped else record
            mean, deviation = standardize(values[:n])
            clean = (values[:n] - mean) / deviation
            noisy = clean + rng.normal(0.0, nu * float(np.std(clean)), n)
            predicted = fit_and_predict(kernel, times[:n], noisy, times[n : n + horizon])
            out[gas, episode] = scores((values[n : n + horizon] - mean) / deviation, *predicted)
    return out


# Enzyme kinetics

MECHANISMS = (
    "c0_michaelis_menten",
    "c1_competitive_inhibition",
    "c2_product_inhibition",
    "c3_arrhenius_temperature",
    "c4_ph_activity",
    "c5_pingpong_bisubstrate",
    "c6_uncompetitive_inhibition",
    "c7_substrate_inhibition",
    "c8_hill_cooperativity",
    "c9_noncompetitive_inhibition",
)
UNSEEN = (
    "c65_ordered_bi_bi",
    "c66_reversible_mm",
    "c67_allosteric_act",
    "c69_fractal_kinetics",
    "c73_metal_activation",
)
DOMAINS = {"train": MECHANISMS, "validation": MECHANISMS, "test": UNSEEN}
VARIABLES = (
    ("C_A", 0.01, 100.0, True),
    ("C_I", 0.0, 50.0, False),
    ("C_B", 0.01, 100.0, True),
    ("C_P", 0.0, 20.0, False),
    ("Enz", 0.01, 10.0, True),
    ("T", 278.0, 368.0, False),
    ("pH", 4.0, 10.0, False),
)
Oracle = Callable[[str, str, dict[str, float]], float]


def enzyme_episode(oracle: Oracle, domain: str, version: str, seed: int) -> tuple[np.ndarray, ...]:
    """Encoded fitting inputs, rates, encoded query inputs, rates; oracle(domain, version, experiment) is a rate."""
    rng = np.random.default_rng(seed)
    encoded, rates = [], []
    for _ in range(40):
        experiment, code = {}, []
        for name, lower, upper, logarithmic in VARIABLES:
            if logarithmic:
                drawn = float(rng.uniform(math.log(lower), math.log(upper)))
                experiment[name] = math.exp(drawn)
                code.append((drawn - math.log(lower)) / (math.log(upper) - math.log(lower)))
            else:
                experiment[name] = float(rng.uniform(lower, upper))
                code.append((experiment[name] - lower) / (upper - lower))
        encoded.append(code)
        rates.append(oracle(domain, version, experiment))
    points, values = np.array(encoded), np.array(rates)
    return points[:20], values[:20], points[20:], values[20:]


def enzyme_scores(
    kernel: Kernel, oracle: Oracle, split: str, per_domain: int
) -> dict[tuple[str, int], dict[str, float]]:
    out = {}
    for index, domain in enumerate(DOMAINS[split]):
        for episode in range(per_domain):
            version = ("v0", "v1", "v2")[episode % 3]
            x, y, queries, answers = enzyme_episode(oracle, domain, version, episode_seed(split, index, episode))
            mean = float(np.mean(y))
            deviation = max(float(np.std(y)), 0.1 * abs(mean), 1e-6)
            predicted = fit_and_predict(kernel, x, (y - mean) / deviation, queries)
            out[domain, episode] = scores((answers - mean) / deviation, *predicted)
    return out


# Glucose


def glucose_inputs(action: dict[str, Any], times: list[float]) -> np.ndarray:
    bolus_minute = action["bolus_minute"] if action["bolus_U"] > 0 else action["meal_minute"]
    return np.array(
        [
            [t / 360, action["meal_g"] / 60, action["meal_minute"] / 360, action["bolus_U"] / 1.5, bolus_minute / 360]
            for t in times
        ]
    )


def glucose_scores(
    kernel: Kernel, file: Path, split: str, patients: int, folds: int = 6
) -> dict[tuple[str, int], dict[str, float]]:
    """By patient and held-out training episode; with the fold's NMSE."""
    data = json.loads(file.read_text())
    profile = {"train": "child", "validation": "adolescent"}[split]
    out = {}
    for number in range(1, patients + 1):
        patient = f"{profile}#{number:03d}"
        record = data[patient]
        inputs = [
            glucose_inputs(action, episode["times_min"])
            for action, episode in zip(record["actions"], record["training"], strict=True)
        ]
        readings = [np.array(episode["cgm_mg_dl"]) for episode in record["training"]]
        passive = float(np.var(np.concatenate(readings[:2])))
        for held in range(folds):
            others = [k for k in range(len(readings)) if k != held]
            x = np.concatenate([inputs[k] for k in others])
            y = np.concatenate([readings[k] for k in others])
            mean, deviation = standardize(y)
            times = np.array(record["training"][held]["times_min"])
            seen, later = times <= 45, times > 45
            given = (inputs[held][seen], (readings[held][seen] - mean) / deviation)
            predicted = fit_and_predict(kernel, x, (y - mean) / deviation, inputs[held][later], given)
            answers = (readings[held][later] - mean) / deviation
            result = scores(answers, *predicted)
            error = float(np.mean(((answers - predicted[0]) * deviation) ** 2))
            result["nmse"] = error / max(passive, 1.0)
            out[patient, held] = result
    return out
