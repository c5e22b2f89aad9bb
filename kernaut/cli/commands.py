"""The global options and the commands of ``kernaut``, put together; :mod:`kernaut.cli.main` runs them."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from kernaut import __version__
from kernaut.cli import (
    archives,
    baselines,
    benchmark,
    campaign,
    cegar,
    chem,
    data,
    doctor,
    exporting,
    extending,
    glucose,
    notebooks,
    programs,
    references,
    reports,
    sealed,
    tables,
    ts,
    viz,
)
from kernaut.cli.outcome import Commands
from kernaut.cli.terminal import Terminal

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernaut {__version__}")
        raise typer.Exit


@app.callback()
def kernaut(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show log lines, and tracebacks of errors.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show warnings and errors only.")] = False,
) -> None:
    """Discover Gaussian-process kernels that transfer to tasks the search never saw.

    Reports are JSON on standard output (or --out FILE); progress, warnings and errors go to standard error.
    """
    ctx.obj = Terminal(verbose=verbose, quiet=quiet)
    if verbose:
        sys.excepthook = sys.__excepthook__
    level = logging.DEBUG if verbose else logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("kernaut").setLevel(level)


app.command("meta-run")(campaign.meta_run)
app.command("select")(campaign.select)
app.command("meta-benchmark")(benchmark.meta_benchmark)
app.command("ts-run")(ts.ts_run)
app.command("ts-benchmark")(ts.ts_benchmark)
app.command("chem-run")(chem.chem_run)
app.command("chem-benchmark")(chem.chem_benchmark)
app.command("glucose-run")(glucose.glucose_run)
app.command("glucose-benchmark")(glucose.glucose_benchmark)
app.command("glucose-sealed-test")(glucose.glucose_sealed_test)
app.command("references")(references.references)
app.command("verify")(programs.verify)
app.command("inspect")(programs.inspect)
app.command("export")(exporting.export)
app.command("baselines")(baselines.baselines)
app.command("run")(tables.run)
app.command("fit")(tables.fit)
app.command("task-run")(extending.task_run)
app.command("extensions")(extending.extensions)
app.command("init")(extending.init)
app.add_typer(archives.app, name="archive")
app.add_typer(data.app, name="data")
app.add_typer(notebooks.app, name="notebook")
app.add_typer(sealed.app, name="sealed")
app.add_typer(cegar.app, name="cegar")
app.command("viz")(viz.viz)
app.command("report")(reports.report)
app.command("doctor")(doctor.doctor)
