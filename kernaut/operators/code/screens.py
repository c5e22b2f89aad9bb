"""Screens of operators on Python candidates: run them again on rewritten candidates and see whether verdicts move.

(a) through syntax: re-formatted candidates whose names are changed; (b) keyed on constants of the fault generator: constants that no correct candidate of the task has are
moved; (c) prompt words: the prompt, the docstrings and the function's name are replaced; (d) runs but decides by text: texts are blanked while the runner runs the
true candidates.  Operators that run something meet c and d, others a, b and c.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernaut.operators.code.mutation import renamed
from kernaut.operators.records import Operator
from kernaut.seeds import stable_seed

BLANK = "def blank():\n    return 0\n"
MOST_TASKS = 6


@dataclass(frozen=True)
class View:
    """One task as a request shows it: the task's content, and sources by position; ``true`` are the sources that the runner runs."""

    task: Mapping[str, Any]
    shown: tuple[str, ...]
    true: tuple[str, ...]
    correct: tuple[bool, ...]


Rewrite = Callable[[View], View]


@dataclass(frozen=True)
class Screen:
    """A rewriting: its name, what failing it means, and which share of flags may be lost (0: no verdict may change)."""

    name: str
    words: str
    rewrite: Rewrite
    share: float = 0.0


def reformatted(view: View) -> View:
    """Names changed, comments dropped, layout remade."""
    rng = random.Random(stable_seed("screen", str(view.task.get("entry", ""))))
    shown = tuple(_kept_going(source, lambda text: renamed(text, rng)) for source in view.shown)
    return View(view.task, shown, view.true, view.correct)


def moved_constants(view: View) -> View:
    """Constants that no correct candidate of the task holds are moved by one, or shortened."""
    good: set[Any] = set()
    for source, correct in zip(view.shown, view.correct, strict=True):
        good |= _constants(source) if correct else set()
    shown = tuple(
        _kept_going(source, lambda text: _moved(text, good)) if not correct else source
        for source, correct in zip(view.shown, view.correct, strict=True)
    )
    return View(view.task, shown, view.true, view.correct)


def without_words(view: View) -> View:
    """Another prompt, no docstrings, another function name."""
    entry = str(view.task.get("entry", ""))
    task = {**view.task, "prompt": "def solution(*arguments):\n    ...\n", "entry": "solution"}
    return View(
        task, tuple(_kept_going(s, lambda text: _anonymous(text, entry)) for s in view.shown), view.true, view.correct
    )


def blanked(view: View) -> View:
    """Texts blanked; the runner still runs the true candidates."""
    return View(view.task, tuple(BLANK for _ in view.shown), view.true, view.correct)


SYNTAX = Screen("syntax screen", "its verdict changes when candidates are re-formatted and renamed", reformatted)
KEYED = Screen("constants screen", "its flags follow constants that only faulty candidates hold", moved_constants, 0.5)
WORDS = Screen("prompt screen", "its verdict changes with the words of the prompt", without_words)
BLANKED = Screen("text screen", "it runs candidates and decides by their text", blanked)


def rewrites(operator: Operator) -> list[Screen]:
    """The screens an operator must pass."""
    nodes = ast.walk(ast.parse(operator.source))
    runs = operator.level == 2 and any(isinstance(node, ast.Attribute) and node.attr == "run" for node in nodes)
    return [WORDS, BLANKED] if runs else [SYNTAX, KEYED, WORDS]


def _kept_going(source: str, rewrite: Callable[[str], str]) -> str:
    """A rewritten source; one that does not parse stays as it is."""
    try:
        return rewrite(source)
    except (SyntaxError, ValueError, RecursionError):
        return source


def _constants(source: str) -> set[Any]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {(type(n.value).__name__, n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant)}


def _moved(source: str, good: set[Any]) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or (type(node.value).__name__, node.value) in good:
            continue
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            node.value = value + 11
        elif isinstance(value, str) and value:
            node.value = value + "q"
    return ast.unparse(tree)


def _anonymous(source: str, entry: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if len(node.body) > 1 and ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            node.name = "solution" if node.name == entry else node.name
        elif isinstance(node, ast.Name) and node.id == entry:
            node.id = "solution"
    return ast.unparse(tree)
