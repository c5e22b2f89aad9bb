"""The evidence ladder: a program climbs from T0 (executable) over T1 (a valid covariance on samples) to T2 (contract certified).

T0: 8 trials of 12 points from N(0, I), for every declared input dimension, run and give finite matrices of the right shape
    (in a column that names tasks, the draw chooses one).
T1: on each, asymmetry at most 1e-8 and smallest eigenvalue of the symmetric part at least -1e-8.
T2: the source conforms to its contract, the kernel is assembled by trusted code, and five relations hold in 2 trials a dimension within 1.1e-7.

The first failed check ends the verification; its reason stands in the evidence.  Only T2 is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.errors import InputError, KernautError, ProgramRefused, SandboxFailure
from kernaut.kernels.inspection import forget, protections
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.closure import Resolve
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool
from kernaut.verification.evidence import Check, Evidence, Tier
from kernaut.verification.relations import (
    POINTS,
    RELATIONS,
    TRIALS,
    Probe,
    StackedEmbedding,
    probe,
    relation_errors,
    stacked_embedding,
    trial_matrices,
    with_task_columns,
)

Array = NDArray[np.float64]

ASYMMETRY = 1e-8
EIGENVALUE = -1e-8
RELATION = 1.1e-7
MOST_DIMENSIONS = 10_000
"""Beyond it the trial points alone take a GiB."""


@dataclass(frozen=True, eq=False)
class _Ran:
    """What a program gave in one dimension: ``8 x 12 x 12`` matrices, and the stacked embedding where it was made."""

    drawn: Probe
    matrices: Array
    stacked: StackedEmbedding | None


def verify(
    program: KernelProgram,
    dimensions: Sequence[int],
    seed: int,
    *,
    pool: SandboxPool | None = None,
    resolve: Resolve | None = None,
) -> Evidence:
    """Establish the highest tier of a program.

    Args:
        program: the program.
        dimensions: every input dimension it is declared for.
        seed: of the points.
        pool: starts its child; the process's default pool if absent.
        resolve: looks up program leaves of closures by identifier.

    Returns:
        The evidence; nothing a program does raises.

    Raises:
        InputError: for no dimension, or one that is not a positive whole number.
    """
    declared = require_dimensions(dimensions)
    checks: list[Check] = []
    found: dict[str, Any] = {}
    tier = _climb(program, declared, seed, pool, resolve, checks, found)
    return Evidence(program.id, tier, tuple(checks), found)


def require_dimensions(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Check declared input dimensions; repeated ones count once.

    Raises:
        InputError: for none, one that is not a positive whole number, or one beyond :data:`MOST_DIMENSIONS`.
    """
    if not dimensions or any(isinstance(d, bool) or not isinstance(d, int) or d < 1 for d in dimensions):
        raise InputError(f"Expected input dimensions of 1 and more. Got {list(dimensions)!r}.")
    if max(dimensions) > MOST_DIMENSIONS:
        raise InputError(f"Expected input dimensions of at most {MOST_DIMENSIONS}. Got {max(dimensions)}.")
    return tuple(dict.fromkeys(dimensions))


def _climb(
    program: KernelProgram,
    dimensions: tuple[int, ...],
    seed: int,
    pool: SandboxPool | None,
    resolve: Resolve | None,
    checks: list[Check],
    found: dict[str, Any],
) -> Tier:
    try:
        kernel = interpret(program, pool=pool, resolve=resolve)
    except ProgramRefused as error:
        checks.append(Check("source", False, str(error)))
        return "none"
    except KernautError as error:
        checks.append(Check("executable", False, f"It {_state(error)}"))
        return "none"
    checks.append(Check("source", True, f"The source conforms to the contract {program.contract}."))
    try:
        with torch.no_grad():
            return _tiers(kernel, program, dimensions, seed, checks, found)
    finally:
        kernel.close()


def _tiers(
    kernel: KernautKernel,
    program: KernelProgram,
    dimensions: tuple[int, ...],
    seed: int,
    checks: list[Check],
    found: dict[str, Any],
) -> Tier:
    ran = _executable(kernel, program, dimensions, seed, checks, found)
    if ran is None:
        return "none"
    if not _empirical(ran, checks):
        return "T0"
    return "T2" if _certified(kernel, program, ran, checks) else "T1"


def _executable(
    kernel: KernautKernel,
    program: KernelProgram,
    dimensions: tuple[int, ...],
    seed: int,
    checks: list[Check],
    found: dict[str, Any],
) -> list[_Ran] | None:
    """T0 in every dimension; None when it fails."""
    ran = []
    for dimension in dimensions:
        drawn = probe(seed, dimension)
        try:
            found |= {} if found else protections(kernel)
            drawn = with_task_columns(kernel, drawn)
            result = _run(kernel, program, drawn)
        except KernautError as error:
            checks.append(Check("executable", False, f"In dimension {dimension} it {_state(error)}"))
            return None
        if not np.isfinite(result.matrices).all():
            detail = f"In dimension {dimension} a covariance is not finite."
            checks.append(Check("executable", False, detail))
            return None
        ran.append(result)
    metrics = {"dimensions": list(dimensions), "trials": TRIALS, "points": POINTS}
    checks.append(Check("executable", True, "Every trial ran and gave finite values of the right shape.", metrics))
    return ran


def _run(kernel: KernautKernel, program: KernelProgram, drawn: Probe) -> _Ran:
    """Trials and rearrangements in one request; the trials alone where the program fails on the rearrangements or sees all points."""
    if not program.rules.acceptable:
        return _Ran(drawn, trial_matrices(kernel, drawn.points), None)
    try:
        stacked = stacked_embedding(kernel, drawn)
    except SandboxFailure as error:
        if error.state != "failed":
            raise
        return _Ran(drawn, trial_matrices(kernel, drawn.points), None)
    return _Ran(drawn, kernel.cross(stacked.trials, stacked.trials).numpy(), stacked)


def _empirical(ran: Sequence[_Ran], checks: list[Check]) -> bool:
    """T1 on every trial."""
    asymmetry = {r.drawn.dimension: float(np.abs(r.matrices - r.matrices.swapaxes(-1, -2)).max()) for r in ran}
    smallest = {
        r.drawn.dimension: float(np.linalg.eigvalsh(0.5 * (r.matrices + r.matrices.swapaxes(-1, -2))).min())
        for r in ran
    }
    worst, lowest = max(asymmetry, key=asymmetry.__getitem__), min(smallest, key=smallest.__getitem__)
    symmetric, definite = asymmetry[worst] <= ASYMMETRY, smallest[lowest] >= EIGENVALUE
    checks.append(
        Check(
            "symmetry",
            symmetric,
            f"Largest asymmetry {asymmetry[worst]:.3g} (dimension {worst}); at most {ASYMMETRY:g} is allowed.",
            {"max_asymmetry": asymmetry[worst], "tolerance": ASYMMETRY},
        )
    )
    if symmetric:
        checks.append(
            Check(
                "positive_semidefinite",
                definite,
                f"Smallest eigenvalue {smallest[lowest]:.3g} (dimension {lowest}); at least {EIGENVALUE:g} is allowed.",
                {"min_eigenvalue": smallest[lowest], "tolerance": EIGENVALUE},
            )
        )
    return symmetric and definite


def _certified(kernel: KernautKernel, program: KernelProgram, ran: Sequence[_Ran], checks: list[Check]) -> bool:
    """T2: the contract, then the five relations in every dimension."""
    if not program.rules.acceptable:
        detail = f"Contract {program.contract} gives {program.rules.meaning}"
        checks.append(Check("contract", False, detail))
        return False
    checks.append(Check("contract", True, f"Assembled by trusted code: {program.rules.meaning}"))
    errors = {}
    for result in ran:
        dimension = result.drawn.dimension
        try:
            errors[dimension] = _errors(kernel, result)
        except KernautError as error:
            checks.append(Check("determinism", False, f"In dimension {dimension}, asked again, it {_state(error)}"))
            return False
    for name in RELATIONS:
        worst = max(errors, key=lambda dimension: _or_infinite(errors[dimension][name]))
        largest = errors[worst][name]
        finite = bool(np.isfinite(largest))
        size = f"{largest:.3g}" if finite else "not finite"
        detail = f"Largest relative error {size} (dimension {worst}); at most {RELATION:g} is allowed."
        metrics = {"tolerance": RELATION} | ({"max_error": largest} if finite else {})
        checks.append(Check(name, finite and largest <= RELATION, detail, metrics))
        if not checks[-1].passed:
            return False
    return True


def _errors(kernel: KernautKernel, result: _Ran) -> dict[str, float]:
    """Relation errors in one dimension; the second execution is a new one in the same child."""

    def again(points: torch.Tensor) -> Array:
        forget(kernel)
        return trial_matrices(kernel, points)

    stacked = stacked_embedding(kernel, result.drawn) if result.stacked is None else result.stacked
    return relation_errors(kernel, result.drawn, stacked, again)


def _or_infinite(error: float) -> float:
    return error if np.isfinite(error) else float("inf")


def _state(error: KernautError) -> str:
    """How a program failed, as the end of a sentence: ``timed out: ...``."""
    state = error.state if isinstance(error, SandboxFailure) else "failed"
    return f"{'was refused' if state == 'refused' else state}: {error}"
