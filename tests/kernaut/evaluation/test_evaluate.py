from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernaut.evaluation.evaluate as module
from kernaut.episodes.enzymes import EnzymeKinetics
from kernaut.errors import InputError, OracleFailure
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate, evaluate_all
from kernaut.evaluation.outcome import mean_crps, mean_score
from kernaut.evaluation.subject import Subject, program_subject, reference_subject
from kernaut.plugins import bundled
from kernaut.program.program import KernelProgram, load_candidate

DUAL_WARP_FOLD = KernelProgram(
    "dual_warp_fold",
    "input_transform",
    """
import math
import torch

def transform_point(x, parameters):
    a, v, z = parameters["a"], parameters["v"], parameters["z"]
    warp = (1.0 - torch.exp(-a * x)) / (1.0 - torch.exp(-a))
    fold = torch.sin(z) * torch.arcsin(torch.sin(math.pi * v * x)) / math.pi
    return torch.cat([warp, fold])
""",
    {"a": 0.21496191186014413, "v": 0.9753086419753086, "z": 1.4325662500369458},
)
SLEEPER = KernelProgram(
    "sleeper", "feature_map", "import torch\n\ndef feature_point(x, parameters):\n    return torch.log(x - 0.5)\n"
)
REFUSED = KernelProgram("refused", "feature_map", "import os\n\ndef feature_point(x, parameters):\n    return x\n")
MATERN = reference_subject({"kind": "matern52", "lengthscale": 0.5}, "matern52-lengthscale-0.5")


@pytest.mark.parametrize(("split", "crps", "auc"), [("validation", 0.5404, 0.7890), ("test", 0.6011, 0.6712)])
def test_published_values_of_a_program_in_the_sandbox(split: str, crps: float, auc: float) -> None:
    example = load_candidate(bundled("examples", "candidates", "dual_warp_fold.json"))
    evaluation = evaluate(program_subject(example, "file"), Setting("bbo", split, 10, bo_steps=8))
    assert f"{mean_crps(evaluation.predictive):.4f}" == f"{crps:.4f}"
    assert f"{mean_score(evaluation.rollouts, 'regret_auc', 9.0):.4f}" == f"{auc:.4f}"


def test_numpy_and_torch_forms_of_a_program_agree() -> None:
    source = DUAL_WARP_FOLD.source.replace("import torch", "import numpy as np")
    for torch_name, numpy_name in (("torch.cat", "np.concatenate"), ("torch.", "np.")):
        source = source.replace(torch_name, numpy_name)
    slow = KernelProgram("slow", "input_transform", source, DUAL_WARP_FOLD.parameters)
    setting = Setting("bbo", "validation", 1)
    ours, theirs = (evaluate(program_subject(p), setting).predictive for p in (DUAL_WARP_FOLD, slow))
    for one, two in zip(ours, theirs, strict=True):
        assert one.scores is not None
        assert two.scores is not None
        np.testing.assert_allclose(list(one.scores.values()), list(two.scores.values()), rtol=1e-8)


def test_a_state_space_scores_as_the_kernel_it_is() -> None:
    system = """
import torch

def state_space_matrices(parameters):
    rate = 5.0**0.5 / parameters["lengthscale"]
    feedback = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-(rate**3), -3.0 * rate**2, -3.0 * rate]]
    return feedback, [0.0, 0.0, torch.sqrt(16.0 / 3.0 * rate**5)], [1.0, 0.0, 0.0]
"""
    first = "import torch\n\ndef transform_point(x, parameters):\n    return x[:1]\n"
    base = {"base_kernel": {"kind": "matern52", "lengthscale": 0.3}}
    setting = Setting("bbo", "validation", 2, bo_steps=2, candidates=8)
    ours, theirs = (
        evaluate(program_subject(program), setting)
        for program in (
            KernelProgram("system", "state_space", system, {"lengthscale": 0.3, "coordinate": 0}),
            KernelProgram("first", "input_transform", first, base),
        )
    )
    for one, two in zip((*ours.predictive, *ours.rollouts), (*theirs.predictive, *theirs.rollouts), strict=True):
        assert one.scores is not None
        assert two.scores is not None
        np.testing.assert_allclose(list(one.scores.values()), list(two.scores.values()), rtol=1e-8)


def test_tasks_where_there_are_none_are_failures() -> None:
    source = "def coregionalization(parameters):\n    return {'factor': [1.0, 0.5], 'kernel': {'op': 'base', 'kind': 'rbf'}}\n"
    found = evaluate(program_subject(KernelProgram("tasks", "coregionalized", source)), Setting("bbo", "train", 1))
    assert {outcome.state for outcome in found.predictive} == {"failed"}
    assert all("to name one of 2 tasks" in (outcome.reason or "") for outcome in found.predictive)


@pytest.mark.parametrize(("program", "state"), [(SLEEPER, "failed"), (REFUSED, "refused")])
def test_failures_are_outcomes(program: KernelProgram, state: str) -> None:
    setting = Setting("bbo", "train", 2, bo_steps=2, candidates=8)
    evaluation = evaluate(program_subject(program), setting)
    assert [o.episode for o in evaluation.predictive] == [e.name for e in setting.made().episodes("train", 2)]
    assert [o.episode for o in evaluation.rollouts] == [t.name for t in setting.made().rollouts("train", 2)]
    for outcome in (*evaluation.predictive, *evaluation.rollouts):
        assert outcome.state == state
        assert outcome.reason
    assert mean_crps(evaluation.predictive) == 2.0


def test_closures_find_accepted_programs_by_identifier() -> None:
    closure = KernelProgram(
        "half",
        "closure",
        'def closure_tree(parameters):\n    child = {"op": "program", "candidate": parameters["leaf"]}\n'
        '    return {"op": "scale", "weight": 0.5, "child": child}\n',
        {"leaf": DUAL_WARP_FOLD.id},
    )
    setting = Setting("bbo", "validation", 1)
    found = evaluate(program_subject(closure), setting, programs={DUAL_WARP_FOLD.id: DUAL_WARP_FOLD})
    assert all(outcome.scored for outcome in found.predictive)
    lost = evaluate(program_subject(closure), setting)
    assert {outcome.state for outcome in lost.predictive} == {"refused"}


def numbers(evaluations: list[list[Evaluation]]) -> Any:
    return [[(e.subject.candidate_id, e.setting, e.predictive, e.rollouts) for e in row] for row in evaluations]


def test_workers_change_nothing() -> None:
    subjects: list[Subject] = [program_subject(DUAL_WARP_FOLD), MATERN, program_subject(SLEEPER)]
    settings = [Setting("bbo", "train", 1, bo_steps=2, candidates=8), Setting("bbo", "validation", 2)]
    counts: list[int] = []
    alone = evaluate_all(subjects, settings)
    both = evaluate_all(subjects, settings, workers=2, done=counts.append)
    assert numbers(alone) == numbers(both)
    assert [[e.setting.split for e in row] for row in alone] == [["train", "validation"]] * 3
    assert [row[0].subject.name for row in alone] == ["dual_warp_fold", "matern52-lengthscale-0.5", "sleeper"]
    assert counts == list(range(1, 7))
    assert evaluate_all(subjects, []) == []


def test_episodes_are_stacked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("bbo", "validation", 3)
    assert setting.episodes() is setting.episodes()
    monkeypatch.setattr(module, "benchmark_named", None)
    evaluate(MATERN, setting)


def test_what_is_not_asked_for_is_not_done() -> None:
    evaluation = evaluate(MATERN, Setting("bbo", "train", 1, predictive=False, bo_steps=1, candidates=4))
    assert evaluation.predictive == ()
    assert len(evaluation.rollouts) == 5
    tuning = evaluate(MATERN, Setting("bbo", "train", 1, tuning=True))
    assert tuning.rollouts == ()
    assert mean_crps(tuning.predictive) != mean_crps(evaluate(MATERN, Setting("bbo", "train", 1)).predictive)


@pytest.mark.parametrize(
    "setting",
    [Setting("bbo", "all", 1), Setting("bbo", "train", 0), Setting("bbo", "train", 1000), Setting("b", "train", 1)],
)
def test_wrong_settings_raise(setting: Setting) -> None:
    with pytest.raises(InputError, match="Expected"):
        evaluate(MATERN, setting)


def test_an_episode_whose_oracle_raises_is_listed_as_failed_for_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = EnzymeKinetics.measure

    def raising(self: EnzymeKinetics, domain: str, version: str, seed: int, points: Any) -> Any:
        if seed == 1001:
            raise OracleFailure("Expected a rate. Got ZeroDivisionError.")
        return measure(self, domain, version, seed, points)

    monkeypatch.setattr(EnzymeKinetics, "measure", raising)
    setting = Setting("enzymes", "train", 2, {"train_points": 7, "test_points": 3})
    broken = KernelProgram("broken", "feature_map", "def feature_point(x, parameters):\n    return 1 / 0\n")
    for subject in (reference_subject({"kind": "rbf"}, "rbf"), program_subject(broken)):
        outcomes = evaluate(subject, setting).predictive
        assert [int(o.episode.rpartition("-")[2]) for o in outcomes] == [
            1000 * i + j for i in range(10) for j in (0, 1)
        ]
        assert (outcomes[3].state, outcomes[3].family) == ("failed", "c1_competitive_inhibition")
        assert outcomes[3].reason == "Expected a rate. Got ZeroDivisionError."
        assert sum(o.reason == outcomes[3].reason for o in outcomes) == 1
    with pytest.raises(OracleFailure, match="Got ZeroDivisionError"):
        setting.made().episodes("train", 2)
    monkeypatch.setattr(EnzymeKinetics, "measure", lambda *given: raising(given[0], "", "", 1001, None))
    with pytest.raises(OracleFailure, match="Got ZeroDivisionError"):
        Setting("enzymes", "train", 1, {"train_points": 6}).episodes()
