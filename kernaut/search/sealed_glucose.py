"""Forecasts for the hidden adult test of the simulator-backed glucose benchmark, scored by a process of its own.

This side sees adults' exported training episodes, the hidden episodes' actions and their readings up to minute 45; it receives scores only.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.archive.store import Archive
from kernaut.episodes.episode import Episode, standardization
from kernaut.episodes.glucose import FOLDS, PREFIX, SCALE_FLOOR, GlucoseForecasts
from kernaut.episodes.glucose_file import GlucoseEpisode
from kernaut.errors import InputError
from kernaut.evaluation.forecast import forecast
from kernaut.evaluation.subject import Subject
from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.program.program import KernelProgram

Array = NDArray[np.float64]
Forecaster = Callable[[Episode], tuple[Array, Array]]
"""An episode with unknown (zero) query targets to means and deviations of its queries, on the standardized scale."""


def sealed_glucose_test(
    subject: Subject,
    *,
    archive: Archive | None = None,
    programs: Mapping[str, KernelProgram] | None = None,
    done: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Test one kernel on the hidden adult interventions.

    Args:
        subject: the kernel.
        archive: where the look at test is counted.
        programs: accepted programs by identifier, for closures that refer to them.
        done: called with the number of forecasts made so far, and how many there are.

    Returns:
        The judge's scores beside the subject's identifier and name.

    Raises:
        InputError: when the judge refuses or does not answer.
        KernautError: when the kernel cannot be assembled or fitted.
    """
    if archive is not None:
        archive.record_look("glucose", "test", "sealed test", {"candidate": subject.candidate_id})
    kernel = subject.kernel(resolve=(programs or {}).__getitem__)
    try:
        scores = judged(kernel_forecaster(kernel), done)
    finally:
        kernel.close()
    return {"candidate_id": subject.candidate_id, "candidate": subject.name, **scores}


def kernel_forecaster(kernel: EmbeddedKernel) -> Forecaster:
    """Forecasts of a frozen kernel by the protocol's rule."""

    def predict(episode: Episode) -> tuple[Array, Array]:
        found = forecast(kernel, episode)
        return found.mean, found.sd

    return predict


def judged(predict: Forecaster, done: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Run the judge, forecast every task and return its scores.

    Args:
        predict: who forecasts.
        done: called with the number of forecasts made so far, and how many there are.

    Raises:
        InputError: when the judge refuses or does not answer.
    """
    known = GlucoseForecasts()
    command = [sys.executable, "-m", "kernaut.evaluation.glucose_judge"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as judge:
        tasks = _ask(judge, {"ask": "tasks"})["tasks"]
        forecasts = []
        for count, task in enumerate(tasks, start=1):
            episode = hidden_episode(known, task)
            mean, sd = predict(episode)
            forecasts.append(
                {
                    "patient": task["patient"],
                    "index": task["index"],
                    "mean": (mean * episode.target_scale + episode.target_mean).tolist(),
                    "sd": (sd * episode.target_scale).tolist(),
                }
            )
            if done is not None:
                done(count, len(tasks))
        return _ask(judge, {"forecasts": forecasts})


def hidden_episode(known: GlucoseForecasts, task: Mapping[str, Any]) -> Episode:
    """A hidden episode as a forecaster sees it: all exported episodes fitted, the prefix as context, query targets unknown (zeros)."""
    patient = known.file.patient(task["patient"])
    training = patient.episodes[:FOLDS]
    fitting = np.concatenate([episode.cgm for episode in training])
    mean, scale = standardization(fitting, SCALE_FLOOR)
    times = np.array(task["times"], dtype=np.float64)
    early = times <= PREFIX
    meal, bolus = task["meal"], task["bolus"]
    held = GlucoseEpisode(times, np.zeros(len(times)), (meal[0], meal[1]), (bolus[0], bolus[1]))
    inputs = held.inputs()
    return Episode(
        name=f"{task['patient']}:hidden-{task['index']}",
        benchmark="glucose",
        split="test",
        family=task["patient"],
        seed=0,
        fit_inputs=np.concatenate([episode.inputs() for episode in training]),
        fit_targets=(fitting - mean) / scale,
        query_inputs=inputs[~early],
        query_targets=np.zeros(int((~early).sum())),
        target_mean=mean,
        target_scale=scale,
        context_inputs=inputs[early],
        context_targets=(np.array(task["prefix"]) - mean) / scale,
    )


def _ask(judge: subprocess.Popen[str], request: Mapping[str, Any]) -> dict[str, Any]:
    assert judge.stdin is not None
    assert judge.stdout is not None
    try:
        judge.stdin.write(json.dumps(request) + "\n")
        judge.stdin.flush()
        line = judge.stdout.readline()
    except BrokenPipeError:
        line = ""
        with suppress(BrokenPipeError):
            judge.stdin.close()  # or leaving the process's block would raise it again
    answer: dict[str, Any] = json.loads(line) if line else {"error": "it ended without an answer"}
    if "error" in answer:
        raise InputError(f"Expected an answer of the glucose judge. Got: {answer['error']}")
    return answer
