"""What the loop needs of a domain: verdicts of an operator over an electorate, screens, and what an author is shown.

Installed packages offer further domains under the entry point group ``kernaut.domains``: a function that returns a :class:`Domain`; its keyword arguments are
``--options``.  Where tasks and candidates are plain JSON, :class:`kernaut.operators.record_domain.RecordDomain` does the work and a package only describes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernaut.operators.records import Electorate, Operator, Verdicts
from kernaut.operators.symptoms import Symptom


class Domain(Protocol):
    """A kind of task with candidates, some of them labelled.

    Attributes:
        name: the domain's name.
        synthetic: what reports must say about where its candidates come from; empty when they are natural.
    """

    name: str
    synthetic: str

    @property
    def interface(self) -> str:
        """What a task, a candidate and the context of level 2 hold, in words, for language models."""

    def reported(self) -> Sequence[str]:
        """The electorates of a report: ``train`` first, the unseen one last."""

    def electorate(self, name: str) -> Electorate:
        """The electorate of a name such as ``train``."""

    def examine(self, operator: Operator, electorate: Electorate) -> Verdicts:
        """The operator's verdicts on the candidates in V; the others are not asked, which counts as an abstention without a reason.

        Raises:
            ProgramRefused: when the source breaks a rule.
        """

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        """Why an operator could rebuild the oracle, a sentence for each screen that it fails."""

    def symptoms(self) -> Sequence[Symptom]:
        """The measurable symptoms that the offline author composes operators from."""

    def measure(self, electorate: Electorate) -> NDArray[np.float64]:
        """``n x s`` values of the symptoms, NaN where one could not be measured or the candidate is not in V."""

    def hand_written(self) -> Sequence[Operator]:
        """Operators written by hand, the baseline."""

    def worth(self, electorate: Electorate, flags: NDArray[np.bool_]) -> Mapping[str, Any]:
        """What choosing by a rule's flags is worth in the domain's own terms; empty where selection accuracy says all."""

    def show(self, electorate: Electorate, place: int) -> Mapping[str, Any]:
        """A candidate and its task for an authoring request."""


def unasked(electorate: Electorate) -> Verdicts:
    """Verdicts of an operator that was asked nothing."""
    return Verdicts(np.full(len(electorate.candidates), -1, dtype=np.int8))
