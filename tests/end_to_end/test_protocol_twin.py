"""Scores of the four benchmarks against the slow twin, kernel by kernel and episode by episode."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.episodes.rate_laws import EmbeddedOracle
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate
from kernaut.evaluation.subject import Subject, program_subject, reference_subject
from kernaut.plugins import bundled
from kernaut.program.program import KernelProgram
from tests.end_to_end import protocol_twin as twin

SUM = """
def closure_tree(parameters):
    return {
        "op": "sum",
        "children": [
            {"op": "base", "kind": "linear"},
            {"op": "base", "kind": "rbf", "lengthscale": parameters["lengthscale"]},
        ],
    }
"""
KERNELS: dict[str, tuple[Subject, twin.Kernel]] = {
    "rbf": (reference_subject({"kind": "rbf", "lengthscale": 0.35}, "rbf"), twin.rbf(0.35)),
    "matern12": (reference_subject({"kind": "matern12", "lengthscale": 1.5}, "matern12"), twin.matern12(1.5)),
    "matern32": (reference_subject({"kind": "matern32", "lengthscale": 0.7}, "matern32"), twin.matern32(0.7)),
    "matern52": (reference_subject({"kind": "matern52", "lengthscale": 0.22}, "matern52"), twin.matern52(0.22)),
    "rq": (
        reference_subject({"kind": "rq", "lengthscale": 0.4, "alpha": 0.7}, "rq"),
        twin.rational_quadratic(0.4, 0.7),
    ),
    "periodic": (
        reference_subject({"kind": "periodic", "lengthscale": 0.8, "period": 1.3}, "periodic"),
        twin.periodic(0.8, 1.3),
    ),
    "linear+rbf": (
        program_subject(KernelProgram("linear_rbf", "closure", SUM, {"lengthscale": 0.6})),
        twin.total(twin.linear, twin.rbf(0.6)),
    ),
}
CHEMBENCH = os.environ.get("KERNAUT_CHEMBENCH_ROOT")


def assert_equal(found: Evaluation, expected: Iterable[Mapping[str, float]]) -> None:
    for outcome, scores in zip(found.predictive, expected, strict=True):
        assert outcome.scores is not None, outcome
        for name, value in scores.items():
            assert outcome.scores[name] == pytest.approx(value, abs=1e-7, rel=1e-7), (outcome.episode, name)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("split", ["validation", "test"])
def test_black_box_optimization(kernel: str, split: str) -> None:
    subject, function = KERNELS[kernel]
    found = evaluate(subject, Setting("bbo", split, 1))
    expected = twin.bbo_scores(function, split, 1)
    assert [outcome.episode for outcome in found.predictive] == list(expected)
    assert_equal(found, expected.values())


@pytest.mark.parametrize("kernel", ["matern52", "linear+rbf"])
def test_rollouts(kernel: str) -> None:
    subject, function = KERNELS[kernel]
    found = evaluate(subject, Setting("bbo", "test", 1, predictive=False, bo_steps=2, candidates=16))
    for outcome, curve in zip(found.rollouts, twin.bbo_regret(function, "test", 1, 2, 16).values(), strict=True):
        assert outcome.curve == pytest.approx(curve, abs=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "periodic", "linear+rbf"])
def test_greenhouse(kernel: str) -> None:
    subject, function = KERNELS[kernel]
    for split in ("validation", "test"):
        found = evaluate(subject, Setting("greenhouse", split, 1))
        assert_equal(found, twin.greenhouse_scores(function, bundled("data", "greenhouse"), split, 1).values())


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "rq"])
def test_enzymes_without_noise(kernel: str) -> None:
    def oracle(domain: str, version: str, experiment: Mapping[str, float]) -> float:
        law = EmbeddedOracle(domain, difficulty="easy", noise=0.0, version=version, seed=0)
        return float(law.measure(np.array([list(experiment.values())]))[0])

    subject, function = KERNELS[kernel]
    for split, count in (("validation", 1), ("test", 3)):
        found = evaluate(subject, Setting("enzymes", split, count, {"noise_level": 0.0}))
        assert_equal(found, twin.enzyme_scores(function, oracle, split, count).values())


@pytest.mark.parametrize("kernel", ["matern52", "rq"])
def test_glucose(kernel: str) -> None:
    subject, function = KERNELS[kernel]
    found = evaluate(subject, Setting("glucose", "validation", 1))
    expected = twin.glucose_scores(
        function, Path(bundled("data", "glucose", "training.json")), "validation", 2, folds=1
    )
    assert_equal(Evaluation(subject, found.setting, found.predictive[:2], ()), expected.values())


if CHEMBENCH is not None:

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_chembench(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Runs where KERNAUT_CHEMBENCH_ROOT names a checkout of LLM-AutoSciLab."""
        assert CHEMBENCH is not None
        subject, function = KERNELS[kernel]
        found = evaluate(subject, Setting("enzymes", "test", 3, {"chembench_root": CHEMBENCH}))
        monkeypatch.setattr(sys, "path", [CHEMBENCH, *sys.path])

        def oracle(domain: str, version: str, experiment: Mapping[str, float]) -> float:
            with contextlib.redirect_stdout(io.StringIO()):
                make: Any = importlib.import_module("autoscilab.oracle.chembench").ChemBenchOracle
                law = make(domain, difficulty="easy", noise_level=0.01, law_version=version)
                return float(law.run(dict(experiment)).measurement)

        assert_equal(found, twin.enzyme_scores(function, oracle, "test", 3).values())
