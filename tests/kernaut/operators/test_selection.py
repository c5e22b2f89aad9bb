"""Selection accuracy against hand-computed cases and a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import InputError
from kernaut.operators.records import Candidate, Electorate, Task
from kernaut.operators.selection import Panel, effect


def panel(task: list[int], correct: list[int]) -> Panel:
    return Panel(np.array(task), np.array(correct, dtype=bool))


def flags(*values: int) -> np.ndarray:
    return np.array(values, dtype=bool)


def test_hand_computed() -> None:
    p = panel([0, 0, 0, 1, 1, 2], [1, 0, 0, 1, 0, 1])
    assert p.baseline == pytest.approx([1 / 3, 1 / 2, 1.0])
    assert p.perfect == pytest.approx([1.0, 1.0, 1.0])
    assert p.decidable.tolist() == [True, True, False]
    assert p.accuracy(flags(0, 1, 0, 1, 0, 0)) == pytest.approx([1 / 2, 0.0, 1.0])
    found = effect(p, flags(0, 1, 0, 1, 0, 0))
    assert (found.helped, found.hurt, found.true_positives, found.false_positives) == (1, 1, 1, 1)
    assert found.headroom == pytest.approx((2 / 3 + 1 / 2) / 3)
    assert found.change == pytest.approx((1 / 6 - 1 / 2) / 3)
    assert found.change_decidable == pytest.approx((1 / 6 - 1 / 2) / 2)
    assert found.share == pytest.approx(found.change / found.headroom)


def test_when_all_are_flagged_all_are_kept() -> None:
    p = panel([0, 0, 0, 0], [1, 0, 0, 0])
    assert p.accuracy(flags(1, 1, 1, 1)) == pytest.approx([0.25])
    assert p.accuracy(flags(0, 1, 1, 1)) == pytest.approx([1.0])
    assert p.accuracy(flags(1, 1, 1, 0)) == pytest.approx([0.0])


def test_a_panel_of_one_label_has_no_headroom() -> None:
    found = effect(panel([0, 0, 1], [1, 1, 1]), flags(1, 0, 0))
    assert (found.headroom, found.share, found.change, found.decidable, found.change_decidable) == (0, 0, 0, 0, 0)
    assert panel([0, 0], [0, 0]).perfect == pytest.approx([0.0])


def test_only_candidates_in_v_take_part_and_tasks_without_any_are_left_out() -> None:
    tasks = tuple(Task(name, {}) for name in "abc")
    candidates = (
        Candidate("0", "a", {}, True, True),
        Candidate("1", "a", {}, False, False, "visible checks"),
        Candidate("0", "b", {}, False, False, "visible checks"),
        Candidate("0", "c", {}, True, False, "hidden tests only"),
        Candidate("0", "c", {}, True, True),
    )
    p = Panel.of(Electorate("d", "n", tasks, candidates))
    assert p.task.tolist() == [0, 1, 1]
    assert p.baseline == pytest.approx([1.0, 0.5])


def test_an_empty_panel_is_an_error() -> None:
    with pytest.raises(InputError, match="at least one labelled candidate"):
        panel([], [])


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_agrees_with_a_draw_by_draw_twin(rows: list[tuple[int, bool, bool]]) -> None:
    numbers = sorted({task for task, _, _ in rows})
    p = panel([numbers.index(task) for task, _, _ in rows], [int(right) for _, right, _ in rows])
    flagged = flags(*[int(flag) for _, _, flag in rows])
    expected = []
    for task in numbers:
        members = [row for row in rows if row[0] == task]
        kept = [row for row in members if not row[2]] or members
        expected.append(sum(row[1] for row in kept) / len(kept))
    assert p.accuracy(flagged) == pytest.approx(expected)
    assert p.accuracy(np.stack([flagged, ~flagged]))[0] == pytest.approx(expected)
