"""What authors may look up: accepted programs, the references to beat, and a program's scores on meta-training episodes; all JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.archive.records import AcceptedRecord
from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.evaluation.evaluate import evaluate
from kernaut.evaluation.outcome import PREDICTIVE_PENALTY, family_means, loss_name, mean_loss
from kernaut.evaluation.subject import program_subject
from kernaut.program.program import KernelProgram
from kernaut.search.workbench import Workbench


def archive_listing(
    records: Sequence[AcceptedRecord],
    programs: Mapping[str, KernelProgram],
    bench: Workbench,
    niche: str | None,
    contract: str | None,
    limit: int,
) -> dict[str, Any]:
    """Accepted programs, the best search score first, and the references on the same episodes.

    Args:
        records: accepted programs that the run may see.
        programs: by identifier.
        bench: with the references' evaluations.
        niche: only this one; None for all.
        contract: only this one; None for all.
        limit: most programs to list.
    """
    matching = [
        record
        for record in records
        if (niche is None or record.niche == niche)
        and (contract is None or programs[record.program_id].contract == contract)
    ]
    matching.sort(key=lambda record: (-(record.score if record.score is not None else -1e9), record.program_id))
    return {
        "matching": len(matching),
        "programs": [_row(record, programs[record.program_id]) for record in matching[:limit]],
        "references": reference_rows(bench),
    }


def candidate_details(
    candidate_id: str, records: Sequence[AcceptedRecord], programs: Mapping[str, KernelProgram]
) -> dict[str, Any]:
    """One accepted program in full.

    Raises:
        InputError: for an identifier that no program the run may see has.
    """
    found = [record for record in records if record.program_id == candidate_id]
    if not found:
        known = ", ".join(record.program_id for record in records[-10:]) or "none yet"
        raise InputError(f"Expected the identifier of an accepted program, such as {known}. Got {candidate_id[:40]!r}.")
    program = programs[candidate_id]
    record = program.to_json()
    return {**_row(found[0], program), **record, "scores": thaw(found[0].details.get("scores", {}))}


def training_scores(program: KernelProgram, bench: Workbench, programs: Mapping[str, KernelProgram]) -> dict[str, Any]:
    """A program's CRPS (on a user's table: minus its log marginal likelihood a row) on the campaign's meta-training episodes, by family, beside the best references.

    Args:
        program: stored nowhere.
        bench: options and references.
        programs: that closures may refer to.
    """
    options = bench.options
    found = evaluate(program_subject(program), options.training(), pool=options.pool(), programs=programs)
    failed = [outcome for outcome in found.predictive if not outcome.scored]
    return {
        "candidate_id": program.id,
        f"mean_{loss_name(found.predictive)}": mean_loss(found.predictive),
        f"{loss_name(found.predictive)}_by_family": family_means(
            found.predictive, loss_name(found.predictive), PREDICTIVE_PENALTY
        ),
        "failed_episodes": [{"episode": outcome.episode, "reason": outcome.reason} for outcome in failed[:5]],
        "failed": len(failed),
        "references": reference_rows(bench),
    }


def reference_rows(bench: Workbench) -> list[dict[str, Any]]:
    """The winner of each reference family on the campaign's meta-training episodes, the best first."""
    found = sorted(
        ((mean_loss(winner.predictive), winner.subject.name, winner) for winner in bench.winners),
        key=lambda row: row[:2],
    )
    return [{"name": name, f"mean_{loss_name(winner.predictive)}": loss} for loss, name, winner in found]


def _row(record: AcceptedRecord, program: KernelProgram) -> dict[str, Any]:
    scores = record.details.get("scores", {})
    return {
        "candidate_id": program.id,
        "name": program.name,
        "contract": program.contract,
        "niche": record.niche,
        "score": record.score,
        "elite_score": record.elite_score,
        **{name: scores[name] for name in ("mean_crps", "mean_nlml") if scores.get(name) is not None},
        "novelty_band": record.novelty_band,
        "parents": list(program.parents),
    }
