"""The commands of evaluator evolution."""

from __future__ import annotations

import typer

from kernaut.cli.cegar_judge import judge, transcript
from kernaut.cli.cegar_report import advise, analyse, compose, export, replay, report
from kernaut.cli.cegar_run import run

app = typer.Typer(
    help="Grow an evaluator from its own blind spots (EvalCEGAR).", no_args_is_help=True, rich_markup_mode=None
)
for command in (run, report, compose, export, replay, analyse, judge, transcript, advise):
    app.command()(command)
