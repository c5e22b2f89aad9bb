"""Configuration files: TOML, read with pydantic, unknown keys refused by name.

``[llm]`` names a language model, ``[[ensemble]]`` several members of a campaign (what a member does not say, ``[llm]`` says for it), ``[bandit]``
how one is chosen for a run, ``[campaign]`` seed and budgets, ``[execution]`` the limits of sandboxed programs.  Keys of servers never stand in a file.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernaut.authors.chat import ModelSettings
from kernaut.cli.terminal import read_text
from kernaut.errors import InputError
from kernaut.sandbox.limits import Limits
from kernaut.search.bandit import BanditOptions

MODEL_TABLES = ("llm", "ensemble", "bandit")
"""Tables that steer who writes; a command without an author passes them over."""

OFFLINE = "offline"
"""The provider of an ensemble's member that is the offline author."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelTable(_Table):
    """``[llm]``: which model, where, and how long it is waited for; see :class:`kernaut.authors.chat.ModelSettings`."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    timeout_seconds: float | None = None
    max_retries: int | None = None
    extra_body: dict[str, Any] | None = None
    input_price: float | None = None
    output_price: float | None = None


class MemberTable(ModelTable):
    """``[[ensemble]]``: a member of a campaign, a model or the offline author, and its weight."""

    weight: float = 1.0


class BanditTable(_Table):
    """``[bandit]``: how a member is chosen for a run; see :class:`kernaut.search.bandit.BanditOptions`."""

    enabled: bool = BanditOptions.enabled
    warmup_runs: int = BanditOptions.warmup_runs
    window: int = BanditOptions.window


class CampaignTable(_Table):
    """``[campaign]``: what the command line's options of the same names replace; ``max_cost`` is in US dollars."""

    seed: int | None = None
    max_rounds: int | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    runs_at_once: int = Field(default=1, ge=1, le=64)


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

    llm: ModelTable | None = None
    ensemble: list[MemberTable] = []
    bandit: BanditTable = BanditTable()
    campaign: CampaignTable = CampaignTable()
    execution: ExecutionTable = ExecutionTable()

    def members(self) -> list[tuple[ModelSettings | None, float]]:
        """Who may write, with weights: settings of a model, or None for the offline author; empty where the file names nobody.

        Raises:
            InputError: for a model without a name, or a setting out of range.
        """
        shared = {} if self.llm is None else self.llm.model_dump(exclude_none=True)
        if not self.ensemble:
            return [] if self.llm is None else [(_settings(shared, "[llm]"), 1.0)]
        found: list[tuple[ModelSettings | None, float]] = []
        for place, member in enumerate(self.ensemble, start=1):
            own = member.model_dump(exclude_none=True, exclude={"weight"})
            offline = own.get("provider") == OFFLINE
            same = own.get("provider", shared.get("provider")) == shared.get("provider")
            kept = {key: shared[key] for key in shared if same or key in ("timeout_seconds", "max_retries")}
            found.append((None if offline else _settings(kept | own, f"[[ensemble]] member {place}"), member.weight))
        return found


def _settings(values: dict[str, Any], where: str) -> ModelSettings:
    missing = [name for name in ("provider", "model") if name not in values]
    if missing:
        raise InputError(f"Expected provider and model in {where}. Got no {' and no '.join(missing)}.")
    taken = sorted({"messages", "model", "tools", "stream", "n"} & set(values.get("extra_body", {})))
    if taken:
        raise InputError(f"Expected an extra_body in {where} without what Kernaut sets itself. Got {', '.join(taken)}.")
    return ModelSettings(**values)


def read_config(path: Path | None, *, for_models: bool) -> Config:
    """Read a configuration file; defaults for None.

    Args:
        path: the file.
        for_models: whether the command would call the language models that it names; one that calls none passes those tables over.

    Raises:
        InputError: when the file cannot be read, is not TOML, or holds an unknown key or a value of another type.
    """
    if path is None:
        return Config()
    try:
        record: dict[str, Any] = tomllib.loads(read_text(path, "configuration file"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"Expected TOML in {path}. Got: {error}.") from error
    if not for_models:
        record = {name: table for name, table in record.items() if name not in MODEL_TABLES}
    try:
        config = Config.model_validate(record)
        config.execution.limits()
        config.members()
    except ValidationError as error:
        raise InputError(f"Expected a configuration of Kernaut in {path}. Got {_problem(error)}") from error
    return config


def _problem(error: ValidationError) -> str:
    """The first problem in words, the legal keys listed for an unknown one; values of models are not shown, since a key may be among them."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        shown = "" if place[0] in MODEL_TABLES else f" = {first['input']!r}"
        return f"{'.'.join(place)}{shown}: {first['msg']}."
    tables: dict[str, type[_Table]] = {
        "llm": ModelTable,
        "ensemble": MemberTable,
        "bandit": BanditTable,
        "campaign": CampaignTable,
        "execution": ExecutionTable,
    }
    legal: type[_Table] = tables[place[0]] if len(place) > 1 else Config
    return f"the unknown key {'.'.join(place)}; known are {', '.join(legal.model_fields)}."
