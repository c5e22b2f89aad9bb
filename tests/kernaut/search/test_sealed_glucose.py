"""The sealed adult test: what a forecaster sees, what the judge's process answers, and looks that are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.archive.store import Archive
from kernaut.episodes.episode import Episode
from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.errors import FitError, InputError
from kernaut.evaluation.glucose_judge import Judge
from kernaut.evaluation.subject import program_subject, reference_subject
from kernaut.fitting.grid import GRID
from kernaut.kernels.library import base_kernel
from kernaut.plugins import bundled
from kernaut.program.program import load_candidate
from kernaut.search import sealed_glucose
from kernaut.search.glucose_references import persistence
from kernaut.search.sealed_glucose import hidden_episode, judged, kernel_forecaster, sealed_glucose_test

FOLDER = bundled("data", "glucose")
NODE = {"kind": "matern52", "lengthscale": 0.6}


def first_task() -> dict[str, Any]:
    judge = Judge(FOLDER / "adult_outcomes.json", FOLDER / "training.json")
    task: dict[str, Any] = judge.answer({"ask": "tasks"})["tasks"][13]
    return task


def test_a_hidden_episode_holds_exported_readings_and_the_prefix_and_nothing_else() -> None:
    task, known = first_task(), GlucoseForecasts()
    episode = hidden_episode(known, task)
    patient = known.file.patient(task["patient"])
    readings = np.concatenate([found.cgm for found in patient.episodes])
    assert (episode.target_mean, episode.target_scale) == (
        pytest.approx(readings.mean()),
        pytest.approx(readings.std()),
    )
    np.testing.assert_allclose(episode.fit_targets * episode.target_scale + episode.target_mean, readings)
    np.testing.assert_allclose(episode.context[1] * episode.target_scale + episode.target_mean, task["prefix"])
    assert not episode.query_targets.any()
    np.testing.assert_allclose(episode.query_inputs[:, 0] * 360, [t for t in task["times"] if t > 45])
    np.testing.assert_allclose(episode.query_inputs[0, 1:3], [task["meal"][0] / 60, task["meal"][1] / 360])


def test_a_kernels_forecast_is_the_posterior_written_out() -> None:
    episode = hidden_episode(GlucoseForecasts(), first_task())
    kernel = base_kernel(NODE)
    mean, sd = kernel_forecaster(kernel)(episode)

    def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        r = np.sqrt(5.0) * np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)) / 0.6
        return np.asarray((1 + r + r**2 / 3) * np.exp(-r))

    fitted = covariance(episode.fit_inputs, episode.fit_inputs)
    likelihoods = []
    for amplitude, noise in GRID:
        matrix = amplitude * fitted + noise * np.eye(len(fitted))
        _, logdet = np.linalg.slogdet(matrix)
        likelihoods.append(-0.5 * (episode.fit_targets @ np.linalg.solve(matrix, episode.fit_targets) + logdet))
    amplitude, noise = GRID[int(np.argmax(likelihoods))]
    known = np.concatenate([episode.fit_inputs, episode.context[0]])
    targets = np.concatenate([episode.fit_targets, episode.context[1]])
    cross = amplitude * covariance(episode.query_inputs, known)
    matrix = amplitude * covariance(known, known) + noise * np.eye(len(known))
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(matrix, targets), atol=1e-7)
    variance = amplitude + noise - np.einsum("ij,ji->i", cross, np.linalg.solve(matrix, cross.T))
    np.testing.assert_allclose(sd, np.sqrt(variance), rtol=1e-6)


def test_the_judges_process_scores_every_forecast() -> None:
    seen: list[Episode] = []
    counted: list[tuple[int, int]] = []

    def predict(episode: Episode) -> tuple[np.ndarray, np.ndarray]:
        seen.append(episode)
        return persistence(episode)

    scores = judged(predict, lambda done, total: counted.append((done, total)))
    assert len(seen) == scores["episodes"] == 120
    assert counted[0] == (1, 120)
    assert counted[-1] == (120, 120)
    assert {episode.family for episode in seen} == set(scores["patients"])
    assert "not the external evaluator" in scores["name"]
    assert 0.0 < scores["mean_crps"] < 2.0
    hidden = json.loads((FOLDER / "adult_outcomes.json").read_text())
    truths = [np.array(e["cgm_mg_dl"]) for p in hidden.values() for e in p["episodes"]]
    errors = [np.sqrt(np.mean((truth[10:] - truth[9]) ** 2)) for truth in truths]  # minute 45 is the tenth reading
    relative = [error / episode.target_scale for error, episode in zip(errors, seen, strict=True)]
    assert scores["mean_rmse"] == pytest.approx(np.mean(relative), rel=1e-6)


def test_a_refusal_or_a_lost_judge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"Expected an answer of the glucose judge\. Got: Expected 63 finite"):
        judged(lambda episode: (np.zeros(3), np.ones(3)))
    monkeypatch.setattr(sealed_glucose.sys, "executable", "/bin/true")
    with pytest.raises(InputError, match="it ended without an answer"):
        judged(persistence)


def test_the_look_is_counted_before_anything_is_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(predict: Any, done: Any) -> dict[str, Any]:
        raise FitError("no")

    monkeypatch.setattr(sealed_glucose, "judged", fails)
    program = load_candidate(bundled("examples", "candidates", "dual_warp_fold.json"))
    with Archive.create(tmp_path / "a.sqlite") as archive:
        with pytest.raises(FitError):
            sealed_glucose_test(program_subject(program), archive=archive)
        assert archive.looks("glucose")["test"] == 1
        monkeypatch.setattr(sealed_glucose, "judged", lambda predict, done: {"nmse": 0.5})
        found = sealed_glucose_test(reference_subject(NODE, "matern"), archive=archive)
        assert (found["candidate"], found["nmse"]) == ("matern", 0.5)
        assert archive.looks("glucose")["test"] == 2
