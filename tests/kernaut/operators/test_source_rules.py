"""What an operator's source may not say."""

from __future__ import annotations

import pytest

from kernaut.errors import InputError, ProgramRefused
from kernaut.operators.code.operators import COMPARATOR, HAND_WRITTEN
from kernaut.operators.code.symptoms import SYMPTOMS
from kernaut.operators.records import Operator
from kernaut.operators.source_rules import require_operator_source
from kernaut.operators.symptoms import Threshold, operator_of


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "from os import path",
        "eval('1')",
        "x = open",
        "x = task.__class__",
        "x = '{0.__class__}'.format(task)",
        "global y",
        "candidate.source = 1",
        "_tick_()",
        "class A: pass",
        "with task: pass",
        "x = (lambda: (yield))",
        "hash('a')",
        "from math import *",
        "import string; x = string.Formatter().get_field('0.run', (task,), {})",
        "from string import Formatter as F; x = F()",
    ],
)
def test_refused_with_a_line(body: str) -> None:
    operator = Operator(f"def op(task, candidate):\n    {body}\n    return 'pass'\n", 1, "x")
    with pytest.raises(ProgramRefused, match="Line 2"):
        require_operator_source(operator)


@pytest.mark.parametrize(
    ("source", "level", "named"),
    [
        ("def op(task, candidate:\n", 1, "parses as Python"),
        ("def op(task):\n    return 'pass'\n", 1, r"op\(task, candidate\)"),
        ("def op(task, candidate):\n    return 'pass'\n", 2, r"op\(task, candidate, ctx\)"),
        ("x = sum([1])\ndef op(task, candidate):\n    return 'pass'\n", 1, "computed"),
        ("print(1)\n", 1, "Expr at module level"),
    ],
)
def test_shape(source: str, level: int, named: str) -> None:
    with pytest.raises(ProgramRefused, match=named):
        require_operator_source(Operator(source, level, "x"))


def test_length_and_level() -> None:
    with pytest.raises(InputError, match="1 to 80 lines"):
        Operator("x = 1\n" * 81, 1, "long")
    with pytest.raises(InputError, match="level 1 or 2"):
        Operator("x = 1", 3, "x")


def test_own_operators_keep_the_rules() -> None:
    for operator in (*HAND_WRITTEN, COMPARATOR):
        require_operator_source(operator)
    for symptom in SYMPTOMS:
        for other in SYMPTOMS[:2]:
            require_operator_source(operator_of((Threshold(symptom, "above", 1.0), Threshold(other, "below", 0.5))))
