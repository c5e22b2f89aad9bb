from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from kernaut.fitting.acquisition import expected_improvement


@pytest.mark.parametrize(("mean", "sd", "best"), [(0.2, 0.5, 0.4), (-1.0, 2.0, 1.5), (3.0, 0.1, 1.0), (0.0, 1.0, 0.0)])
def test_formula_is_the_integral(mean: float, sd: float, best: float) -> None:
    integral = integrate.quad(lambda y: (y - best) * stats.norm.pdf(y, mean, sd), best, best + 40 * sd + abs(mean))[0]
    value = expected_improvement(np.array([mean]), np.array([sd]), np.array(best))
    assert value[0] == pytest.approx(integral, rel=1e-7)


def test_each_task_has_its_own_best() -> None:
    mean, sd = np.array([[0.1, 0.5], [0.1, 0.5]]), np.array([[1.0, 0.2], [1.0, 0.2]])
    value = expected_improvement(mean, sd, np.array([0.0, 2.0]))
    assert value[0, 0] == expected_improvement(mean[0], sd[0], np.array(0.0))[0]
    assert (value[1] < value[0]).all()


def test_far_candidates_are_still_ranked() -> None:
    value = expected_improvement(np.array([-20.0, -10.0, -30.0]), np.ones(3), np.array(0.0))
    assert value.argmax() == 1
    assert value[1] > value[0] > value[2] > 0.0


def test_the_first_of_equal_candidates_is_taken() -> None:
    value = expected_improvement(np.array([0.1, 0.7, 0.7, 0.2]), np.full(4, 0.3), np.array(0.5))
    assert value.argmax() == 1
    hopeless = expected_improvement(np.full(3, -1e4), np.ones(3), np.array(0.0))
    assert hopeless.tolist() == [0.0, 0.0, 0.0]
    assert hopeless.argmax() == 0
