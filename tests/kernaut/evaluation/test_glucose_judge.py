from __future__ import annotations

import io
import json
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.evaluation.glucose_judge import Judge, serve
from kernaut.plugins import bundled

FOLDER = bundled("data", "glucose")


def judge() -> Judge:
    return Judge(FOLDER / "adult_outcomes.json", FOLDER / "training.json")


def flat(tasks: list[dict[str, Any]], level: float = 140.0) -> list[dict[str, Any]]:
    made = []
    for task in tasks:
        count = len([t for t in task["times"] if t > 45])
        made.append({"patient": task["patient"], "index": task["index"], "mean": [level] * count, "sd": [30.0] * count})
    return made


def test_tasks_show_readings_up_to_minute_45_only() -> None:
    tasks = judge().answer({"ask": "tasks"})["tasks"]
    assert len(tasks) == 120
    hidden = json.loads((FOLDER / "adult_outcomes.json").read_text())
    for task in tasks:
        truth = hidden[task["patient"]]["episodes"][task["index"]]["cgm_mg_dl"]
        assert task["prefix"] == truth[:10]
        assert set(task) == {"patient", "index", "meal", "bolus", "times", "prefix"}


def test_scores_only_and_once() -> None:
    made = judge()
    tasks = made.answer({"ask": "tasks"})["tasks"]
    scores = made.answer({"forecasts": flat(tasks)})
    assert "not the external evaluator" in scores["name"]
    assert scores["episodes"] == 120
    assert {"nmse", "mean_crps", "mean_nlpd", "mean_rmse", "coverage95", "patients"} <= set(scores)
    text = json.dumps(scores)
    assert "cgm" not in text
    with pytest.raises(InputError, match="Expected one set of forecasts"):
        made.answer({"forecasts": flat(tasks)})


def test_better_forecasts_score_better() -> None:
    tasks = judge().answer({"ask": "tasks"})["tasks"]
    last = flat(tasks)
    for entry, task in zip(last, tasks, strict=True):
        entry["mean"] = [task["prefix"][-1]] * len(entry["mean"])
    bad = judge().answer({"forecasts": flat(tasks, 400.0)})
    good = judge().answer({"forecasts": last})
    assert good["nmse"] < bad["nmse"]
    assert good["mean_crps"] < bad["mean_crps"]


@pytest.mark.parametrize(
    "change", [lambda f: f.pop(), lambda f: f[0]["mean"].pop(), lambda f: f[0]["sd"].__setitem__(0, 0.0)]
)
def test_incomplete_forecasts_are_refused(change: Any) -> None:
    made = judge()
    forecasts = flat(made.answer({"ask": "tasks"})["tasks"])
    change(forecasts)
    with pytest.raises(InputError, match="Expected 63 finite means and positive deviations"):
        made.answer({"forecasts": forecasts})


def test_errors_are_answers() -> None:
    written = io.StringIO()
    serve(judge(), io.StringIO('not json\n{"ask": "outcomes"}\n[]\n'), written)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert all(set(line) == {"error"} for line in lines)
    assert "Expected a request for tasks, or forecasts" in lines[1]["error"]
