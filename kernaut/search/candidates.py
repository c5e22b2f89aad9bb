"""Candidate files at the door: a program from outside is verified before it is stored or compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernaut.archive.records import EvidenceRecord
from kernaut.errors import InputError
from kernaut.evaluation.report import package_versions
from kernaut.program.closure import Resolve
from kernaut.program.program import KernelProgram, load_candidate
from kernaut.sandbox.pool import SandboxPool
from kernaut.verification.verify import verify


def verified_candidate(
    path: str | Path,
    dimensions: Sequence[int],
    *,
    seed: int = 0,
    pool: SandboxPool | None = None,
    resolve: Resolve | None = None,
) -> tuple[KernelProgram, EvidenceRecord]:
    """Read a candidate file and verify its program.

    Args:
        path: a candidate JSON file.
        dimensions: input dimensions it must work in.
        seed: of the verification.
        pool: starts its child; the process's default pool if absent.
        resolve: looks up program leaves of closures by identifier.

    Returns:
        The program, and the evidence that accepts it.

    Raises:
        InputError: when the file is not a candidate, or its program is not accepted.
    """
    program = load_candidate(path)
    evidence = verify(program, dimensions, seed, pool=pool, resolve=resolve)
    if not evidence.accepted:
        raise InputError(
            f"Expected a program that verification accepts (tier T2) in {path}. Got tier {evidence.tier}: {evidence.reason}",
            hint=f"See all checks with: kernaut verify {path}",
        )
    versions = {name: version for name, version in package_versions().items() if version is not None}
    record = EvidenceRecord(program.id, True, evidence.tier, tuple(dimensions), seed, evidence.to_json(), versions)
    return program, record
