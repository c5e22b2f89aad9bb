"""Schemas made from typed functions, and failures that a model can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.authors.author import Staged, Submission, Tuned
from kernaut.authors.toolbox import MOST_ARGUMENTS, Toolbox, all_tools
from kernaut.errors import ArchiveError, BudgetSpent, ProgramRefused, SandboxFailure
from kernaut.program.formulation import FORMULATION_FIELDS, Formulation
from kernaut.program.program import KernelProgram
from tests.kernaut.authors.model_server import FORMULATION

CANDIDATE = {"name": "n", "contract": "feature_map", "source": "def feature_point(x, parameters):\n    return x\n"}


class Recording:
    """A tool session that notes what it was asked for, and raises what it is given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[Any] = []

    def _note(self, *what: Any) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error

    def propose_formulation(self, formulation: Formulation) -> None:
        self._note(formulation)

    def stage_candidate(self, program: KernelProgram) -> Staged:
        self._note(program)
        return Staged(0, program)

    def evaluate_parameters(self, values: Mapping[str, Any]) -> Tuned:
        self._note(dict(values))
        return Tuned(KernelProgram(**CANDIDATE), None, 1, "no value")

    def submit_candidate(self, program: KernelProgram) -> Submission:
        self._note(program)
        return Submission(program.id, False, None, None, None, "below T2")

    def query_archive(self, niche: str | None, contract: str | None, limit: int) -> Mapping[str, Any]:
        self._note(niche, contract, limit)
        return {"programs": []}


def call(session: Recording, name: str, arguments: Any, most: int = 10, **more: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Toolbox(session, most).call(name, text, **more)  # type: ignore[arg-type]  # the part of a session that these tests use


def test_there_are_eleven_tools_with_plain_schemas() -> None:
    tools = all_tools()
    assert len(tools) == 11
    schemas = {name: tool.schema()["function"]["parameters"] for name, tool in tools.items()}
    assert tuple(schemas["propose_formulation"]["required"]) == FORMULATION_FIELDS
    assert schemas["stage_candidate"]["required"] == ["name", "contract", "source"]
    assert schemas["verify_staged_candidate"]["properties"] == {}
    for name, schema in schemas.items():
        text = json.dumps(schema)
        assert "$ref" not in text and "anyOf" not in text and "title" not in text, name
        assert all("type" in entry and "description" in entry for entry in schema["properties"].values()), name


def test_arguments_arrive_typed() -> None:
    session = Recording()
    assert call(session, "propose_formulation", FORMULATION)["noted"]
    space = {"a": {"lower": 0.1, "upper": 2, "scale": "log"}}
    written = CANDIDATE | {"parameters": json.dumps({"a": 1.0}), "parameter_space": space, "parents": None}
    assert call(session, "stage_candidate", written)["draft"] == 0
    assert call(session, "submit_candidate", json.dumps(json.dumps(CANDIDATE)))["reason"] == "below T2"
    assert call(session, "query_archive", {"limit": "3", "niche": None}) == {"programs": []}
    (formulation,), (program,), _, query = session.asked
    assert formulation.construction_niche == "feature_projection"
    assert dict(program.parameters) == {"a": 1.0}
    assert (program.space[0].name, program.space[0].scale, program.parents) == ("a", "log", ())
    assert query == (None, None, 3)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "part"),
    [
        ("stage", "{}", "unknown_tool", "propose_formulation, stage_candidate"),
        ("stage_candidate", '{"name": "n"', "arguments_not_json", 'near \'{"name": "n"\''),
        ("stage_candidate", "[1]", "arguments_not_json", "Got list"),
        ("stage_candidate", '{"name": NaN}', "invalid_arguments", "finite"),
        ("stage_candidate", '{"name": "n", "code": ""}', "invalid_arguments", "required: name, contract, source"),
        ("stage_candidate", json.dumps(CANDIDATE | {"name": "1"}), "program_refused", "Expected a name"),
        ("stage_candidate", json.dumps(CANDIDATE | {"contract": "magic"}), "program_refused", "feature_map"),
        (
            "stage_candidate",
            json.dumps(CANDIDATE | {"parameters": {"a": 1.0}, "parameter_space": {"a": {"lower": 3, "upper": 2}}}),
            "program_refused",
            "lower below",
        ),
        ("query_archive", '{"limit": 10000}', "invalid_arguments", "limit"),
        ("propose_formulation", json.dumps(FORMULATION | {"feature_growth": "fast"}), "invalid_input", "linear"),
        ("stage_candidate", '{"a": "' + "x" * MOST_ARGUMENTS + '"}', "arguments_too_long", "at most"),
    ],
)
def test_wrong_calls_say_what_to_mend(name: str, arguments: str, kind: str, part: str) -> None:
    error = call(Recording(), name, arguments)["error"]
    assert error["kind"] == kind
    assert part in json.dumps(error, ensure_ascii=False).replace('\\"', '"')


def test_values_are_made_sound_however_deep_they_stand() -> None:
    session = Recording()
    long = json.dumps(CANDIDATE | {"parameters": '{"a": [' + "9" * 400 + "]}"})
    assert "300 digits" in call(session, "stage_candidate", long)["error"]["message"]
    half = CANDIDATE | {"rationale": "a\ud800b\x00", "parameters": '{"a": "\\ud800"}'}
    assert call(session, "stage_candidate", half)["draft"] == 0
    ((program,),) = session.asked
    assert (program.rationale, dict(program.parameters)) == ("a?b\ufffd", {"a": "?"})


def test_a_cut_answer_is_said_to_be_cut() -> None:
    assert "cut off" in call(Recording(), "stage_candidate", '{"name', truncated=True)["error"]["hint"]


def test_failures_of_tools_come_back_and_what_no_model_mends_is_raised() -> None:
    refused = call(Recording(ProgramRefused("Expected x.", hint="Do y.")), "stage_candidate", CANDIDATE)
    assert refused == {"error": {"kind": "program_refused", "message": "Expected x.", "hint": "Do y."}}
    failed = call(Recording(SandboxFailure("timed out", "slow")), "stage_candidate", CANDIDATE)["error"]
    assert (failed["kind"], failed["state"]) == ("program_failed", "timed out")
    for error in (BudgetSpent("b"), ArchiveError("a")):
        with pytest.raises(type(error)):
            call(Recording(error), "stage_candidate", CANDIDATE)


def test_calls_that_fail_count() -> None:
    box = Toolbox(Recording(), 2)  # type: ignore[arg-type]  # the part of a session that these tests use
    box.call("nothing", "{}")
    box.call("query_archive", "no")
    assert box.left == 0
    with pytest.raises(BudgetSpent):
        box.call("query_archive", "{}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(["propose_formulation", "stage_candidate", "evaluate_parameters", "query_archive"]),
    st.dictionaries(
        st.sampled_from(["name", "contract", "source", "parameters", "parameter_space", "values", "limit"]), JSON
    )
    | JSON,
    st.booleans(),
)
def test_no_arguments_break_the_toolbox(name: str, arguments: Any, complete: bool) -> None:
    if complete and isinstance(arguments, dict):
        arguments = CANDIDATE | arguments
    result = call(Recording(), name, json.dumps(arguments))
    json.dumps(result, allow_nan=False)


@given(st.text(max_size=40))
def test_no_text_breaks_the_toolbox(text: str) -> None:
    assert "error" in call(Recording(), "stage_candidate", text)
