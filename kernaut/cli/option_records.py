"""Options that several commands take alike, declared once as the fields of a record."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints


def with_options_of(command: Callable[..., None]) -> Callable[..., None]:
    """A command in whose signature each record of options gives way to its fields, as Typer reads them.

    An argument whose default is a record (a frozen dataclass of annotated fields) is filled with a record of that class; the default's values
    are the options' defaults.
    """
    signature = inspect.signature(command, eval_str=True)
    records: dict[str, Any] = {name: p.default for name, p in signature.parameters.items() if is_dataclass(p.default)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name not in records:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(type(records[name]), include_extras=True)
        parameters += [
            inspect.Parameter(
                item.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(records[name], item.name),
                annotation=hints[item.name],
            )
            for item in fields(records[name])
        ]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, default in records.items():
            given[name] = type(default)(**{item.name: given.pop(item.name) for item in fields(default)})
        command(**given)

    called.__dict__.pop("__wrapped__")  # its signature is the one below, not the command's
    called.__dict__["__signature__"] = signature.replace(parameters=parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called
