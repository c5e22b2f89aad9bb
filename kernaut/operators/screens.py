"""Static part of the screens, the same for every domain: what an operator's own text says.

An operator that holds digests, long literals of candidates or a table of numbers could rebuild the oracle by looking candidates up; one that asks where a candidate stands
among its peers could, too, so that every domain shows candidates in another order as well (:func:`turned`).  What an operator *does* when candidates are rewritten is the
domain's part (:mod:`kernaut.operators.code.screens`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from kernaut.operators.records import Operator
from kernaut.seeds import generator

T = TypeVar("T")

LONG_TEXT = 12
LARGE_NUMBER = 10**6
MOST_TEXT = 400
MOST_NUMBERS = 40
ORDER_SHARE = 0.25
"""How many of its flags an operator that looks at peers may lose when candidates stand in another order: at most 16 are run, the first ones by custom."""
_DIGEST = re.compile(r"[0-9a-fA-F]{8,}")


ORDER = "order screen: its verdict changes with the order that candidates stand in"


def literal_findings(operator: Operator, sources: Iterable[str]) -> list[str]:
    """Sentences on digests, and on literals that are parts of candidates.

    Args:
        operator: what is screened.
        sources: texts of candidates, as operators see them.
    """
    found = []
    tree = ast.parse(operator.source)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.Module)) and node.body and isinstance(node.body[0], ast.Expr)
    }
    constants = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documentation
    ]
    texts = [
        value if isinstance(value, str) else value.decode("latin-1")
        for value in constants
        if isinstance(value, (str, bytes))
    ]
    for text in texts:
        if _DIGEST.fullmatch(text.strip()) and any(letter.isdigit() for letter in text):
            found.append(f"syntax screen: the text {text[:20]!r} looks like a digest")
    numbers = [value for value in constants if isinstance(value, (int, float)) and abs(value) >= LARGE_NUMBER]
    if numbers:
        found.append(f"syntax screen: the number {numbers[0]} looks like a digest")
    long_ones = [_squeezed(text) for text in texts if len(_squeezed(text)) >= LONG_TEXT]
    if long_ones:
        everything = [_squeezed(source) for source in sources]
        found += [
            f"syntax screen: the text {text[:20]!r} is a part of a candidate"
            for text in long_ones
            if any(text in source for source in everything)
        ]
    if sum(len(text) for text in texts) > MOST_TEXT:
        found.append(f"syntax screen: its literals hold more than {MOST_TEXT} characters")
    if (
        sum(isinstance(value, (int, float, complex)) and not isinstance(value, bool) for value in constants)
        > MOST_NUMBERS
    ):
        found.append(f"syntax screen: it holds more than {MOST_NUMBERS} numbers, a table that could name candidates")
    return found


def turned(count: int) -> list[int]:
    """Where each of a task's candidates stands in another order, the same for every task of that size."""
    drawn = [int(place) for place in generator("order screen", count).permutation(count)]
    return drawn if drawn != sorted(drawn) else drawn[1:] + drawn[:1]


def moved(count: int, number: int) -> list[int]:
    """Where each of a task's candidates stands when one is put elsewhere and the others keep their order."""
    target = turned(count)[number]
    target = target if target != number else (number + 1 + count // 2) % count
    others = [other for other in range(count) if other != number]
    others.insert(target, number)
    return [others.index(other) for other in range(count)]


def reordered(items: Sequence[T], order: Sequence[int]) -> list[T]:
    """Items of a task's candidates, each where an order puts it."""
    found = dict(zip(order, items, strict=True))
    return [found[place] for place in range(len(found))]


def _squeezed(text: str) -> str:
    return "".join(text.split())
