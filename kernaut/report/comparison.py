"""One program beside the references: a table, and paired comparisons on the test episodes, all read from a benchmark report.

Differences are of the CRPS on the same episodes, first minus second, so that below 0 the program is better; their intervals are bootstrapped over episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernaut.errors import InputError
from kernaut.evaluation.outcome import PREDICTIVE_PENALTY
from kernaut.evaluation.statistics import PairedDifference, paired_difference
from kernaut.report.table import aligned, markdown

COLUMNS = ("kernel", "validation CRPS", "test CRPS", "95 % interval", "test regret AUC")


@dataclass(frozen=True)
class Row:
    """One kernel's numbers.

    Args:
        candidate_id: its identifier.
        name: its name.
        reference: whether it is a reference kernel.
        validation_crps: mean CRPS on validation.
        test_crps: mean CRPS on test.
        interval: 95 % bootstrap interval of it.
        regret_auc: regret AUC on test; None for a benchmark without optimization tasks.
    """

    candidate_id: str
    name: str
    reference: bool
    validation_crps: float
    test_crps: float
    interval: tuple[float, float]
    regret_auc: float | None

    def cells(self) -> list[Any]:
        """The cells of :data:`COLUMNS`."""
        low, high = self.interval
        return [self.name, self.validation_crps, self.test_crps, f"{low:.4f} to {high:.4f}", self.regret_auc]


@dataclass(frozen=True)
class Comparison:
    """A program beside the references.

    Args:
        program: its numbers.
        references: theirs, the best on test first.
        differences: of the program to each reference, in that order.
    """

    program: Row
    references: tuple[Row, ...]
    differences: tuple[PairedDifference, ...]

    @property
    def best_reference(self) -> Row:
        """The reference of smallest mean CRPS on test."""
        return self.references[0]

    @property
    def beats_every_reference(self) -> bool:
        """Whether the interval of the difference to each reference lies below 0."""
        return all(difference.upper < 0.0 for difference in self.differences)

    def sentence(self) -> str:
        """The comparison with the best reference, and whether the program beats them all."""
        best, paired = self.best_reference, self.differences[0]
        return (
            f"On {paired.episodes} test episodes {self.program.name} has mean CRPS {self.program.test_crps:.4f}, and the best fixed reference, "
            f"{best.name}, {best.test_crps:.4f}: a paired difference of {paired.mean:.4f} (95 % bootstrap interval {paired.lower:.4f} to "
            f"{paired.upper:.4f}), with the lower CRPS on {paired.first_better:.0%} of the episodes. "
            f"Beats every fixed reference, the interval to each below 0: {'yes' if self.beats_every_reference else 'no'}."
        )

    def to_text(self) -> str:
        """The table for a terminal."""
        return aligned(COLUMNS, [row.cells() for row in self.rows()])

    def rows(self) -> list[Row]:
        """The program, then the references."""
        return [self.program, *self.references]

    def _repr_markdown_(self) -> str:
        return markdown(COLUMNS, [row.cells() for row in self.rows()], strong=(0,))

    def to_json(self) -> dict[str, Any]:
        """Everything, for a report."""
        return {
            "columns": list(COLUMNS),
            "rows": [row.cells() for row in self.rows()],
            "sentence": self.sentence(),
            "beats_every_reference": self.beats_every_reference,
            "differences": [
                {"candidate_id": row.candidate_id, "name": row.name, **difference.to_json()}
                for row, difference in zip(self.references, self.differences, strict=True)
            ],
        }


def compare(report: Mapping[str, Any], candidate_id: str) -> Comparison:
    """Lay a program beside the references of a report.

    Args:
        report: of :func:`kernaut.search.benchmarking.benchmark_report`, with the splits validation and test.
        candidate_id: the program.

    Raises:
        InputError: when the report lacks the program, a reference, or one of the two splits.
    """
    entries = {entry["candidate_id"]: entry for entry in report["candidates"]}
    references = [entry for entry in entries.values() if entry["origin"] == "reference"]
    if candidate_id not in entries or not references:
        raise InputError(f"Expected a report with {candidate_id} and references. Got {', '.join(entries)}.")
    for split in ("validation", "test"):
        if split not in report["protocol"]["splits"]:
            raise InputError(
                f"Expected a report with the split {split}. Got {', '.join(report['protocol']['splits'])}."
            )
    own = episode_scores(entries[candidate_id], "test")
    ordered = sorted(references, key=lambda entry: (_mean(entry, "test"), entry["candidate_id"]))
    differences = []
    for entry in ordered:
        other = episode_scores(entry, "test")
        differences.append(
            paired_difference([own[name] for name in sorted(own)], [other[name] for name in sorted(own)])
        )
    return Comparison(_row(entries[candidate_id]), tuple(map(_row, ordered)), tuple(differences))


def episode_scores(entry: Mapping[str, Any], split: str) -> dict[str, float]:
    """The CRPS of each episode by its name, failures at their penalty."""
    section = entry["splits"][split]["predictive"]
    scores = {outcome["episode"]: float(outcome["crps"]) for outcome in section["episodes"]}
    return scores | {outcome["episode"]: PREDICTIVE_PENALTY for outcome in section["failures"]}


def _row(entry: Mapping[str, Any]) -> Row:
    test = entry["splits"]["test"]
    low, high = test["predictive"]["interval"]
    return Row(
        entry["candidate_id"],
        entry["name"],
        entry["origin"] == "reference",
        _mean(entry, "validation"),
        _mean(entry, "test"),
        (low, high),
        test["bo"]["regret_auc"] if "bo" in test else None,
    )


def _mean(entry: Mapping[str, Any], split: str) -> float:
    return float(entry["splits"][split]["predictive"]["mean_crps"])
