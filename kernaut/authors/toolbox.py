"""Tools as a language model sees them: JSON schemas made from typed functions, and calls whose every failure is JSON.

A failure reads ``{"error": {"kind", "message", "hint"}}``; ``problems`` lists wrong arguments one by one.  Only what the model cannot mend
is raised: a spent budget, an archive that cannot be written, a lost worker.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from kernaut.authors.replies import clean
from kernaut.authors.tools import FUNCTIONS
from kernaut.digest import require_json
from kernaut.errors import (
    ArchiveError,
    BudgetSpent,
    FitError,
    InputError,
    KernautError,
    ProgramRefused,
    SandboxFailure,
    WorkerLost,
)

MOST_ARGUMENTS = 250_000
"""Longest arguments that are read [characters]: source has at most 100 000, and JSON may double it."""

LARGEST = 10**300

KINDS: tuple[tuple[type[KernautError], str], ...] = (
    (ProgramRefused, "program_refused"),
    (InputError, "invalid_input"),
    (FitError, "fit_failed"),
    (KernautError, "failed"),
)


@dataclass(frozen=True)
class Tool:
    """One tool: its name, what it is for, its arguments, and the function that does it."""

    name: str
    description: str
    arguments: type[BaseModel]
    function: Callable[..., Mapping[str, Any]]

    def schema(self) -> dict[str, Any]:
        """The tool in the form of chat completions."""
        parameters = _plain(self.arguments.model_json_schema())
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }


@lru_cache(maxsize=1)
def all_tools() -> dict[str, Tool]:
    """The eleven tools by name."""
    return {function.__name__: tool_of(function) for function in FUNCTIONS}


def tool_of(function: Callable[..., Mapping[str, Any]]) -> Tool:
    """The tool of a typed function: its first argument is the tool session, each other one an argument of the model."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        fields[name] = (hints[name], ... if parameter.default is parameter.empty else parameter.default)
    arguments = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    return Tool(function.__name__, inspect.getdoc(function) or "", arguments, function)


class Toolbox:
    """Calls tools by name with JSON text.

    Args:
        tools: the run's tool session, the first argument of every tool's function.
        most_calls: calls that the run may make, those that fail included.
        known: the tools by name; the eleven for kernels if absent.
    """

    def __init__(self, tools: Any, most_calls: int, known: Mapping[str, Tool] | None = None) -> None:
        self._tools = tools
        self._most = most_calls
        self._known = all_tools() if known is None else known
        self._calls = 0

    def schemas(self) -> list[dict[str, Any]]:
        """All tools, in the form of chat completions."""
        return [tool.schema() for tool in self._known.values()]

    @property
    def left(self) -> int:
        """Calls that the run may still make."""
        return self._most - self._calls

    def call(self, name: str, arguments: str, *, truncated: bool = False, length: int | None = None) -> dict[str, Any]:
        """Call a tool.

        Args:
            name: as the model wrote it.
            arguments: a JSON object as text, as the model wrote it.
            truncated: whether the answer that held it ended at a limit of its length.
            length: how long the arguments were, where only their beginning was kept.

        Returns:
            The tool's result, or ``{"error": ...}``.

        Raises:
            BudgetSpent: when the run has no call left.
        """
        if self._calls >= self._most:
            raise BudgetSpent(f"Expected at most {self._most} tool calls in a run. Got one more.")
        self._calls += 1
        tool = self._known.get(name)
        if tool is None:
            return _error("unknown_tool", f"Expected a tool of {', '.join(self._known)}. Got {name[:80]!r}.")
        try:
            given = _arguments(name, arguments, truncated, length or len(arguments))
            sound = sound_values(tool.arguments.model_validate(given).model_dump(exclude_unset=True))
            checked = tool.arguments.model_validate(sound)  # again, since text that held JSON is parsed by now
            result = tool.function(self._tools, **{key: getattr(checked, key) for key in type(checked).model_fields})
            result = sound_values(result)
        except _Unreadable as unreadable:
            return unreadable.record
        except ValidationError as error:
            return _wrong_arguments(tool, error)
        except (BudgetSpent, ArchiveError, WorkerLost):
            raise
        except SandboxFailure as failure:
            return _error("program_failed", failure.message, failure.hint, state=failure.state)
        except KernautError as error:
            return _error(next(kind for cls, kind in KINDS if isinstance(error, cls)), error.message, error.hint)
        return dict(result)


def sound_values(value: Any) -> Any:
    """A JSON value whose texts can be stored and hold no secret.

    Raises:
        InputError: for a number that is not finite or has more than 300 digits.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): sound_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sound_values(item) for item in value]
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InputError("Expected numbers of at most 300 digits. Got a longer one.")
    require_json(value, "the values")
    return value


class _Unreadable(Exception):
    """Arguments that are no JSON object."""

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__()
        self.record = record


def _arguments(name: str, text: str, truncated: bool, length: int) -> Mapping[str, Any]:
    if length > MOST_ARGUMENTS:
        message = f"Expected arguments of at most {MOST_ARGUMENTS} characters for {name}. Got {length}."
        raise _Unreadable(_error("arguments_too_long", message, "Write a shorter program."))
    try:
        value = json.loads(text)
        if isinstance(value, str):
            value = json.loads(value)
        value = sound_values(value)
    except InputError as error:
        raise _Unreadable(_error("invalid_arguments", error.message, error.hint)) from None
    except (ValueError, RecursionError) as error:
        place = getattr(error, "pos", 0)
        near = text[max(0, place - 30) : place + 30]
        hint = "Call the tool again with one JSON object; escape line breaks and quotes inside strings."
        if truncated:
            hint = "Your answer was cut off at a length limit: write a shorter source, with fewer words around it."
        message = f"Expected a JSON object as the arguments of {name}. Got: {error}, near {near!r}."
        raise _Unreadable(_error("arguments_not_json", message, hint)) from None
    if not isinstance(value, Mapping):
        message = f"Expected a JSON object as the arguments of {name}. Got {type(value).__name__}."
        raise _Unreadable(_error("arguments_not_json", message))
    return value


def _wrong_arguments(tool: Tool, error: ValidationError) -> dict[str, Any]:
    problems = [
        {"argument": ".".join(str(part) for part in item["loc"]) or tool.name, "problem": item["msg"]}
        for item in error.errors(include_url=False, include_input=False)[:20]
    ]
    fields = tool.arguments.model_fields
    required = [name for name, field in fields.items() if field.is_required()]
    message = f"Expected the arguments {', '.join(fields) or '(none)'} for {tool.name}; required: {', '.join(required) or '(none)'}."
    return _error("invalid_arguments", message, problems=problems)


def _error(kind: str, message: str, hint: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message, **({"hint": hint} if hint else {}), **more}}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without titles and references, which some servers cannot read; ``anyOf`` with null becomes the other type."""
    definitions = schema.pop("$defs", {})

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            node = {**definitions[node["$ref"].rsplit("/", 1)[1]], **{k: v for k, v in node.items() if k != "$ref"}}
        kinds = [item for item in node.get("anyOf", []) if item != {"type": "null"}]
        if len(kinds) == 1:
            node = {**kinds[0], **{k: v for k, v in node.items() if k not in ("anyOf", "default")}}
        return {
            key: walk_properties(value) if key == "properties" else walk(value)
            for key, value in node.items()
            if key != "title"
        }

    def walk_properties(properties: dict[str, Any]) -> dict[str, Any]:
        return {name: walk(value) for name, value in properties.items()}

    plain: dict[str, Any] = walk(schema)
    plain.pop("description", None)
    plain.setdefault("properties", {})
    return plain
