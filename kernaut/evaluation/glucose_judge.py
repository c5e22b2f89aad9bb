"""The process that alone reads the hidden adult outcomes of the simulator-backed glucose benchmark: takes forecasts, answers with scores.

``python -m kernaut.evaluation.glucose_judge`` speaks JSON, one object a line: ``{"ask": "tasks"}`` is answered with every test's action, reading times and readings up to minute 45;
``{"forecasts": [...]}`` with scores, once.  Hidden readings never leave it.

This is separation, not secrecy: the simulator is public.  It is Kernaut's own test and not the external evaluator of the published results.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kernaut.digest import loads_finite
from kernaut.episodes.glucose import FOLDS, PREFIX
from kernaut.episodes.glucose_file import GlucoseEpisode, glucose_episode, read_glucose_file
from kernaut.errors import InputError
from kernaut.plugins import bundled
from kernaut.scoring.nmse import geometric_over_families, normalizer
from kernaut.scoring.predictive import predictive_scores

NAME = "kernaut glucose sealed test (simulated adults; not the external evaluator)"
LARGEST_MESSAGE = 16_000_000


class Judge:
    """The hidden outcomes and what may be asked of them.

    Args:
        outcomes: file of the hidden episodes.
        training: exchange file with the adults' exported episodes, whose variances normalize errors.
    """

    def __init__(self, outcomes: Path, training: Path) -> None:
        record = loads_finite(outcomes.read_bytes(), str(outcomes))
        self._hidden: dict[str, list[GlucoseEpisode]] = {
            patient: [glucose_episode(e, f"{patient}.episodes[{i}]") for i, e in enumerate(entry["episodes"])]
            for patient, entry in record.items()
        }
        self._known = read_glucose_file(training, episodes=FOLDS)
        self._answered = False

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Tasks, or scores.

        Raises:
            InputError: for anything else, forecasts of the wrong shape, or a second set of them.
        """
        if request.get("ask") == "tasks":
            return {
                "name": NAME,
                "tasks": [self._task(p, i) for p, found in self._hidden.items() for i in range(len(found))],
            }
        if "forecasts" not in request:
            raise InputError(f"Expected a request for tasks, or forecasts. Got {sorted(request)}.")
        if self._answered:
            raise InputError("Expected one set of forecasts. Got a second one.")
        scores = self._scores(request["forecasts"])
        self._answered = True
        return scores

    def _task(self, patient: str, index: int) -> dict[str, Any]:
        """What a forecaster may know of one hidden episode."""
        episode = self._hidden[patient][index]
        early = episode.times <= PREFIX
        return {
            "patient": patient,
            "index": index,
            "meal": list(episode.meal),
            "bolus": list(episode.bolus),
            "times": episode.times.tolist(),
            "prefix": episode.cgm[early].tolist(),
        }

    def _scores(self, forecasts: Any) -> dict[str, Any]:
        given = {}
        for entry in forecasts:
            given[entry["patient"], entry["index"]] = (np.array(entry["mean"], float), np.array(entry["sd"], float))
        rows: dict[str, list[dict[str, float]]] = {}
        for patient, found in self._hidden.items():
            known = self._known.patient(patient)
            scale = float(np.concatenate([episode.cgm for episode in known.episodes[:FOLDS]]).std())
            for index, episode in enumerate(found):
                target = episode.cgm[episode.times > PREFIX]
                mean, sd = given.get((patient, index), (np.empty(0), np.empty(0)))
                if (
                    mean.shape != target.shape
                    or sd.shape != target.shape
                    or not (sd > 0).all()
                    or not np.isfinite(mean).all()
                ):
                    raise InputError(
                        f"Expected {len(target)} finite means and positive deviations for {patient}, {index}. Got others."
                    )
                scores = predictive_scores(mean[None] / scale, sd[None] / scale, target[None] / scale)
                row = {name: float(values[0]) for name, values in scores.items()}
                row["nmse"] = (row["rmse"] * scale) ** 2 / normalizer(known.passive_variance)
                rows.setdefault(patient, []).append(row)
        every = [row for found_rows in rows.values() for row in found_rows]
        return {
            "name": NAME,
            "episodes": len(every),
            "nmse": geometric_over_families({patient: [row["nmse"] for row in r] for patient, r in rows.items()}),
            **{f"mean_{name}": _mean(every, name) for name in ("crps", "nlpd", "rmse")},
            "coverage95": _mean(every, "coverage95"),
            "patients": {patient: {"nmse": _mean(r, "nmse"), "crps": _mean(r, "crps")} for patient, r in rows.items()},
        }


def serve(judge: Judge, read: TextIO, write: TextIO) -> None:
    """Answer requests until the input ends; an error is an answer too."""
    while line := read.readline(LARGEST_MESSAGE):
        try:
            request = loads_finite(line, "the request")
            answer = judge.answer(request if isinstance(request, Mapping) else {})
        except (InputError, KeyError, TypeError, ValueError) as error:
            answer = {"error": str(error)}
        write.write(json.dumps(answer) + "\n")
        write.flush()


def _mean(rows: list[dict[str, float]], name: str) -> float:
    return math.fsum(row[name] for row in rows) / len(rows)


def main() -> None:
    """Serve standard input and output."""
    folder = bundled("data", "glucose")
    serve(Judge(folder / "adult_outcomes.json", folder / "training.json"), sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
