"""What drafts are tuned and compared on."""

from __future__ import annotations

from kernaut.search.workbench import SearchOptions, stacked


def test_practice_is_the_refinement_episodes_and_what_the_benchmark_makes_up() -> None:
    options = SearchOptions("greenhouse", episodes_per_family=1)
    made_up = options.made().rehearsals()
    seen = 3 * options.refinement().per_family
    assert sum(len(group) for group in options.practice()) == seen + len(made_up)
    assert options.to_json()["rehearsals"] == len(made_up) > 0


def test_a_benchmark_that_makes_nothing_up_is_tuned_on_refinement_episodes_alone() -> None:
    options = SearchOptions("bbo")
    assert options.practice() == stacked(options.refinement())
    assert "rehearsals" not in options.to_json()
