"""The extraction probe: does anything public predict what is hidden, beyond the stated mechanism?  Trusted side.

Fresh instances of a family are drawn and split in two.  Regressions on every public number that stands at a hidden element's place or belongs to its task
(bytes, digests, low bits, seed and sequence included) are fitted on the first half and judged on the second.  They must do no better than the same
regressions on permuted secrets, or a constant, plus 0.05 in normalized similarity: accuracy of labels; ``V / (MSE + V)`` of numbers, V their
variance, which is 0.5 for a constant and 1 for a perfect prediction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.sealed.families.family import Family, Secrets
from kernaut.sealed.manifest import PublicTask
from kernaut.seeds import generator

Array = NDArray[np.float64]

MARGIN = 0.05
PERMUTATIONS = 20
RIDGES = (1.0, 100.0)
NEIGHBOURS = 7
LEAST_INSTANCES = 20


@dataclass(frozen=True)
class ProbeResult:
    """What the probe found for one family.

    Args:
        family: its name.
        similarity: of the best regression, on held-out instances.
        permuted: mean of the same over permuted secrets.
        constant: of the mean or the majority.
        elements: hidden elements judged.
        spread: standard deviation of the best regression over permuted secrets.
    """

    family: str
    similarity: float
    permuted: float
    constant: float
    elements: int
    spread: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing was found beyond the margin."""
        return self.similarity <= max(self.permuted, self.constant) + MARGIN

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self) | {"passed": self.passed}


def probe(
    family: Family, instances: Sequence[tuple[PublicTask, Mapping[str, NDArray[Any]]]], *, seed: int = 0
) -> ProbeResult:
    """Try to predict the secrets of held-out instances.

    Args:
        family: of all instances.
        instances: public tasks with their hidden arrays; the second half is held out.
        seed: of the permutations.

    Raises:
        InputError: for fewer than 20 instances.
    """
    if len(instances) < LEAST_INSTANCES:
        raise InputError(f"Expected at least {LEAST_INSTANCES} instances to probe. Got {len(instances)}.")
    secrets = [family.secrets(task, targets) for task, targets in instances]
    rows = [_features(task, secret) for (task, _), secret in zip(instances, secrets, strict=True)]
    half = len(instances) // 2
    labels = secrets[0].kind == "labels"
    train_x, test_x = np.concatenate(rows[:half]), np.concatenate(rows[half:])
    train_y = np.concatenate([secret.hidden for secret in secrets[:half]])
    test_y = np.concatenate([secret.hidden for secret in secrets[half:]])
    rng = generator("sealed", "probe", family.name, seed)
    permuted = [_best(train_x, rng.permutation(train_y), test_x, test_y, labels) for _ in range(PERMUTATIONS)]
    return ProbeResult(
        family=family.name,
        similarity=_best(train_x, train_y, test_x, test_y, labels),
        permuted=float(np.mean(permuted)),
        constant=_similarity(np.full(test_y.shape, train_y.mean()), test_y, labels),
        elements=len(test_y),
        spread=float(np.std(permuted)),
    )


def _features(task: PublicTask, secret: Secrets) -> Array:
    """``s x f``: the family's features with their low bits and squares, beside the task's own."""
    count = len(secret.hidden)
    here = secret.features
    low = (np.ascontiguousarray(here).view(np.uint64) & np.uint64(0xFF)).astype(np.float64) / 255.0
    text = task.text.encode("utf-8")
    digest = np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8).astype(np.float64)
    sequence = int(task.task_id[-4:])
    numbers = [value for _, value in sorted(_numbers(task.p_i))]
    own = [task.seed % 2, task.seed % 7, sequence % 2, sequence, len(text), sum(text) % 251, *numbers[:8]]
    own += [0.0] * (14 - len(own))
    whole = np.concatenate([np.asarray(own, dtype=np.float64), digest[:8]])
    bits = np.unpackbits(digest.astype(np.uint8)).astype(np.float64)
    at_place = bits[np.arange(count) % len(bits)]
    return np.column_stack([here, here**2, low, at_place, np.tile(whole, (count, 1))])


def _numbers(item: Any, path: str = "") -> list[tuple[str, float]]:
    if isinstance(item, Mapping):
        return [pair for key, value in item.items() for pair in _numbers(value, f"{path}.{key}")]
    if isinstance(item, tuple):
        return [pair for index, value in enumerate(item) for pair in _numbers(value, f"{path}[{index}]")]
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return [(path, float(item))]
    return []


def _best(train_x: Array, train_y: Array, test_x: Array, test_y: Array, labels: bool) -> float:
    """The largest held-out similarity of ridge regressions and nearest neighbours."""
    centre, spread = train_x.mean(axis=0), train_x.std(axis=0)
    spread = np.where(spread < 1e-12, 1.0, spread)
    a, b = (train_x - centre) / spread, (test_x - centre) / spread
    mean = train_y.mean()
    gram, moment = a.T @ a, a.T @ (train_y - mean)
    guesses = [mean + b @ np.linalg.solve(gram + ridge * np.eye(len(gram)), moment) for ridge in RIDGES]
    distance = (b**2).sum(1)[:, None] - 2.0 * b @ a.T + (a**2).sum(1)
    nearest = np.argpartition(distance, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    guesses.append(train_y[nearest].mean(axis=1))
    return max(_similarity(guess, test_y, labels) for guess in guesses)


def _similarity(guess: Array, truth: Array, labels: bool) -> float:
    if labels:
        return float(np.mean(np.where(guess >= 0.0, 1.0, -1.0) == truth))
    variance = float(truth.var())
    return variance / (float(np.mean((guess - truth) ** 2)) + variance)
