"""One episode and how kernels fit it: the posterior along a line, likelihoods over the grid, scores, residuals, regret; numbers and pictures.

Everything is in standard deviations of the fitting targets, as the scores are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernaut.episodes.episode import Episode
from kernaut.errors import InputError
from kernaut.evaluation.decomposition import Decomposition, decompose
from kernaut.evaluation.evaluate import Setting
from kernaut.evaluation.forecast import Forecast, forecast
from kernaut.evaluation.outcome import Outcome
from kernaut.evaluation.scoring import score_rollouts
from kernaut.fitting.grid import AMPLITUDES, NOISES, fit_grid
from kernaut.kernels.kernel import KernautKernel
from kernaut.report.drawing import Drawing, Panel, drawing
from kernaut.report.kernel_view import covariance
from kernaut.report.marks import SHAPES, Z95
from kernaut.report.page import Table, table
from kernaut.scoring.predictive import predictive_scores

Array = NDArray[np.float64]
LINE = 121
EPISODE_VIEWS = ("posterior", "residuals", "likelihood", "parts", "regret")
LONGEST = 600
"""Fitting points above which the likelihood grid is not calculated anew for a picture."""


@dataclass(frozen=True, eq=False)
class EpisodeFit:
    """One kernel on one episode.

    Args:
        name: the kernel's name.
        found: its forecast at the queries.
        along: its forecast along a line through a chosen point; the targets there are unknown, and zero.
        coordinate: the input that varies along the line.
        scores: CRPS, NLPD, RMSE, coverage and width on the queries.
    """

    name: str
    found: Forecast
    along: Forecast
    coordinate: int
    scores: dict[str, float]

    @property
    def place(self) -> Array:
        """``n`` values of the varying input."""
        return np.asarray(self.along.episode.query_inputs[:, self.coordinate])


def fit_episode(
    name: str, kernel: KernautKernel, episode: Episode, coordinate: int = 0, through: int = 0
) -> EpisodeFit:
    """Fit one kernel to an episode.

    Args:
        name: of the kernel.
        kernel: frozen.
        episode: the episode.
        coordinate: the input that varies along the line.
        through: index of the query point that the line goes through.

    Raises:
        InputError: for a coordinate or a point that the episode has not.
        FitError: when no grid point has a positive definite matrix.
        SandboxFailure: when the kernel's program gives no value.
    """
    found = forecast(kernel, episode)
    scores = predictive_scores(found.mean[None], found.sd[None], episode.query_targets[None])
    means = {key: float(value[0]) for key, value in scores.items()}
    return EpisodeFit(name, found, forecast(kernel, line_episode(episode, coordinate, through)), coordinate, means)


def line_episode(episode: Episode, coordinate: int, through: int) -> Episode:
    """The episode with queries along a line: one input varies over its range, the others stay as in one query point.

    Raises:
        InputError: for a coordinate or a point that the episode has not.
    """
    if not 0 <= coordinate < episode.dimension:
        raise InputError(f"Expected an input from 0 to {episode.dimension - 1}. Got {coordinate}.")
    if not 0 <= through < len(episode.query_targets):
        raise InputError(f"Expected a query point from 0 to {len(episode.query_targets) - 1}. Got {through}.")
    known = np.concatenate([episode.fit_inputs, episode.query_inputs])[:, coordinate]
    points = np.tile(episode.query_inputs[through], (LINE, 1))
    points[:, coordinate] = np.linspace(known.min(), known.max(), LINE)
    return replace(episode, query_inputs=points, query_targets=np.zeros(LINE))


def grid_likelihood(kernel: KernautKernel, episode: Episode) -> Array:
    """Log marginal likelihoods over amplitude (rows) and noise (columns), ``4 x 4``; -inf where the matrix is not positive definite.

    Raises:
        InputError: for an episode of more than 600 fitting points.
        SandboxFailure: when the kernel's program gives no value.
    """
    if len(episode.fit_targets) > LONGEST:
        raise InputError(f"Expected at most {LONGEST} fitting points for this view. Got {len(episode.fit_targets)}.")
    gram = covariance(kernel, episode.fit_inputs)
    fit = fit_grid(gram[None], episode.fit_targets[None])
    return np.asarray(fit.log_likelihood[0].reshape(len(AMPLITUDES), len(NOISES)))


def score_table(fits: Sequence[EpisodeFit]) -> Table:
    """Scores and fitted values, the smallest CRPS first; lower is better in all but coverage, whose ideal is 0.95."""
    rows = [
        (
            f.name,
            f.scores["crps"],
            f.scores["nlpd"],
            f.scores["rmse"],
            f.scores["coverage95"],
            f.found.amplitude,
            f.found.noise,
        )
        for f in sorted(fits, key=lambda f: f.scores["crps"])
    ]
    return table(("kernel", "CRPS", "NLPD", "RMSE", "coverage of 95 %", "amplitude", "noise"), rows)


def posterior_drawing(fits: Sequence[EpisodeFit]) -> Drawing:
    """Posterior mean and 95 % band of each kernel along the line, with the observations.

    In more than one dimension observations lie beside the line; they are drawn at their own value of the varying input.
    """
    first = fits[0]
    episode, coordinate = first.found.episode, first.coordinate
    panels = []
    reach = [fit.along.mean + side * Z95 * fit.along.sd for fit in fits for side in (-1, 1)]
    values = np.concatenate([*reach, episode.fit_targets, episode.query_targets])
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low)
    for place, fit in enumerate(fits):
        panel = Panel(f"input {coordinate + 1}", "standardized value", fit.name[:44], width=430, height=306)
        panel.y_range = (low - margin, high + margin)
        panel.band(fit.place, fit.along.mean - Z95 * fit.along.sd, fit.along.mean + Z95 * fit.along.sd, place)
        panel.line(fit.place, fit.along.mean, place)
        panel.points(episode.query_inputs[:, coordinate], episode.query_targets, 1, "query", hollow=True, size=2.8)
        panel.points(episode.fit_inputs[:, coordinate], episode.fit_targets, 5, "fitting")
        panels.append(panel)
    beside = "" if episode.dimension == 1 else " Observations do not lie on the line: the other inputs differ."
    words = "; ".join(f"{fit.name}: CRPS {fit.scores['crps']:.3f}" for fit in fits)
    return drawing(
        panels, f"Posterior mean and 95 % band of {episode.name} along input {coordinate + 1}. {words}.{beside}"
    )


def residual_drawing(fits: Sequence[EpisodeFit]) -> Drawing:
    """Residuals of the queries in predictive standard deviations, in the order of predictions."""
    panel = Panel("predicted mean", "residual [predictive deviations]", width=620, height=290)
    panel.rule(y=0.0)
    panel.rule(y=-Z95)
    panel.rule(y=Z95)
    outside = []
    for place, fit in enumerate(fits):
        residuals = np.clip(fit.found.residuals(), -8.0, 8.0)
        shape = tuple(SHAPES)[place % len(SHAPES)]
        panel.points(fit.found.mean, residuals, place, fit.name[:40], hollow=bool(place % 2), shape=shape)
        outside.append(f"{fit.name}: {int((np.abs(residuals) > Z95).sum())} of {len(residuals)} outside the 95 % lines")
    return drawing([panel], f"Residuals in predictive deviations. {'; '.join(outside)}.")


def likelihood_drawing(named: Sequence[tuple[str, Array]]) -> Drawing:
    """Log marginal likelihood over the grid of amplitudes and noises, a map for each kernel.

    Args:
        named: kernel names, and matrices of :func:`grid_likelihood`.
    """
    panels, words = [], []
    for name, values in named:
        finite = np.where(np.isfinite(values), values, np.nanmin(np.where(np.isfinite(values), values, np.nan)))
        panel = Panel("log10 of noise", "log10 of amplitude", name[:36], width=350, height=280)
        panel.x_range, panel.y_range = (-4.5, -0.5), (-1.25, 0.75)
        panel.map(finite[::-1], "cividis", float(finite.min()), float(finite.max()))
        row, column = np.unravel_index(int(np.argmax(values)), values.shape)
        amplitude, noise = AMPLITUDES[row], NOISES[column]
        panel.cross(float(np.log10(noise)), -1.0 + 0.5 * float(row))
        panels.append(panel)
        words.append(f"{name}: largest at amplitude {amplitude:g}, noise {noise:g}")
    return drawing(panels, f"Log marginal likelihood over the grid; the cross is the choice. {'; '.join(words)}.")


def parts_drawing(name: str, kernel: KernautKernel, episode: Episode, coordinate: int = 0, through: int = 0) -> Drawing:
    """What each summand of a kernel contributes to the posterior mean along the line.

    Raises:
        FitError: when no grid point has a positive definite matrix.
        SandboxFailure: when the kernel's program gives no value.
    """
    line = line_episode(episode, coordinate, through)
    found: Decomposition = decompose(kernel, line)
    panel = Panel(f"input {coordinate + 1}", "contribution", name[:44], width=620, height=290)
    panel.rule(y=0.0)
    place = line.query_inputs[:, coordinate]
    for number, (part, means) in enumerate(zip(found.names, found.means[:, -LINE:], strict=True)):
        panel.line(place, means, number, part)
    spans = "; ".join(
        f"{part} spans {np.ptp(means[-LINE:]):.2g}" for part, means in zip(found.names, found.means, strict=True)
    )
    return drawing([panel], f"Summands of {name} along input {coordinate + 1}: {spans}.")


def regret_outcome(kernel: KernautKernel, setting: Setting, family: str, index: int) -> Outcome:
    """One optimization task of a family.

    Raises:
        InputError: when the benchmark has no such task.
    """
    made = setting.made()
    tasks = [task for task in made.rollouts(setting.split, index + 1) if task.family == family]
    if len(tasks) <= index:
        raise InputError(f"Expected a benchmark with optimization tasks. Got {setting.benchmark}, which has none.")
    return score_rollouts(kernel, [tasks[index]])[0]


def regret_drawing(named: Sequence[tuple[str, Outcome]]) -> Drawing:
    """Normalized regret after each step of an optimization, a line for each kernel; lower is better."""
    panel = Panel("step", "regret (share of the initial gap)", width=620, height=290, y_range=(-0.03, 1.05), whole=True)
    words = []
    for place, (name, outcome) in enumerate(named):
        if outcome.scored:
            panel.line(np.arange(1, len(outcome.curve) + 1), outcome.curve, place, name[:40])
            words.append(f"{name} ends at {outcome.curve[-1]:.2f}")
        else:
            words.append(f"{name} failed: {outcome.reason}")
    return drawing([panel], f"Regret of one optimization task by step. {'; '.join(words)}.")
