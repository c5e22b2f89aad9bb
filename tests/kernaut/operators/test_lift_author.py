"""The offline author that aims at the gate: its goal is the gate's, task by task, and what it offers is worth something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernaut.operators.admission import Arm, consult
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.code.symptoms import SYMPTOMS
from kernaut.operators.collisions import collisions
from kernaut.operators.judging import request_for
from kernaut.operators.lift_author import Goal, LiftAuthor, _affordable
from kernaut.operators.symptoms import Threshold
from tests.kernaut.operators.conftest import electorate_of, verdicts_of


@pytest.mark.parametrize("seed", range(20))
def test_the_goal_is_what_the_gate_asks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    electorate = electorate_of([[int(label) for label in row] for row in rng.random((9, 6)) < 0.5])
    count = len(electorate.candidates)
    pool = [verdicts_of(np.flatnonzero(rng.random(count) < 0.2).tolist(), count)]
    target = collisions(electorate, pool, range(count))[0]
    new = verdicts_of(np.flatnonzero(rng.random(count) < np.where(electorate.correct, 0.2, 0.6)).tolist(), count)
    request = request_for(electorate, pool, target, 1, seed=seed)
    worth = Goal(electorate, request, 0.0).worth(new.flags[None])[0]
    gate = consult("collision", electorate, pool, new, target, request.faulty)
    assert gate.admitted == (worth > 0.0)
    if gate.admitted:
        assert worth == pytest.approx(gate.accuracy_after - gate.accuracy_before)
        assert Goal(electorate, request, 2.0).worth(new.flags[None])[0] < worth


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("arm", ["target-only", "direct", "recall-gated", "narrow"])
def test_the_goal_asks_no_more_than_the_gate_of_its_arm(arm: Arm, seed: int) -> None:
    rng = np.random.default_rng(seed)
    electorate = electorate_of([[int(label) for label in row] for row in rng.random((9, 6)) < 0.5])
    count = len(electorate.candidates)
    pool = [verdicts_of(np.flatnonzero(rng.random(count) < 0.2).tolist(), count)]
    found = collisions(electorate, pool, range(count))
    target = None if arm == "direct" else found[-1]
    request = request_for(electorate, pool, target, 1, seed=seed)
    decided = set()
    for share in (0.0, 0.02, 0.3):
        flags = rng.random(count) < np.where(electorate.correct, share, 0.5)
        new = verdicts_of(np.flatnonzero(flags).tolist(), count)
        gate = consult(arm, electorate, pool, new, target, request.faulty)
        assert gate.admitted == (Goal(electorate, request, 0.0, arm=arm).worth(new.flags[None])[0] > 0.0)
        decided.add(gate.admitted)
    assert decided == {True, False} or seed  # both decisions come up


def test_what_it_offers_would_be_admitted_and_is_never_offered_again(code_domain: CodeDomain) -> None:
    train = code_domain.electorate("train")
    within = np.flatnonzero(train.visible)
    target = collisions(train, [], within.tolist())[0]
    offered = set()
    for seed in range(6):
        request = request_for(train, [], target, 1 + seed % 2, seed=seed, tried=offered)
        operator = LiftAuthor(min_helped=1).write(request, code_domain, train)
        assert operator == LiftAuthor(min_helped=1).write(request, code_domain, train)
        if operator is not None:
            assert operator.id not in offered
            offered.add(operator.id)
            verdicts = code_domain.examine(operator, train)
            assert consult("collision", train, [], verdicts, target, request.faulty, 1).admitted
    assert offered
    nothing = request_for(train, [], target, 1, seed=0)
    assert LiftAuthor(min_helped=1).write(replace(nothing, level=3), code_domain, train) is None
    assert LiftAuthor(min_helped=1).write(replace(nothing, correct=()), code_domain, train) is None


def test_two_symptoms_that_run_all_peers_do_not_fit_one_budget() -> None:
    by_name = {symptom.name: Threshold(symptom, "above", 0.5) for symptom in SYMPTOMS}
    assert not _affordable(by_name["dissent"], by_name["support"])
    assert _affordable(by_name["dissent"], by_name["raises"])
    assert _affordable(by_name["branches"], by_name["loops"])
