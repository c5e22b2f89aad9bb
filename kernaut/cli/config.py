"""Configuration files of campaigns: TOML, read with pydantic, unknown keys refused by name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kernaut.cli.terminal import read_text
from kernaut.errors import InputError
from kernaut.sandbox.limits import Limits

MODEL_TABLES = ("llm", "ensemble", "bandit")
"""Tables of language models, which no author of this version uses."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CampaignTable(_Table):
    """``[campaign]``: what the command line's options of the same names replace."""

    seed: int | None = None
    max_rounds: int | None = None
    max_tool_calls: int | None = None


class ExecutionTable(_Table):
    """``[execution]``: limits of every sandboxed program; see :class:`kernaut.sandbox.limits.Limits`."""

    request_seconds: float = Limits.request_seconds
    load_seconds: float = Limits.load_seconds
    cpu_seconds: float = Limits.cpu_seconds
    memory_mib: int = Limits.memory_mib
    output_mib: int = Limits.output_mib
    open_files: int = Limits.open_files

    def limits(self) -> Limits:
        """The checked limits.

        Raises:
            InputError: for a limit out of range.
        """
        return Limits(**self.model_dump())


class Config(_Table):
    """A whole file."""

    campaign: CampaignTable = CampaignTable()
    execution: ExecutionTable = ExecutionTable()


def read_config(path: Path | None, *, for_models: bool) -> Config:
    """Read a configuration file; defaults for None.

    Args:
        path: the file.
        for_models: whether the command would call the language models that it names; one that calls none passes those tables over.

    Raises:
        InputError: when the file cannot be read, is not TOML, holds an unknown key or a value of another type, or asks for language models.
    """
    if path is None:
        return Config()
    try:
        record: dict[str, Any] = tomllib.loads(read_text(path, "configuration file"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"Expected TOML in {path}. Got: {error}.") from error
    models = [name for name in MODEL_TABLES if record.pop(name, None) is not None]
    if models and for_models:
        raise InputError(
            f"Expected the tables campaign, execution in {path}. Got {', '.join(models)}: this version has no authors that are "
            "language models.",
            hint="Leave these tables out to search with the offline author.",
        )
    try:
        config = Config.model_validate(record)
        config.execution.limits()
    except ValidationError as error:
        raise InputError(f"Expected a configuration of Kernaut in {path}. Got {_problem(error, record)}") from error
    return config


def _problem(error: ValidationError, record: dict[str, Any]) -> str:
    """The first problem in words, the legal keys listed for an unknown one."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        return f"{'.'.join(place)} = {first['input']!r}: {first['msg']}."
    tables: dict[str, type[_Table]] = {"campaign": CampaignTable, "execution": ExecutionTable}
    legal: type[_Table] = tables[place[0]] if len(place) > 1 else Config
    return f"the unknown key {'.'.join(place)}; known are {', '.join(legal.model_fields)}."
