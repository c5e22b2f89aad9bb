"""Fitted kernels as candidates: fits against a direct twin, labels, refits in the sandbox, and what operators cannot see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.references import subjects_of
from kernaut.evaluation.scoring import score_predictive
from kernaut.fitting.grid import GRID
from kernaut.operators.kernels.domain import KernelDomain
from kernaut.operators.kernels.fits import EpisodeFits, crps_of, fit_subjects
from kernaut.operators.kernels.symptoms import HAND_WRITTEN, SYMPTOMS
from kernaut.operators.records import ABSTAIN, Operator
from kernaut.operators.trusted import Bench

SUBJECTS = subjects_of(
    {"rbf": [{"lengthscale": 0.25}, {"lengthscale": 1.0}], "matern52": [{"lengthscale": 0.5}], "linear": [{}]}
)
HEAD = "def op(task, candidate, ctx):\n"


@pytest.fixture(scope="module")
def fits() -> list[EpisodeFits]:
    return fit_subjects(SUBJECTS, benchmark_named("bbo").episodes("train", 1)[:3])


@pytest.fixture(scope="module")
def domain(fits: list[EpisodeFits]) -> Iterator[KernelDomain]:
    yield KernelDomain({"train": fits}, 2)


def test_scores_are_those_of_the_evaluation(fits: list[EpisodeFits]) -> None:
    episodes = [record.episode for record in fits]
    for number, subject in enumerate(SUBJECTS):
        outcomes = score_predictive(subject.kernel(), episodes)
        for outcome, record in zip(outcomes, fits, strict=True):
            assert outcome.scores is not None
            assert crps_of(record)[number] == pytest.approx(outcome.scores["crps"], rel=1e-9)


def test_leave_one_out_and_likelihood_agree_with_direct_twins(fits: list[EpisodeFits]) -> None:
    record, kernel = fits[0], 2
    n = len(record.episode.fit_targets)
    amplitude, noise = record.amplitude[kernel], record.noise[kernel]
    gram = record.gram[kernel][:n, :n]
    y = record.episode.fit_targets
    for place in (0, n - 1):
        rest = [i for i in range(n) if i != place]
        inner = np.linalg.inv(amplitude * gram[np.ix_(rest, rest)] + noise * np.eye(n - 1))
        cross = amplitude * gram[place, rest]
        assert record.loo_mean[kernel, place] == pytest.approx(cross @ inner @ y[rest], rel=1e-6)
        variance = amplitude * gram[place, place] + noise - cross @ inner @ cross
        assert record.loo_sd[kernel, place] == pytest.approx(np.sqrt(variance), rel=1e-6)
    for place, (a, s) in enumerate(GRID):
        direct = multivariate_normal(np.zeros(n), a * gram + s * np.eye(n)).logpdf(y)
        assert record.log_likelihood[kernel, place] == pytest.approx(direct, rel=1e-6)


def test_labels_compare_with_the_reference(domain: KernelDomain, fits: list[EpisodeFits]) -> None:
    electorate = domain.electorate("train")
    for record, members in zip(fits, electorate.members, strict=True):
        scores = crps_of(record)
        assert [electorate.candidates[p].correct for p in members] == (scores <= scores[2] + 1e-12).tolist()
        assert electorate.candidates[members[2]].correct
    kinds = {candidate.kind for candidate in electorate.candidates}
    assert kinds <= {"", "over-confident", "inaccurate", "other"}


def test_query_targets_are_nowhere_in_what_operators_see(domain: KernelDomain, fits: list[EpisodeFits]) -> None:
    electorate = domain.electorate("train")
    seen = str([task.content for task in electorate.tasks]) + str([c.content for c in electorate.candidates])
    assert not any(repr(float(value)) in seen for record in fits for value in record.episode.query_targets)


def test_refits_in_the_sandbox_agree_with_the_fit(domain: KernelDomain) -> None:
    """Kept whole, a refit gives the predictions that the operator already sees; on fewer points it does not."""
    source = (
        HEAD
        + """    n, q = len(task["targets"]), len(task["query_inputs"])
    refit = ctx.predict(candidate, range(n), range(n, n + q))
    gap = max(abs(mean - m) + abs(sd - s) for (mean, sd), m, s in zip(refit, candidate["mean"], candidate["sd"]))
    fewer = ctx.predict(candidate, range(n - 2), range(n, n + q))
    other = ctx.predict(candidate, range(n), range(n, n + q), [-y for y in task["targets"]])
    moved = max(abs(mean - m) for (mean, sd), m in zip(fewer, candidate["mean"]))
    turned = max(abs(mean + m) for (mean, sd), m in zip(other, candidate["mean"]))
    return "pass" if gap < 1e-5 and moved > 1e-6 and turned < 1e-5 else "flag"
"""
    )
    verdicts = domain.examine(Operator(source, 2, "refits"), domain.electorate("train"))
    assert verdicts.reasons == {}
    assert not verdicts.flags.any()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "    for _ in range(60):\n        ctx.predict(candidate, range(8), range(12))\n    return 'flag'\n",
            "600 observations",
        ),
        ("    while True:\n        pass\n", "steps"),
        ("    return task['query_targets']\n", "KeyError"),
        ("    return 0.5\n", "got float"),
    ],
)
def test_what_misbehaves_abstains(domain: KernelDomain, body: str, reason: str) -> None:
    verdicts = domain.examine(Operator(HEAD + body, 2, "misbehaves"), domain.electorate("train"))
    assert (verdicts.codes == ABSTAIN).all()
    assert all(reason in said for said in verdicts.reasons.values())


def test_symptoms_are_measured_and_hand_written_operators_answer(domain: KernelDomain) -> None:
    electorate = domain.electorate("train")
    table = domain.measure(electorate)
    assert table.shape == (12, len(SYMPTOMS))
    assert np.isfinite(table).all()
    for operator in HAND_WRITTEN:
        assert domain.examine(operator, electorate).reasons == {}
        assert domain.screen(operator, electorate, domain.examine(operator, electorate)) == ()


@pytest.mark.parametrize(
    ("level", "condition"),
    [
        (1, "candidate['place'] == 1"),
        (1, "candidate['place'] % 2 and task['targets'][0] > -9"),
        (1, "candidate['loo_mean'][0] > candidate['loo_mean'][-1]"),
        (1, "task['targets'][0] < task['targets'][-1]"),
        (2, "ctx.peers[0]['noise'] == candidate['noise'] and candidate['place'] < 1"),
        (2, "ctx.predict(candidate, range(6), [6])[0][0] > 0 and candidate['place'] in (0, 2)"),
    ],
)
def test_deciding_by_places_is_screened(domain: KernelDomain, level: int, condition: str) -> None:
    head = HEAD if level == 2 else HEAD.replace(", ctx", "")
    operator = Operator(f"{head}    return 'flag' if {condition} else 'pass'\n", level, "cheats")
    electorate = domain.electorate("train")
    verdicts = domain.examine(operator, electorate)
    assert verdicts.flags.any()
    (found,) = domain.screen(operator, electorate, verdicts)
    assert found.startswith("order screen")


def test_turned_kernels_and_points_are_the_same_fits(domain: KernelDomain) -> None:
    """Predictions from the points that stand last are, turned, those from the first ones: values and grams move together."""
    source = (
        HEAD
        + """    n, q = len(task["targets"]), len(task["query_inputs"])
    refit = ctx.predict(candidate, range(n), range(n, n + q))
    gap = max(abs(mean - m) + abs(sd - s) for (mean, sd), m, s in zip(refit, candidate["mean"], candidate["sd"]))
    others = sum(peer["noise"] != candidate["noise"] for peer in ctx.peers)
    return "flag" if gap < 1e-5 and others < 4 else "pass"
"""
    )
    operator, electorate = Operator(source, 2, "refits"), domain.electorate("train")
    verdicts = domain.examine(operator, electorate)
    assert verdicts.flags.sum() == electorate.visible.sum()
    assert domain.screen(operator, electorate, verdicts) == ()


def test_verdicts_are_kept_in_a_folder(
    fits: list[EpisodeFits], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = HAND_WRITTEN[-1]
    first = KernelDomain({"train": fits}, 2, cache=tmp_path)
    found = first.examine(operator, first.electorate("train"))
    monkeypatch.setattr(Bench, "ask", None)  # nothing is asked again
    again = KernelDomain({"train": fits}, 2, cache=tmp_path)
    assert again.examine(operator, again.electorate("train")).to_json() == found.to_json()
    other = KernelDomain({"train": fits[:2]}, 2, cache=tmp_path)
    with pytest.raises(TypeError):
        other.examine(operator, other.electorate("train"))
