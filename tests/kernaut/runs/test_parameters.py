from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.runs.failures import NotebookInputError
from kernaut.runs.parameters import match_parameters, notebook_parameters

CELL = """'''The defaults.'''
seed = 7  # any integer
rate: float = 0.5
quick = False
archive = "kernaut.sqlite"
timeout = None
families = ["branin", "levy"]
options = {"pool": 64}
"""
DEFAULTS = {
    "seed": 7,
    "rate": 0.5,
    "quick": False,
    "archive": "kernaut.sqlite",
    "timeout": None,
    "families": ["branin", "levy"],
    "options": {"pool": 64},
}


def test_defaults_are_read_in_order(make_notebook: Callable[..., Path]) -> None:
    found = notebook_parameters(make_notebook("print(seed)", parameters=CELL))
    assert found == DEFAULTS
    assert list(found) == list(DEFAULTS)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("x = 1 + len('a')", "Got line 1: x = 1"),
        ("import os", "Got line 1: import os"),
        ("a = b = 1", "a = b = 1"),
        ("x = 1\ny = (1, 2)", "line 2: y = "),
        ("x: int", "line 1: x: int"),
        ("x = float('nan')", "plain JSON literals"),
        ("x = {1: 2}", "plain JSON literals"),
        ("x = 1e999", "plain JSON literals"),
        ("x = [", "Expected Python in the parameters cell"),
    ],
)
def test_only_plain_literals_are_defaults(make_notebook: Callable[..., Path], source: str, problem: str) -> None:
    with pytest.raises(NotebookInputError, match=problem.replace("(", r"\(").replace("+", r"\+")):
        notebook_parameters(make_notebook(parameters=source))


def test_exactly_one_parameters_cell(make_notebook: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(NotebookInputError, match=r"exactly one code cell .* Got 0"):
        notebook_parameters(make_notebook("x = 1", parameters=None))
    path = make_notebook("y = 2")
    path.write_text(path.read_text().replace('"metadata": {},', '"metadata": {"tags": ["parameters"]},'))
    with pytest.raises(NotebookInputError, match=r"exactly one code cell .* Got 2"):
        notebook_parameters(path)
    for content in ("not json", "{}", "[]"):
        path.write_text(content)
        with pytest.raises(NotebookInputError, match="Expected a notebook"):
            notebook_parameters(path)
    with pytest.raises(NotebookInputError, match="Expected a notebook"):
        notebook_parameters(tmp_path / "missing.ipynb")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"seed": "12"}, 12),
        ({"seed": 12.0}, 12),
        ({"seed": 10**400}, 10**400),
        ({"rate": "1e-3"}, 1e-3),
        ({"rate": 2}, 2.0),
        ({"quick": "True"}, True),
        ({"quick": "false"}, False),
        ({"archive": "12"}, "12"),
        ({"archive": "none"}, "none"),
        ({"timeout": "None"}, None),
        ({"timeout": "12.5"}, 12.5),
        ({"timeout": "soon"}, "soon"),
        ({"families": '["ackley"]'}, ["ackley"]),
        ({"families": ("ackley", "levy")}, ["ackley", "levy"]),
        ({"options": '{"pool": 8}'}, {"pool": 8}),
    ],
)
def test_values_take_the_type_of_the_default(given: dict[str, Any], expected: Any) -> None:
    (name,) = given
    matched = match_parameters(DEFAULTS, given, "discover")
    assert matched[name] == expected
    assert type(matched[name]) is type(expected)
    assert {**matched, name: None} == {**DEFAULTS, name: None}


@pytest.mark.parametrize(
    "given",
    [
        {"seed": "1.5"},
        {"seed": True},
        {"seed": "seven"},
        {"seed": None},
        {"seed": np.int64(3)},
        {"rate": "NaN"},
        {"rate": "inf"},
        {"rate": False},
        {"quick": 1},
        {"quick": "yes"},
        {"archive": 3},
        {"archive": Path("x")},
        {"families": "branin"},
        {"families": [float("nan")]},
        {"families": "[NaN]"},
        {"options": [1]},
        {"timeout": "NaN"},
        {"timeout": {1, 2}},
    ],
)
def test_values_of_another_type_are_refused_by_name(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(NotebookInputError, match=name):
        match_parameters(DEFAULTS, given, "discover")


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(NotebookInputError, match=r"seed, rate, .*Got 'sede'. Did you mean 'seed'\?"):
        match_parameters(DEFAULTS, {"sede": 1}, "discover")
    with pytest.raises(NotebookInputError) as caught:
        match_parameters(DEFAULTS, {"zzz": 1}, "discover")
    assert caught.value.hint is None
    assert caught.value.exit_code == 2
