from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernaut.scoring.regret import final_regret, regret_auc, regret_curve


def test_regret_is_a_share_of_the_initial_one() -> None:
    best = np.array([[1.0, 1.0, 2.0, 4.0], [-3.0, -2.0, -2.0, -1.0]])
    curve = regret_curve(best, np.array([5.0, 1.0]))
    np.testing.assert_allclose(curve, [[1.0, 0.75, 0.25], [0.75, 0.75, 0.5]])
    np.testing.assert_allclose(regret_auc(curve), [2.0 / 3.0, 2.0 / 3.0])
    np.testing.assert_allclose(final_regret(curve), [0.25, 0.5])


def test_a_start_at_the_maximum_is_divided_by_the_floor() -> None:
    np.testing.assert_array_equal(regret_curve(np.array([2.0, 2.0, 2.0]), 2.0), [0.0, 0.0])
    np.testing.assert_allclose(regret_curve(np.array([1.0, 1.0]), 1.0 + 5e-9), [0.5], rtol=1e-6)


def test_a_value_above_the_stated_maximum_has_no_negative_regret() -> None:
    np.testing.assert_array_equal(regret_curve(np.array([0.0, 1.5]), 1.0), [0.0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9), st.floats(0.01, 100.0), st.floats(-50.0, 50.0))
def test_regret_ignores_the_units_of_the_objective(values: list[float], scale: float, shift: float) -> None:
    best = np.maximum.accumulate(np.array(values))
    maximum = best[-1] + 1e4
    curve = regret_curve(best, maximum)
    np.testing.assert_allclose(regret_curve(scale * best + shift, scale * maximum + shift), curve, rtol=1e-6, atol=1e-9)
    assert (np.diff(curve) <= 0).all()
    assert (curve <= 1).all()
