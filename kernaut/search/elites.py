"""The quality-diversity grid, and what the next run is asked for.

A cell is (niche, feature growth, novelty band); the program of best elite score stays in it.  Scheduling follows the campaign's seed and the run's index alone, given
the elites, so that a resumed campaign asks for the same things.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernaut.archive.records import AcceptedRecord
from kernaut.program.formulation import NICHES
from kernaut.seeds import generator

NEW_ROOT = 0.35
UNIFORM_PARENT = 0.35
BEST_PARENTS = 3
MAX_INSPIRATIONS = 3

Cell = tuple[str, str, str]


def elite_grid(accepted: Sequence[AcceptedRecord]) -> dict[Cell, AcceptedRecord]:
    """The elites by cell; on a tie the earlier one stays.

    Args:
        accepted: in run order; those without an elite score take no cell.
    """
    grid: dict[Cell, AcceptedRecord] = {}
    for record in accepted:
        if record.elite_score is None:
            continue
        cell = (record.niche, record.feature_growth, record.novelty_band)
        held = grid.get(cell)
        if held is None or held.elite_score is None or record.elite_score > held.elite_score:
            grid[cell] = record
    return grid


def ranked(grid: dict[Cell, AcceptedRecord]) -> list[AcceptedRecord]:
    """Elites, best first; ties by program identifier."""
    return sorted(grid.values(), key=lambda record: (-(record.elite_score or 0.0), record.program_id))


def empty_niches(grid: dict[Cell, AcceptedRecord]) -> list[str]:
    """Niches without an elite, in the published order."""
    filled = {niche for niche, _, _ in grid}
    return [niche for niche in NICHES if niche not in filled]


def schedule(
    grid: dict[Cell, AcceptedRecord], seed: int, index: int, place: int
) -> tuple[str, AcceptedRecord | None, tuple[AcceptedRecord, ...]]:
    """Niche, parent and inspirations of one run.

    Empty niches come first (the ``place``-th run of a generation takes the ``place``-th of them); a new root has probability 0.35, and is certain while there is no
    elite; a parent is uniform over elites with probability 0.35, else one of the best three; inspirations are up to three elites, of other niches when revising.

    Args:
        grid: the elites that the run's generation sees.
        seed: the campaign's seed.
        index: the run's index.
        place: its place in the generation, from 0.
    """
    rng = generator("schedule", seed, index)
    elites = ranked(grid)
    empty = empty_niches(grid)
    niche = empty[place] if place < len(empty) else str(rng.choice(NICHES))
    if not elites or rng.random() < NEW_ROOT:
        parent = None
    elif rng.random() < UNIFORM_PARENT:
        parent = elites[int(rng.integers(len(elites)))]
    else:
        parent = elites[int(rng.integers(min(BEST_PARENTS, len(elites))))]
    others = [elite for elite in elites if parent is None or elite.niche != parent.niche]
    return niche, parent, _some(others, rng)


def _some(elites: list[AcceptedRecord], rng: np.random.Generator) -> tuple[AcceptedRecord, ...]:
    order = rng.permutation(len(elites))[:MAX_INSPIRATIONS]
    return tuple(elites[int(place)] for place in order)
