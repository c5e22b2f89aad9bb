"""Halton settings by hand; gradient steps against the objective they claim to lower."""

from __future__ import annotations

import math

import pytest

from kernaut.episodes.registry import benchmark_named
from kernaut.errors import InputError
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.objective import mean_query_crps
from kernaut.kernels.interpreter import interpret
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.search.tuning import fitness, halton_trials, halton_values, radical_inverse, refine

SPACE = (
    ParameterSpec("scale", "float", "log", 0.1, 10.0),
    ParameterSpec("shift", "float", "linear", -1.0, 3.0),
    ParameterSpec("order", "int", "linear", 1, 9),
    ParameterSpec("kind", "categorical", choices=("a", "b", "c")),
)
PROGRAM = KernelProgram(
    "tuned",
    "input_transform",
    "import torch\n\ndef transform_point(x, parameters):\n    return parameters['scale'] * torch.sin(parameters['speed'] * x)\n",
    {"scale": 0.3, "speed": 1.0, "base_kernel": {"kind": "matern52", "lengthscale": 1.0}},
    space=(ParameterSpec("scale", "float", "log", 0.05, 20.0), ParameterSpec("speed", "float", "log", 0.5, 6.0)),
)


@pytest.mark.parametrize(
    ("index", "base", "value"), [(1, 2, 0.5), (2, 2, 0.25), (3, 2, 0.75), (6, 2, 0.375), (1, 3, 1 / 3), (5, 3, 7 / 9)]
)
def test_radical_inverse_by_hand(index: int, base: int, value: float) -> None:
    assert radical_inverse(index, base) == pytest.approx(value, abs=1e-15)


def test_halton_values_use_prime_bases_in_declaration_order() -> None:
    values = halton_values(SPACE, 4)  # inverses 1/8, 4/9, 4/5, 4/7
    assert values["scale"] == pytest.approx(0.1 * 100 ** (1 / 8))
    assert values["shift"] == pytest.approx(-1 + 4 * 4 / 9)
    assert values["order"] == round(1 + 8 * 4 / 5)
    assert values["kind"] == "b"


def test_the_first_trial_is_the_programs_own_setting() -> None:
    tried = halton_trials(PROGRAM, 4, lambda values: (-float(values["scale"]), None))
    assert [trial.method for trial in tried] == ["initial", "halton", "halton", "halton"]
    assert dict(tried[0].values) == {"scale": 0.3, "speed": 1.0}
    assert tried[1].values["scale"] == pytest.approx(0.05 * 400**0.5)


@pytest.mark.parametrize("trials", [0, 65, True, 1.5])
def test_a_number_of_trials_out_of_range_is_refused(trials: object) -> None:
    with pytest.raises(InputError, match="1 to 64 trials"):
        halton_trials(PROGRAM, trials, lambda values: (0.0, None))  # type: ignore[arg-type]


def test_fitness_pays_for_parameters() -> None:
    assert fitness(0.5, 3) == pytest.approx(-0.5 - 1e-3 * math.log(4))


def test_gradient_steps_lower_the_loss_and_stay_within_the_ranges() -> None:
    groups = EpisodeGroup.stack(benchmark_named("bbo").episodes("train", 1, tuning=True))
    kernel = interpret(PROGRAM)
    before = float(mean_query_crps(kernel, groups))
    values, loss = refine(kernel, PROGRAM.space, groups, 15)
    after = float(mean_query_crps(interpret(PROGRAM.with_parameters(values)), groups))
    kernel.close()
    assert loss < before - 0.01
    assert after == pytest.approx(loss, abs=1e-4)
    for spec in PROGRAM.space:
        spec.require(values[spec.name])
        assert float(f"{values[spec.name]:.6g}") == values[spec.name]


def test_no_gradient_steps_leave_the_setting_alone() -> None:
    groups = EpisodeGroup.stack(benchmark_named("bbo").episodes("train", 1, tuning=True))
    kernel = interpret(PROGRAM)
    values, loss = refine(kernel, PROGRAM.space, groups, 0)
    assert values == pytest.approx({"scale": 0.3, "speed": 1.0})
    assert loss == pytest.approx(float(mean_query_crps(kernel, groups)), abs=1e-6)
    kernel.close()
