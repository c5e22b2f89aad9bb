"""Mutants differ by one place and are of the kind they say; styles keep every value."""

from __future__ import annotations

import random

import pytest

from kernaut.operators.code.mutation import FIRST_KINDS, SECOND_KINDS, mutants, one_mutant, renamed, restyled
from tests.kernaut.operators.conftest import TASKS, task_records

SOURCE = """
def f(values, limit=3):
    total = 0
    for value in values[1:]:
        if value < limit and not value == 2:
            total += value * 2
        else:
            total -= 1
    return total
"""


def test_kinds_are_disjoint_and_all_occur() -> None:
    assert not set(FIRST_KINDS) & set(SECOND_KINDS)
    first, second = mutants(SOURCE, FIRST_KINDS), mutants(SOURCE, SECOND_KINDS)
    assert {kind for kind, _ in first} == set(FIRST_KINDS)
    assert {kind for kind, _ in second} >= {"logic", "statement", "exit"}
    texts = [text for _, text in first]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("compare", "value <= limit"),
        ("arithmetic", "value + 2"),
        ("constant", "limit=4"),
        ("boundary", "values[1 + 1:]"),
        ("branch", "if not"),
        ("logic", "or not value == 2"),
        ("statement", "pass"),
        ("exit", "break"),
    ],
)
def test_known_mutants(kind: str, part: str) -> None:
    assert any(part in text for _, text in mutants(SOURCE, (kind,)))


def test_one_mutant_is_one_of_all() -> None:
    rng = random.Random(4)
    everything = {text for _, text in mutants(SOURCE, FIRST_KINDS)}
    drawn = [one_mutant(SOURCE, FIRST_KINDS, rng) for _ in range(30)]
    assert {found[1] for found in drawn if found is not None} <= everything
    assert len({found[1] for found in drawn if found is not None}) > 5


@pytest.mark.parametrize("name", sorted(TASKS))
def test_styles_keep_every_value(name: str) -> None:
    record = next(r for r in task_records() if r["entry_point"] == name)
    source = record["prompt"] + record["canonical_solution"]
    seen = set()
    for seed in range(12):
        text = restyled(source, random.Random(seed))
        seen.add(text)
        names: dict[str, object] = {}
        exec(text + "\n" + record["test"], names)
        names["check"](names[name])  # type: ignore[operator]
    assert len(seen) > 3


def test_keywords_and_functions_keep_their_names() -> None:
    source = "def f(key, *, flag=0):\n    def g(x):\n        return x\n    return sorted([g(key)], key=g)\n"
    text = renamed(source, random.Random(1))
    assert "def g(" in text
    assert "key=g" in text
    assert "flag" not in text
