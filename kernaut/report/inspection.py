"""What a search archive holds, as JSON: campaigns, candidates with their meta-training scores, one program in full, the frontier.

Validation and test outcomes are not here; see :func:`kernaut.search.benchmarking.benchmark_report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kernaut.archive.records import AcceptedRecord
from kernaut.archive.store import Archive
from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.program.program import KernelProgram


def archive_overview(archive: Archive) -> dict[str, Any]:
    """Campaigns, freezes, looks, and every candidate by search score, the best first.

    Args:
        archive: opened, read-only is enough.
    """
    candidates = candidate_rows(archive)
    return {
        "archive": str(archive.location),
        "freezes": [asdict(record) for record in archive.freezes()],
        "looks": archive.looks(),
        "campaigns": [
            {
                "id": campaign.id,
                "benchmark": campaign.benchmark,
                "strategy": campaign.strategy,
                "seed": campaign.seed,
                "runs": campaign.run_count,
                "closed_runs": len(archive.runs(campaign.id, status="closed")),
                "drafts": sum(len(archive.drafts(campaign.id, run.index)) for run in archive.runs(campaign.id)),
            }
            for campaign in archive.campaigns()
        ],
        "candidates": candidates,
    }


def candidate_rows(archive: Archive) -> list[dict[str, Any]]:
    """One row for each candidate, best search score first, imported ones without a score last; ties by identifier."""
    acceptances = _acceptances(archive)
    seconds = {record.id: record.seconds for record in archive.evaluations(purpose="search")}
    rows = []
    for candidate in archive.candidates():
        program, accepted = candidate.program, acceptances.get(candidate.program.id)
        row: dict[str, Any] = {
            "candidate_id": program.id,
            "name": program.name,
            "contract": program.contract,
            "origin": candidate.origin,
            "parents": list(program.parents),
            "tunable_parameters": len(program.space),
        }
        if accepted is not None:
            scores = thaw(accepted.details.get("scores", {}))
            row |= {
                "niche": accepted.niche,
                "novelty_band": accepted.novelty_band,
                "score": accepted.score,
                "elite_score": accepted.elite_score,
                "mean_crps": scores.get("mean_crps"),
                "regret_auc": scores.get("regret_auc"),
                **({"mean_nlml": scores["mean_nlml"]} if "mean_nlml" in scores else {}),
                "seconds": round(seconds.get(accepted.evaluation_id or "", 0.0), 4),
            }
        rows.append(row)
    return sorted(rows, key=lambda row: (row.get("score") is None, -(row.get("score") or 0.0), row["candidate_id"]))


def frontier(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The quality-cost frontier: candidates that no other beats in both mean CRPS and seconds of evaluation, cheapest first.

    Args:
        rows: of :func:`candidate_rows`; those without a score are left out.
    """
    scored = [row for row in rows if row.get("mean_crps") is not None]
    kept: list[Mapping[str, Any]] = []
    for row in sorted(scored, key=lambda row: (row["seconds"], row["mean_crps"], row["candidate_id"])):
        if not kept or row["mean_crps"] < kept[-1]["mean_crps"]:
            kept.append(row)
    return kept


def program_details(archive: Archive, program_id: str) -> dict[str, Any]:
    """One program in full: its candidate object, evidence, meta-training scores, parents and children.

    Args:
        archive: opened, read-only is enough.
        program_id: its identifier, or the beginning of one that no other program shares.

    Raises:
        InputError: for an identifier that no program has, or that several begin with.
    """
    programs = {program.id: program for program in archive.programs()}
    program = program_named(archive, program_id)
    accepted = _acceptances(archive).get(program.id)
    return {
        "candidate_id": program.id,
        "candidate": program.to_json(),
        "acceptance": thaw({key: value for key, value in asdict(accepted).items() if key != "details"})
        if accepted is not None
        else None,
        "scores": thaw(accepted.details.get("scores", {})) if accepted is not None else None,
        "nearest": accepted.details.get("nearest") if accepted is not None else None,
        "evidence": [
            {
                "accepted": record.accepted,
                "tier": record.tier,
                "dimensions": list(record.dimensions),
                "seed": record.seed,
            }
            for record in archive.evidence(program.id)
        ],
        "lineage": [asdict(edge) for edge in archive.lineage(program.id)],
        "children": [key for key, other in programs.items() if program.id in other.parents],
    }


def program_named(archive: Archive, program_id: str) -> KernelProgram:
    """The program of an identifier, or of the beginning of one that no other program shares.

    Raises:
        InputError: for an identifier that no program has, or that several begin with.
    """
    matching = [program for program in archive.programs() if program.id.startswith(program_id)]
    if len(matching) != 1 or not program_id:
        found = f"{len(matching)} that begin with it" if matching else "none of that name"
        raise InputError(
            f"Expected the identifier of a program of {archive.location}. Got {program_id!r}, {found}.",
            hint="List them with kernaut inspect.",
        )
    return matching[0]


def _acceptances(archive: Archive) -> dict[str, AcceptedRecord]:
    """The first acceptance of each program in any campaign, oldest campaign first."""
    found: dict[str, AcceptedRecord] = {}
    for campaign in archive.campaigns():
        for record in archive.accepted(campaign.id):
            found.setdefault(record.program_id, record)
    return found
