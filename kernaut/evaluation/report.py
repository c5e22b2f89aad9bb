"""The JSON report of every benchmark command: how it was made, then candidates with their scores, failures beside them.

The same command gives the same bytes: no times, no host names, candidates in the order of their identifiers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

import kernaut
from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.evaluation.evaluate import Evaluation, Setting
from kernaut.evaluation.outcome import PREDICTIVE_PENALTY, Outcome, mean_score, penalized
from kernaut.evaluation.statistics import bootstrap_interval, paired_difference
from kernaut.scoring.nmse import geometric_over_families

PROTOCOL_VERSION = 1
PACKAGES = ("kernaut", "numpy", "scipy", "torch", "gpytorch", "scoringrules")
SEED_RULE = "split offset (train 0, validation 10000, test 20000) + 1000 * family index + episode index"


def protocol_block(
    settings: Sequence[Setting],
    *,
    selection: Mapping[str, Any] | None = None,
    reference_budget: Mapping[str, Any] | None = None,
    seeds: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """How a report was made; two reports are comparable if and only if these blocks are equal.

    Args:
        settings: the splits that were evaluated.
        selection: the rule by which a program was chosen, if any.
        reference_budget: how many settings of each reference family were tried, on how many episodes.
        seeds: seeds beyond those of the episodes.
    """
    benchmarks = {setting.benchmark: setting.made() for setting in settings}
    return {
        "version": PROTOCOL_VERSION,
        "splits": {
            setting.split: {
                "benchmark": setting.benchmark,
                "families": list(benchmarks[setting.benchmark].families(setting.split)),
                "episodes_per_family": setting.per_family,
                "bo_steps": setting.bo_steps,
                "candidate_pool_size": setting.candidates,
            }
            for setting in settings
        },
        "options": {name: made.options() for name, made in sorted(benchmarks.items())},
        "seeds": {"episodes": SEED_RULE, "bootstrap": 0, **(seeds or {})},
        "selection": thaw(selection) if selection is not None else None,
        "data": {name: made.digest() for name, made in sorted(benchmarks.items())},
        "packages": package_versions(),
        "source": source_digest(),
        "references": thaw(reference_budget or {}),
    }


def candidate_entry(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """One candidate's part of a report.

    Args:
        evaluations: of one subject, one for each split.
    """
    subject = evaluations[0].subject
    splits: dict[str, Any] = {}
    for evaluation in evaluations:
        entry: dict[str, Any] = {}
        if evaluation.predictive:
            entry["predictive"] = predictive_section(evaluation.predictive)
        if evaluation.rollouts:
            entry["bo"] = rollout_section(evaluation.rollouts, evaluation.setting.bo_steps)
        splits[evaluation.setting.split] = entry
    return {
        "candidate_id": subject.candidate_id,
        "name": subject.name,
        "origin": subject.origin,
        "family": subject.family,
        "splits": splits,
    }


def predictive_section(outcomes: Sequence[Outcome], *, seed: int = 0) -> dict[str, Any]:
    """Means over episodes (a failed one counts 2.0 in CRPS, NLPD and RMSE, and is left out of coverage), episodes, failures."""
    nmse = normalized_error(outcomes)
    return {
        "mean_crps": mean_score(outcomes, "crps", PREDICTIVE_PENALTY),
        "mean_nlpd": mean_score(outcomes, "nlpd", PREDICTIVE_PENALTY),
        "mean_rmse": mean_score(outcomes, "rmse", PREDICTIVE_PENALTY),
        **({} if nmse is None else {"nmse": nmse}),
        "coverage95": mean_score(outcomes, "coverage95"),
        "mean_width95": mean_score(outcomes, "width95"),
        "interval": list(bootstrap_interval(penalized(outcomes, "crps", PREDICTIVE_PENALTY), seed=seed)),
        **_lists(outcomes),
    }


def normalized_error(outcomes: Sequence[Outcome]) -> float | None:
    """NMSE of outcomes that have it: arithmetic mean within a family, geometric over families, a failed episode at its penalty; else None."""
    if not any(outcome.scores is not None and "nmse" in outcome.scores for outcome in outcomes):
        return None
    by_family: dict[str, list[float]] = {}
    for outcome, value in zip(outcomes, penalized(outcomes, "nmse", PREDICTIVE_PENALTY), strict=True):
        by_family.setdefault(outcome.family, []).append(value)
    return geometric_over_families(by_family)


def rollout_section(outcomes: Sequence[Outcome], steps: int) -> dict[str, Any]:
    """Mean regrets over tasks (a failed one counts ``steps + 1``), tasks, failures."""
    return {
        "regret_auc": mean_score(outcomes, "regret_auc", steps + 1.0),
        "final_regret": mean_score(outcomes, "final_regret", steps + 1.0),
        **_lists(outcomes),
    }


def build_report(
    protocol: Mapping[str, Any], looks: Mapping[str, int], candidates: Sequence[Sequence[Evaluation]]
) -> dict[str, Any]:
    """The whole report.

    Args:
        protocol: from :func:`protocol_block`.
        looks: how often ``validation`` and ``test`` were opened for the archive.
        candidates: for each subject, its evaluations.

    Raises:
        InputError: when two subjects have one identifier.
    """
    entries = sorted((candidate_entry(evaluations) for evaluations in candidates), key=lambda e: e["candidate_id"])
    for first, second in pairwise(entries):
        if first["candidate_id"] == second["candidate_id"]:
            raise InputError(
                f"Expected each candidate once. Got {first['candidate_id']} twice ({first['name']}, {second['name']})."
            )
    return {"protocol": thaw(protocol), "looks": dict(looks), "candidates": entries}


def with_scores(report: dict[str, Any], worst_family_weight: float) -> dict[str, Any]:
    """A report whose predictive sections also hold the score ``-(mean CRPS + w * worst family's mean CRPS)``.

    Args:
        report: from :func:`build_report`; changed in place.
        worst_family_weight: w, at least 0.

    Raises:
        InputError: for a negative weight.
    """
    require_weight(worst_family_weight)
    report["protocol"]["score"] = {"worst_family_weight": worst_family_weight}
    for candidate in report["candidates"]:
        for split in candidate["splits"].values():
            section = split["predictive"]
            values: dict[str, list[float]] = {}
            for record in (*section["episodes"], *section["failures"]):
                values.setdefault(record["family"], []).append(record.get("crps", PREDICTIVE_PENALTY))
            means = {family: sum(found) / len(found) for family, found in values.items()}
            worst = max(means, key=lambda family: means[family])
            section["worst_family"] = {"family": worst, "mean_crps": means[worst]}
            section["score"] = -(section["mean_crps"] + worst_family_weight * means[worst])
    return report


def require_weight(worst_family_weight: float) -> float:
    """Check a weight of the worst family.

    Raises:
        InputError: for anything below 0 or above a million.
    """
    if not 0.0 <= worst_family_weight <= 1e6:
        raise InputError(f"Expected a weight of the worst family of at least 0. Got {worst_family_weight!r}.")
    return worst_family_weight


def compare_predictive(first: Sequence[Outcome], second: Sequence[Outcome], *, seed: int = 0) -> dict[str, Any]:
    """Paired comparison of the CRPS of two kernels on the same episodes, failures at their penalty.

    Raises:
        InputError: when the episodes are not the same in the same order.
    """
    names = [[outcome.episode for outcome in outcomes] for outcomes in (first, second)]
    if names[0] != names[1]:
        raise InputError("Expected outcomes of the same episodes in the same order. Got different ones.")
    one, two = (penalized(outcomes, "crps", PREDICTIVE_PENALTY) for outcomes in (first, second))
    return paired_difference(one, two, seed=seed).to_json()


def require_comparable(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    """Check that two reports were made by the same protocol.

    Raises:
        InputError: naming the first entry in which their protocol blocks differ.
    """
    place = _difference(first.get("protocol"), second.get("protocol"), "protocol")
    if place is not None:
        raise InputError(f"Expected reports of one protocol. Got reports that differ in {place}.")


def package_versions() -> dict[str, str | None]:
    """Versions of the packages that numbers depend on; None for one that is not installed."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Digest of Kernaut's own source files, the same in a checkout and in a wheel."""
    root = Path(kernaut.__file__).parent
    digest = hashlib.sha256()
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    for name in sorted(files):
        if not name.startswith("_bundled/"):
            digest.update(name.encode() + b"\0" + files[name].read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _lists(outcomes: Sequence[Outcome]) -> dict[str, list[dict[str, Any]]]:
    return {
        "episodes": [outcome.to_json() for outcome in outcomes if outcome.scored],
        "failures": [outcome.to_json() for outcome in outcomes if not outcome.scored],
    }


def _difference(first: Any, second: Any, place: str) -> str | None:
    """Path of the first difference of two JSON values."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in sorted({*first, *second}):
            found = _difference(first.get(key), second.get(key), f"{place}.{key}")
            if found is not None:
                return found
        return None
    return None if first == second else place
