"""Episodes as the service keeps them."""

from __future__ import annotations

import numpy as np

from kernaut.sealed.runs import Episode


def episode(answers: list[float | None]) -> Episode:
    made = Episode("v41-x-0001", 0, 10, 5.0)
    for place, answer in enumerate(answers):
        made.outputs.append(np.array([float(place)]))
        made.answers.append(answer)
    return made


def test_an_answer_is_raw_j_and_its_difference_and_nothing_else() -> None:
    made = episode([-2.0, None, -0.5])
    assert made.result(0).to_json() == {
        "returns": -2.0,
        "steps_used": 1,
        "diagnostics": {"J": -2.0, "difference": None},
    }
    assert made.result(1).to_json() == {
        "returns": None,
        "steps_used": 2,
        "diagnostics": {"J": None, "difference": None},
    }
    assert made.result(2).to_json() == {"returns": -0.5, "steps_used": 3, "diagnostics": {"J": -0.5, "difference": 1.5}}


def test_queries_within_a_billionth_are_the_same() -> None:
    made = episode([-2.0, -1.0])
    assert made.same_as(np.array([1.0 + 0.9e-9])) == 1
    assert made.same_as(np.array([1.0 + 1.1e-9])) is None
    assert made.same_as(np.array([1.0, 1.0])) is None


def test_the_final_value_is_that_of_the_final_query() -> None:
    made = episode([-2.0, -1.0, -3.0])
    assert made.final_value() is None
    made.outcome, made.final = "returned", 2
    assert made.final_value() == -3.0
    made.outcome = "crash"
    assert made.final_value() is None
