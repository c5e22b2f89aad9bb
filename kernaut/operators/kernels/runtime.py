"""Child side, trusted, domain ``kernels``: refit any peer on chosen fitting points or perturbed targets, and show operators their episode.

Runs inside the sandbox behind :mod:`kernaut.operators.runtime`.  A refit chooses amplitude and noise on the published grid by marginal likelihood of the kept points; one
prediction at one input is one observation.  Fitting points have numbers 0 to n - 1, query inputs n to n + q - 1; query targets are nowhere in reach.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernaut.operators.runtime import MOST_OBSERVATIONS, MOST_PEERS, ObservationsSpent, judge

GRID = [(a, s) for a in (0.1, 0.3, 1.0, 3.0) for s in (1e-4, 1e-3, 1e-2, 1e-1)]


class Fits:
    """Refits of all candidates of an episode, remembered within a request."""

    def __init__(self, task: Any, grams: Any) -> None:
        self.targets = np.array(task["targets"], dtype=float)
        size = len(task["inputs"]) + len(task["query_inputs"])
        self._grams = []
        for upper in grams or ():  # none are sent for operators that refit nothing
            gram = np.zeros((size, size))
            gram[np.triu_indices(size)] = upper
            self._grams.append(gram + gram.T - np.diag(np.diag(gram)))
        self._seen: dict[Any, Any] = {}

    def predict(self, place: int, keep: list[int], targets: Any, at: list[int]) -> list[list[float]]:
        """``[mean, sd]`` at the wanted points."""
        gram = self._grams[place]
        y = self.targets[keep] if targets is None else np.array([targets[i] for i in keep], dtype=float)
        key = (place, tuple(keep), y.tobytes())
        if key not in self._seen:
            self._seen[key] = _fit(gram[np.ix_(keep, keep)], y)
        vectors, spectrum, weights, amplitude, noise = self._seen[key]
        cross = gram[np.ix_(at, keep)] @ vectors
        mean = amplitude * cross @ weights
        variance = amplitude * gram[at, at] + noise - amplitude**2 * (cross**2 / spectrum).sum(-1)
        return [[float(m), math.sqrt(max(float(v), 1e-10))] for m, v in zip(mean, variance, strict=True)]


def _fit(gram: Any, targets: Any) -> Any:
    values, vectors = np.linalg.eigh(gram)
    projected = targets @ vectors
    best: Any = None
    for amplitude, noise in GRID:
        spectrum = amplitude * values + noise
        if spectrum[0] <= 2.3e-16 * spectrum[-1]:
            continue
        score = -0.5 * ((projected**2 / spectrum).sum() + np.log(spectrum).sum())
        if best is None or score > best[0]:
            best = (score, spectrum, amplitude, noise)
    if best is None:
        raise ArithmeticError("no grid point of the refit is positive definite")
    _, spectrum, amplitude, noise = best
    return vectors, spectrum, projected / spectrum, amplitude, noise


class Context:
    """What a level-2 operator gets of its episode.

    Attributes:
        peers: every candidate of the episode as operators see it, the candidate included.
        spent: why the budget is used up, or nothing.
    """

    def __init__(self, request: Any, fits: Fits, own: int) -> None:
        self.peers = [dict(peer) for peer in request["shown"]]
        self.spent = ""
        self._fits = fits
        self._own = own
        self._used = 0
        self._met: set[int] = set()

    def predict(self, who: Any, keep: Any, at: Any, targets: Any = None) -> list[list[float]]:
        """Refit a candidate or peer on some fitting points and predict: ``[mean, sd]`` at each wanted point.

        Raises:
            ObservationsSpent: beyond 600 predictions or 16 peers.
        """
        place = who["place"]
        if place != self._own:
            self._met.add(place)
        self._used += len(at)
        if self._used > MOST_OBSERVATIONS:
            self.spent = f"the budget of {MOST_OBSERVATIONS} observations is spent"
        elif len(self._met) > MOST_PEERS:
            self.spent = f"more than {MOST_PEERS} peers were refitted"
        if self.spent:
            raise ObservationsSpent(self.spent)
        return self._fits.predict(place, [int(i) for i in keep], targets, [int(i) for i in at])


def frozen(content: Any) -> Any:
    """A record whose lists, at any depth, are tuples, so that a shallow copy shares nothing that can be changed."""
    return {key: _tuples(value) for key, value in content.items()}


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def answer(request: Any) -> Any:
    """The entry point."""
    request["task"] = frozen(request["task"])
    request["shown"] = [frozen(shown) for shown in request["shown"]]
    if not any(operator["level"] == 2 for operator in request["operators"]):
        return judge(request, None)
    fits = Fits(request["task"], request["grams"])
    return judge(request, lambda place: Context(request, fits, place))
