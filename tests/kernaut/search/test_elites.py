"""The grid keeps the best of each cell; the scheduler fills niches first and repeats itself."""

from __future__ import annotations

from kernaut.archive.records import AcceptedRecord
from kernaut.program.formulation import NICHES
from kernaut.search.elites import elite_grid, empty_niches, ranked, schedule


def _record(name: str, niche: str, elite: float | None, run: int = 0, band: str = "distinct") -> AcceptedRecord:
    return AcceptedRecord("c", run, 0, name, niche, "linear", band, -0.5, elite)


def test_a_cell_keeps_its_best_and_the_earlier_of_equals() -> None:
    grid = elite_grid(
        [
            _record("a", NICHES[0], 0.1),
            _record("b", NICHES[0], 0.3),
            _record("c", NICHES[0], 0.3),
            _record("d", NICHES[0], 0.2, band="duplicate"),
            _record("e", NICHES[2], None),
        ]
    )
    assert {cell: record.program_id for cell, record in grid.items()} == {
        (NICHES[0], "linear", "distinct"): "b",
        (NICHES[0], "linear", "duplicate"): "d",
    }
    assert [record.program_id for record in ranked(grid)] == ["b", "d"]
    assert empty_niches(grid) == list(NICHES[1:])


def test_empty_niches_come_first_and_runs_of_one_generation_take_different_ones() -> None:
    grid = elite_grid([_record("a", NICHES[1], 0.1)])
    asked = [schedule(grid, 7, index, place)[0] for place, index in enumerate(range(4, 10))]
    assert asked == [niche for niche in NICHES if niche != NICHES[1]]


def test_roots_are_certain_without_elites() -> None:
    for index in range(20):
        niche, parent, inspirations = schedule({}, 3, index, 0)
        assert (niche, parent, inspirations) == (NICHES[0], None, ())


def test_probabilities_and_inspirations() -> None:
    records = [_record(f"p{i}", niche, 0.1 * i) for i, niche in enumerate(NICHES)]
    grid = elite_grid(records)
    roots, best, others = 0, 0, 0
    for index in range(2000):
        _, parent, inspirations = schedule(grid, 11, index, 0)
        assert len(inspirations) == 3
        assert len({record.program_id for record in inspirations}) == 3
        if parent is None:
            roots += 1
            continue
        assert all(record.niche != parent.niche for record in inspirations)
        best += parent.program_id in ("p6", "p5", "p4")
        others += parent.program_id not in ("p6", "p5", "p4")
    assert abs(roots / 2000 - 0.35) < 0.04
    revised = best + others
    assert abs(others / revised - 0.35 * 4 / 7) < 0.04
    assert schedule(grid, 11, 5, 0) == schedule(grid, 11, 5, 0)
