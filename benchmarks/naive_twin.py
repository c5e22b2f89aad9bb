"""The slow, obvious way to score and verify a kernel program: what ``speed.py`` compares Kernaut with, and what keeps it honest.

One Python process for each Gram matrix, JSON in and out, the program called point by point, one Cholesky factorization for each grid point, textbook formulas.  It has
no sandbox; feed it only programs you wrote.  Input transforms to a Matern-5/2 kernel alone, which is all the comparison needs.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from kernaut.digest import thaw
from kernaut.episodes.episode import Episode
from kernaut.program.program import KernelProgram

Array = NDArray[np.float64]

CHILD = """
import json, sys
request = json.load(sys.stdin)
namespace = {}
exec(request["source"], namespace)
function = namespace["transform_point"]
parameters = request["parameters"]
if "torch" in namespace:
    import torch
    parameters = {
        name: torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else value
        for name, value in parameters.items()
    }
    points = [torch.tensor(point, dtype=torch.float64) for point in request["points"]]
else:
    import numpy
    points = [numpy.array(point) for point in request["points"]]
json.dump([[float(entry) for entry in function(point, parameters)] for point in points], sys.stdout)
"""


def gram(program: KernelProgram, points: Array) -> Array:
    """The kernel matrix of ``n x d`` points, from a process of its own."""
    request = {"source": program.source, "parameters": thaw(program.parameters), "points": points.tolist()}
    answer = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    moved = json.loads(answer.stdout)
    matrix = np.empty((len(moved), len(moved)))
    for i, first in enumerate(moved):
        for j, second in enumerate(moved):
            s = math.sqrt(5.0) * math.dist(first, second) / 0.5
            matrix[i, j] = (1.0 + s + s * s / 3.0) * math.exp(-s)
    return matrix


def episode_crps(program: KernelProgram, episode: Episode) -> float:
    """Mean CRPS of one episode's queries, by one Gram matrix and sixteen factorizations."""
    n = len(episode.fit_targets)
    full = gram(program, np.concatenate([episode.fit_inputs, episode.query_inputs]))
    best: tuple[float, Any] = (-math.inf, None)
    for amplitude in (0.1, 0.3, 1.0, 3.0):
        for noise in (1e-4, 1e-3, 1e-2, 1e-1):
            factor = np.linalg.cholesky(amplitude * full[:n, :n] + noise * np.eye(n))
            half = np.linalg.solve(factor, episode.fit_targets)
            value = -0.5 * half @ half - np.log(np.diag(factor)).sum() - 0.5 * n * math.log(2.0 * math.pi)
            if value > best[0]:
                best = (value, (amplitude, noise, factor, half))
    amplitude, noise, factor, half = best[1]
    cross = np.linalg.solve(factor, amplitude * full[:n, n:])
    mean = cross.T @ half
    sd = np.sqrt(amplitude * np.diag(full)[n:] + noise - (cross**2).sum(0))
    z = (episode.query_targets - mean) / sd
    return float(np.mean(sd * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / math.sqrt(math.pi))))


def matrices_to_verify(dimensions: tuple[int, ...]) -> int:
    """Gram matrices, and so processes, of one verification: 8 trials, and 2 trials of five relations, a dimension."""
    return len(dimensions) * (8 + 2 * 5)


def verified_matrix(program: KernelProgram, points: Array) -> bool:
    """One trial: symmetric, and no eigenvalue below -1e-8."""
    matrix = gram(program, points)
    return bool(np.abs(matrix - matrix.T).max() <= 1e-8 and np.linalg.eigvalsh(matrix).min() >= -1e-8)
