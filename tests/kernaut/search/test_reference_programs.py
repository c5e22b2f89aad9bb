"""References that are programs: what they are before and after tuning."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.evaluate import Setting, evaluate
from kernaut.evaluation.outcome import mean_crps
from kernaut.evaluation.references import references_of
from kernaut.evaluation.subject import program_subject
from kernaut.fitting.objective import mean_query_crps
from kernaut.fitting.prefixes import stack_episodes
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.search.reference_programs import (
    MOST_LONG,
    best_of,
    compositional_search,
    reference_recipes,
    starting_programs,
    tuned,
    tuning_groups,
)
from kernaut.verification.verify import verify

ENZYMES = benchmark_named("enzymes")


def gram(program: KernelProgram, points: np.ndarray) -> np.ndarray:
    kernel = interpret(program)
    with torch.no_grad():
        embedding = kernel.embed(torch.from_numpy(points))
        found = kernel.cross(embedding, embedding).numpy()
    kernel.close()
    return np.asarray(found)


def matern52(points: np.ndarray) -> np.ndarray:
    r = np.sqrt(5.0) * np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    return np.asarray((1 + r + r**2 / 3) * np.exp(-r))


def named(benchmark: str) -> dict[str, KernelProgram]:
    return {program.name: program for program in starting_programs(benchmark_named(benchmark))}


def test_tuned_ard_and_input_warping_are_what_their_names_say() -> None:
    points = np.random.default_rng(1).uniform(0.05, 0.95, (6, 7))
    scales = {f"scale_{i}": 0.4 + 0.3 * i for i in range(7)}
    factors = np.array(list(scales.values()))
    ard = named("enzymes")["reference-ard-matern52"].with_parameters(scales)
    np.testing.assert_allclose(gram(ard, points), matern52(points * factors), rtol=1e-10)
    warp = named("enzymes")["reference-input-warping"].with_parameters({**scales, "a": 0.7, "b": 1.6})
    warped = 1 - (1 - points**0.7) ** 1.6
    np.testing.assert_allclose(gram(warp, points), matern52(warped * factors), rtol=1e-10)


def test_a_mixture_on_a_grid_has_the_grids_frequencies() -> None:
    program = named("greenhouse")["reference-grid-spectral-mixture"]
    alone = dict.fromkeys((spec.name for spec in program.space if spec.name.startswith("weight")), 1e-4)
    program = program.with_parameters({**alone, "weight_3": 1.0, "scale": 0.05})
    lag = 0.01
    found = gram(program, np.array([[0.5], [0.5 + lag]]))
    assert found[0, 1] / found[0, 0] == pytest.approx(np.cos(2 * np.pi * 30.0 * lag), abs=5e-3)


@pytest.mark.parametrize("name", ["bbo", "greenhouse", "enzymes", "glucose"])
def test_starting_programs_are_accepted_in_every_dimension(name: str) -> None:
    made = benchmark_named(name)
    programs = starting_programs(made)
    assert len({program.name for program in programs}) == 4
    assert all(len(program.space) <= 12 for program in programs)
    for program in programs:
        evidence = verify(program, (min(made.dimensions), max(made.dimensions)), 0)
        assert evidence.accepted, (program.name, evidence.reason)


def test_tuning_lowers_the_meta_training_score_and_keeps_the_range() -> None:
    start = named("enzymes")["reference-ard-matern52"]
    groups = stack_episodes(ENZYMES.episodes("train", 1, tuning=True))
    end = tuned(start, groups, 3)
    assert best_of([start, end], groups) == end
    scores = []
    for program in (start, end):
        kernel = interpret(program)
        with torch.no_grad():
            scores.append(float(mean_query_crps(kernel, groups)))
        kernel.close()
    assert scores[1] < scores[0]
    assert all(0.02 <= end.parameters[spec.name] <= 50.0 for spec in end.space)
    assert end.source == start.source


def test_a_compositional_search_is_greedy_and_never_worse_than_the_best_single_kernel() -> None:
    subjects = [s for s in references_of(ENZYMES) if s.name in ("linear", "rbf-lengthscale-1", "rbf-lengthscale-0.1")]
    setting = Setting("enzymes", "train", 1, tuning=True)
    alone = min(mean_crps(evaluate(subject, setting).predictive) for subject in subjects)
    one = compositional_search(subjects, setting, depth=1)
    assert mean_crps(evaluate(program_subject(one), setting).predictive) == pytest.approx(alone)
    two = compositional_search(subjects, setting, depth=2)
    assert mean_crps(evaluate(program_subject(two), setting).predictive) <= alone
    assert one.name == two.name == "reference-compositional-search"


def test_long_episodes_are_tuned_on_fewer() -> None:
    groups = tuning_groups(ENZYMES, {})
    assert sum(len(group) for group in groups) == 10 * ENZYMES.refinement_episodes
    assert sum(len(group) for group in tuning_groups(benchmark_named("greenhouse"), {})) == 3 * MOST_LONG


def test_recipes_are_named_after_what_they_make() -> None:
    recipes = reference_recipes(ENZYMES, {}, references_of(ENZYMES)[:1])
    assert len(recipes) == len({recipe.name for recipe in recipes}) == 5
    assert [recipe.name for recipe in recipes[:4]] == [program.name for program in starting_programs(ENZYMES)]
