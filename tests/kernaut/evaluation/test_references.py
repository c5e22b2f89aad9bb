from __future__ import annotations

from collections import Counter
from importlib.metadata import EntryPoint
from typing import Any

import pytest

import kernaut.plugins
from kernaut.errors import InputError
from kernaut.evaluation.evaluate import Setting, evaluate
from kernaut.evaluation.outcome import mean_crps
from kernaut.evaluation.references import (
    extension_references,
    family_winners,
    fixed_grid,
    scored_references,
    spectral_mixture_start,
    subjects_of,
    winners_of,
)
from kernaut.program.program import KernelProgram

TRAINING = Setting("bbo", "train", 2)


def test_the_grid_is_the_protocols() -> None:
    grid = fixed_grid()
    assert Counter(subject.family for subject in grid) == {
        "rbf": 4,
        "matern32": 4,
        "matern52": 4,
        "linear": 1,
        "periodic": 12,
        "rq": 9,
        "ard_rbf": 4,
        "ard_matern32": 4,
        "ard_matern52": 4,
        "spectral_mixture": 8,
    }
    assert len({subject.candidate_id for subject in grid}) == len({subject.name for subject in grid}) == 54
    names = {subject.name for subject in grid}
    assert {"matern52-lengthscale-0.5", "periodic-lengthscale-0.25-period-2", "rq-lengthscale-1-alpha-4"} <= names
    assert {"ard_rbf-lengthscales-ramp-0.25-4", "ard_rbf-lengthscales-ramp-4-0.25", "linear"} <= names
    assert all(subject.origin == "reference" for subject in grid)


def test_spectral_mixture_starts_are_seeded_and_differ() -> None:
    starts = [spectral_mixture_start(start) for start in range(8)]
    assert starts == [spectral_mixture_start(start) for start in range(8)]
    assert len({str(start) for start in starts}) == 8
    assert all(len(start["weights"]) == len(start["means"]) == len(start["scales"]) == 4 for start in starts)
    assert sum(starts[0]["weights"]) == pytest.approx(1.0)


def test_a_winner_has_the_smallest_mean_of_its_family() -> None:
    grid = [subject for subject in fixed_grid() if subject.family in ("matern52", "rbf", "linear")]
    winners = family_winners(grid, TRAINING)
    assert [winner.subject.family for winner in winners] == ["rbf", "matern52", "linear"]
    for winner in winners:
        rivals = [subject for subject in grid if subject.family == winner.subject.family]
        scores = {rival.name: mean_crps(evaluate(rival, TRAINING).predictive) for rival in rivals}
        assert winner.subject.name == min(scores, key=scores.__getitem__)
        assert mean_crps(winner.predictive) == min(scores.values())
    assert family_winners(grid, TRAINING, workers=2) == winners


def test_every_reference_of_the_grid_can_be_scored_in_every_dimension() -> None:
    for winner in family_winners(fixed_grid(), TRAINING):
        assert all(outcome.scored for outcome in winner.predictive)
        assert 0.3 < mean_crps(winner.predictive) < 0.9


def test_winners_are_chosen_on_two_training_episodes_a_family_at_least() -> None:
    one = family_winners(subjects_of({"rbf": [{"lengthscale": 0.5}]}), Setting("bbo", "train", 1, bo_steps=8))
    assert len(one[0].predictive) == 10
    assert one[0].rollouts == ()
    with pytest.raises(InputError, match=r"on the train split. Got 'validation'"):
        family_winners(fixed_grid(), Setting("bbo", "validation", 2))


def test_one_scoring_has_the_winners_on_fewer_episodes_too() -> None:
    grid = [subject for subject in fixed_grid() if subject.family in ("linear", "spectral_mixture")]
    many = scored_references(grid, Setting("bbo", "train", 4))
    fewer = [winner.subject for winner in winners_of(many, 2)]
    assert fewer == [winner.subject for winner in family_winners(grid, TRAINING)]
    assert fewer != [winner.subject for winner in winners_of(many)]


def test_ties_go_to_the_first() -> None:
    same = subjects_of({"rbf": [{"lengthscale": 0.5}, {"lengthscale": 0.5, "variance": 1.0}]})
    (winner,) = family_winners(same, TRAINING)
    assert winner.subject is not same[1]
    assert winner.subject == same[0]


def install(monkeypatch: pytest.MonkeyPatch, target: Any) -> None:
    class Point(EntryPoint):
        def load(self) -> Any:
            return target

    def found(group: str) -> tuple[EntryPoint, ...]:
        return (Point("mine", "somewhere:it", group),) if group == "kernaut.baselines" else ()

    monkeypatch.setattr(kernaut.plugins, "entry_points", found)


def test_installed_references(monkeypatch: pytest.MonkeyPatch) -> None:
    program = KernelProgram("p", "feature_map", "def feature_point(x, parameters):\n    return x\n")
    kernels = {"short": {"kind": "rbf", "lengthscale": 0.2}, "file": program.to_json(), "program": program}
    for target in (kernels, lambda: kernels):
        install(monkeypatch, target)
        found = extension_references()
        assert [(subject.family, subject.origin) for subject in found] == [("mine", "reference")] * 3
        assert [subject.name for subject in found] == ["short", "p", "p"]
        assert found[1].candidate_id == program.id


@pytest.mark.parametrize("target", [3, {"a": 3}, {"a": {"kind": "magic"}}, {"a": {"name": "p"}}])
def test_installed_references_of_the_wrong_kind(monkeypatch: pytest.MonkeyPatch, target: Any) -> None:
    install(monkeypatch, target)
    with pytest.raises(InputError, match="Expected"):
        extension_references()
