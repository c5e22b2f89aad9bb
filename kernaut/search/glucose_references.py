"""References of the glucose benchmark: relative-time ARD, a physiological library, per-patient marginal-likelihood fits, and persistence.

The first two are programs, tuned on meta-training patients and frozen.  The last two are forecasters: they see an episode's fitting and context readings and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kernaut.authors.genome import Genome
from kernaut.authors.vocabulary import GLUCOSE
from kernaut.digest import thaw
from kernaut.episodes.episode import Episode
from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.errors import KernautError
from kernaut.evaluation.baselines import tune_baseline
from kernaut.evaluation.forecast import forecast
from kernaut.evaluation.normalized import normalized
from kernaut.evaluation.outcome import Outcome, failure
from kernaut.fitting.prefixes import Group
from kernaut.kernels.library import base_kernel
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.scoring.predictive import predictive_scores
from kernaut.search.reference_programs import BASE, Recipe, best_of, tuned

Array = NDArray[np.float64]
Predict = Callable[[Episode], tuple[Array, Array]]

THIN = 3
"""Marginal likelihoods are maximized on every third reading."""
SMALLEST_DEVIATION = 0.02

_RELATIVE = '''import torch


def transform_point(x, parameters):
    """Minutes, minutes since the meal and since the bolus, and both amounts, each in its own lengthscale."""
    u = torch.cat((x, 0.5 * torch.ones(5, dtype=x.dtype)))[:5]
    times = torch.stack((parameters["now"] * u[0], parameters["fed"] * (u[0] - u[2]), parameters["dosed"] * (u[0] - u[4])))
    return torch.cat((times, torch.stack((parameters["meal"] * u[1], parameters["bolus"] * u[3]))))
'''
_SCALES = ("now", "fed", "dosed", "meal", "bolus")
PHYSIOLOGICAL = "reference-physiological-library"
LIBRARY = (
    ("meal_rise", "bolus_fall", "drift", "broad_matern"),
    ("meal_pulse", "bolus_pulse", "drift", "broad_matern"),
    ("meal_rise", "meal_pulse", "bolus_fall", "drift", "rough_matern"),
)
"""Blocks of the physiological library's kernels: absorption and action, cumulative, transient and both."""


def glucose_recipes(groups: Sequence[Group], steps: int) -> list[Recipe]:
    """Relative-time ARD, and the best kernel of the physiological library on meta-training; both tuned.

    Args:
        groups: stacked meta-training tuning episodes.
        steps: gradient steps.
    """
    relative = KernelProgram(
        name="reference-relative-time-ard",
        contract="input_transform",
        source=_RELATIVE,
        parameters={**dict.fromkeys(_SCALES, 1.0), "base_kernel": BASE},
        rationale="Reference: ARD Matern-5/2 on times relative to meal and bolus.",
        space=tuple(ParameterSpec(name, "float", "log", 0.02, 50.0) for name in _SCALES),
    )

    def library() -> KernelProgram:
        return best_of([tuned(physiological(blocks), groups, steps) for blocks in LIBRARY], groups)

    return [Recipe(relative.name, partial(tuned, relative, groups, steps)), Recipe(PHYSIOLOGICAL, library)]


def physiological(blocks: tuple[str, ...]) -> KernelProgram:
    """A kernel of the physiological library before tuning."""
    genome = Genome("closure", tuple(name for name in GLUCOSE.blocks if name in blocks))
    return KernelProgram(
        name=PHYSIOLOGICAL,
        contract="closure",
        source=genome.source(),
        parameters=genome.parameters(),
        rationale=f"Reference: {genome.formula()}.",
        space=tuple(spec for spec, _ in genome.space()),
    )


def persistence(episode: Episode) -> tuple[Array, Array]:
    """The last reading before the queries goes on; its spread is that of the fitting episodes' changes over the same time.

    Args:
        episode: a fold of the glucose benchmark, or a hidden episode.

    Returns:
        Means and standard deviations, ``q`` each, standardized.
    """
    inputs, readings = episode.context
    last, since = readings[-1], inputs[-1, 0]
    starts = np.nonzero(episode.fit_inputs[:, 0] == episode.fit_inputs[:, 0].min())[0]
    parts = zip(np.split(episode.fit_inputs[:, 0], starts[1:]), np.split(episode.fit_targets, starts[1:]), strict=True)
    moved = []
    for minutes, values in parts:
        base = np.interp(since, minutes, values)
        moved.append(np.interp(episode.query_inputs[:, 0], minutes, values) - base)
    spread = np.sqrt(np.mean(np.square(moved), axis=0))
    return np.full(len(episode.query_inputs), last), np.maximum(spread, SMALLEST_DEVIATION)


def per_patient(episode: Episode) -> tuple[Array, Array]:
    """A Matern-5/2 kernel whose lengthscale maximizes the marginal likelihood of the patient's own fitting readings.

    Raises:
        FitError: when no likelihood is finite.
    """
    fitted = tune_baseline("matern52", episode.fit_inputs[::THIN], episode.fit_targets[::THIN], starts=1)
    found = forecast(base_kernel(thaw(fitted.node)), episode)
    return found.mean, found.sd


FORECASTERS: dict[str, Predict] = {"persistence": persistence, "per-patient-marginal-likelihood": per_patient}


def forecaster_outcomes(predict: Predict, split: str, per_family: int, data: str | None = None) -> list[Outcome]:
    """Score a forecaster on the benchmark's folds, an outcome for each."""
    outcomes = []
    for episode in GlucoseForecasts(data).episodes(split, per_family):
        try:
            mean, sd = predict(episode)
        except KernautError as error:
            outcomes.append(failure(episode.name, episode.family, error))
            continue
        scores = predictive_scores(mean[None], sd[None], episode.query_targets[None])
        row = {name: float(values[0]) for name, values in scores.items()}
        outcomes.append(Outcome(episode.name, episode.family, "scored", row | normalized(episode, row["rmse"]), {}))
    return outcomes
