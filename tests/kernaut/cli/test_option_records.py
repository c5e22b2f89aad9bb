"""Records of options in the signature of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kernaut.cli.option_records import with_options_of


@dataclass(frozen=True)
class Given:
    """Two options."""

    depth: Annotated[int, typer.Option("--depth", help="How deep.")] = 2
    names: Annotated[list[str] | None, typer.Option("--name", help="Names.")] = None


SHALLOW = Given()
DEEP = Given(depth=9)
seen_so_far: list[tuple[str, Given]] = []


@with_options_of
def dig(ctx: typer.Context, where: Annotated[str, typer.Option("--where")] = "here", given: Given = SHALLOW) -> None:
    """Dig."""
    seen_so_far.append((f"{ctx.info_name} {where}", given))


@with_options_of
def mine(given: Given = DEEP) -> None:
    """Mine."""
    seen_so_far.append(("mine", given))


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["dig"], ("dig here", Given(2, None))),
        (
            ["dig", "--where", "there", "--depth", "5", "--name", "a", "--name", "b"],
            ("dig there", Given(5, ["a", "b"])),
        ),
        (["mine"], ("mine", Given(9, None))),
        (["mine", "--depth", "1"], ("mine", Given(1, None))),
    ],
)
def test_fields_are_options_and_come_back_as_the_record(words: list[str], seen: tuple[str, Given]) -> None:
    app = typer.Typer()
    app.command()(dig)
    app.command()(mine)
    seen_so_far.clear()
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert seen_so_far == [seen]


def test_a_value_of_the_wrong_kind_is_refused() -> None:
    app = typer.Typer()
    app.command()(mine)
    assert CliRunner().invoke(app, ["--depth", "deep"]).exit_code == 2
