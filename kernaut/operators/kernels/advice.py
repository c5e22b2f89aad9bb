"""Which of an archive's kernels to trust on a user's table, with the reasons in words.

All rows fit; a rule of domain ``kernels`` judges each fit, and kernels are weighed by marginal likelihood among those it keeps, over all columns and with one or two left out,
which also says how much each column matters.  No label is known here, so nothing is scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernaut.archive.store import Archive
from kernaut.episodes.episode import Episode
from kernaut.episodes.table import Array, Table
from kernaut.errors import InputError
from kernaut.evaluation.references import fixed_grid
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.operators.kernels.coordinates import fit_coordinates
from kernaut.operators.kernels.domain import KernelDomain
from kernaut.operators.kernels.fits import EpisodeFits, fit_subjects, only
from kernaut.operators.records import ABSTAIN
from kernaut.operators.rules import Rule
from kernaut.scoring.predictive import crps_gaussian
from kernaut.seeds import generator

MOST_ROWS = 64
MOST_PROGRAMS = 30
MOST_REFERENCES = 15
FEW_ROWS = 20
QUERIES = 16


def table_episode(table: Table, seed: int = 0) -> Episode:
    """A table as an episode without known query targets; at most 64 rows, drawn by the seed."""
    rng = generator("cegar advise", seed)
    places = np.arange(len(table))
    if len(places) > MOST_ROWS:
        places = np.sort(rng.choice(places, MOST_ROWS, replace=False))
    targets = table.standardized_targets()[places]
    inputs = table.unit_inputs()[places]
    queries = _at_levels(rng.uniform(size=(QUERIES, inputs.shape[1])), inputs)
    return Episode("table", "table", "test", "table", seed, inputs, targets, queries, np.zeros(QUERIES))


def _at_levels(queries: Array, inputs: Array) -> Array:
    """Points of the unit cube, those columns moved to levels of the table that have levels: at least two rows for each number, on average.

    Tasks and settings have; a kernel over tasks has no value between them.
    """
    queries = queries.copy()
    for place, column in enumerate(inputs.T):
        levels = np.unique(column)
        if 2 * len(levels) <= len(column):
            queries[:, place] = levels[(queries[:, place] * len(levels)).astype(np.int64)]
    return queries


def advise(archive: Archive, table: Table, rule: Rule, *, seed: int = 0) -> dict[str, Any]:
    """Judge the archive's programs and the fixed references on a table.

    Args:
        archive: whose accepted programs are judged.
        table: the user's data.
        rule: a rule of domain ``kernels``.
        seed: draws rows of a long table.

    Raises:
        InputError: when no kernel can be fitted.
    """
    episode = table_episode(table, seed)
    subjects = [*(program_subject(candidate.program) for candidate in archive.candidates()), *fixed_grid()]
    (everyone,) = fit_subjects(subjects, [episode], resolve=archive.program)
    if not everyone.alive.any():
        raise InputError("Expected a kernel that can be fitted to the table. Got none.")
    places, left_out = _chosen(subjects, everyone)
    (fits,) = only([everyone], places)
    domain = KernelDomain({"train": [fits]}, 0, labelled=False)
    electorate = domain.electorate("train")
    verdicts = [domain.examine(operator, electorate) for operator in rule.operators]
    flags = rule.flags(domain, electorate)
    (fewer,) = fit_coordinates([subjects[place] for place in places], [episode], resolve=archive.program)
    over_columns = fewer.weights(~flags)
    weights, relevance = over_columns.sum(1), fewer.relevance(over_columns)
    loo = crps_gaussian(fits.loo_mean, fits.loo_sd, np.broadcast_to(episode.fit_targets, fits.loo_mean.shape)).mean(-1)
    rows = []
    for number, place in enumerate(places):
        said = list(zip(rule.operators, verdicts, strict=True))
        reasons = [operator.defect for operator, found in said if found.flags[number]]
        abstained = [operator.defect for operator, found in said if found.codes[number] == ABSTAIN]
        rows.append(
            {
                "candidate_id": subjects[place].candidate_id,
                "name": subjects[place].name,
                "origin": subjects[place].origin,
                "trusted": not bool(flags[number]),
                "weight": float(weights[number]),
                "log_likelihood": float(fits.best_log_likelihood[number]),
                "leave_one_out_crps": float(loo[number]),
                "reasons": reasons,
                "not_judged": abstained,
                "in_words": in_words(bool(flags[number]), reasons, rule.votes),
            }
        )
    rows.sort(key=lambda row: (-float(str(row["weight"])), -float(str(row["log_likelihood"])), str(row["name"])))
    columns = [{"name": name, "relevance": float(share)} for name, share in zip(table.columns, relevance, strict=True)]
    return {
        "rows": len(table),
        "rows_used": len(episode.fit_targets),
        "cleaning": table.cleaning.to_json(),
        "rule": rule.to_json(),
        "all_flagged": bool(flags.all()),
        "in_words": _summary(rows, columns, len(episode.fit_targets), bool(flags.all()), left_out["not_fitted"]),
        "recommended": rows[0],
        "columns": columns,
        "kernels": rows,
        "left_out": left_out,
    }


def _chosen(subjects: Sequence[Subject], fits: EpisodeFits) -> tuple[list[int], dict[str, Any]]:
    """Places of the likeliest programs and the likeliest references, and how many others there are and why.

    Of kernels that are the same function on this table, such as those that differ in the lengthscales of further coordinates, the first is kept.
    """
    seen: set[bytes] = set()
    first, same, failed = [], 0, []
    for place, subject in enumerate(subjects):
        if not fits.alive[place]:
            failed.append(subject.name)
            continue
        key = np.round(np.concatenate([fits.log_likelihood[place], fits.mean[place], fits.sd[place]]), 9).tobytes()
        same += key in seen
        first += [] if key in seen else [place]
        seen.add(key)
    ranked = sorted(first, key=lambda place: -fits.best_log_likelihood[place])
    programs = [place for place in ranked if subjects[place].origin != "reference"]
    references = [place for place in ranked if subjects[place].origin == "reference"]
    kept = sorted([*programs[:MOST_PROGRAMS], *references[:MOST_REFERENCES]])
    counts = {
        "less_likely_programs": len(programs[MOST_PROGRAMS:]),
        "less_likely_references": len(references[MOST_REFERENCES:]),
        "equal_on_this_table": same,
        "not_fitted": failed,
    }
    return kept, counts


def _summary(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, Any]],
    used: int,
    all_flagged: bool,
    not_fitted: Sequence[str],
) -> str:
    """What to do, in a few sentences."""
    best, own = rows[0], [row for row in rows if row["origin"] != "reference"]
    trusted = sum(bool(row["trusted"]) for row in rows)
    words = f"{trusted} of {len(rows)} kernels are trusted, {sum(bool(row['trusted']) for row in own)} of the archive's {len(own)}."
    if not_fitted:
        words += f" {len(not_fitted)} could not be fitted to this table: {', '.join(not_fitted[:5])}{', ...' if len(not_fitted) > 5 else ''}."
    if all_flagged:
        words += " None is, so that all are weighed as if none had been flagged: look for further kernels."
    words += f" The largest weight in the mixture, {best['weight']:.2f}, has {best['name']}, "
    words += "a reference." if best["origin"] == "reference" else "a program of the archive."
    if own and best["origin"] == "reference":
        mine = own[0]
        words += f" The archive's own best is {mine['name']}, weight {mine['weight']:.2g}{'' if mine['trusted'] else ', not trusted'}."
    unsure = [f"{column['name']} ({column['relevance']:.2f})" for column in columns if column["relevance"] < 0.5]
    if unsure:
        words += f" Columns that hardly matter, with the probability that they do: {', '.join(unsure)}."
    if used < FEW_ROWS:
        words += f" {used} rows say little: weights and verdicts may change with a few more."
    return words


def in_words(flagged: bool, reasons: list[str], votes: int) -> str:
    """One sentence on a kernel."""
    if flagged:
        return f"Do not trust it here: {'; '.join(reasons)}."
    if reasons:
        return f"Trusted, with {len(reasons)} of the {votes} complaints it takes: {'; '.join(reasons)}."
    return "Trusted: no operator finds anything."
