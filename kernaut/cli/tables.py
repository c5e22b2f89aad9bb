"""``kernaut run`` and ``kernaut fit``: search on a user's own table, or fit one kernel to it and predict."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernaut.cli import ranges
from kernaut.cli.options import (
    DEFAULT_ARCHIVE,
    ArchiveOption,
    DataOption,
    DropOption,
    OutOption,
    TargetOption,
    WorkersOption,
    worker_count,
)
from kernaut.cli.outcome import Resumable, command_line
from kernaut.cli.searching import (
    ROUNDS,
    RUNS,
    TOOL_CALLS,
    ConfigOption,
    ContextOption,
    DryRunOption,
    ForceOption,
    IterationsOption,
    MaxCostOption,
    MaxTokensOption,
    MaxToolCallsOption,
    NoveltyOption,
    RoundsOption,
    SeedOption,
    expected_of,
    first_given,
    require_prices,
)
from kernaut.cli.terminal import Progress, Terminal, require_writable, write_json, write_text

if TYPE_CHECKING:
    from kernaut.archive.store import Archive
    from kernaut.authors.author import Author
    from kernaut.episodes.table_benchmark import TableRegression
    from kernaut.search.bandit import Ensemble
    from kernaut.search.campaign import CampaignOptions
    from kernaut.search.table_run import Chosen


class AuthorName(StrEnum):
    """Who writes the programs."""

    offline = "offline"
    config = "config"


def run(
    ctx: typer.Context,
    data: DataOption,
    target: TargetOption = None,
    drop: DropOption = None,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    author: Annotated[
        AuthorName | None,
        typer.Option("--author", help="Who writes: offline needs no --config. [default: config where one is given]"),
    ] = None,
    config: ConfigOption = None,
    context: ContextOption = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run-id",
            metavar="NAME",
            help="The search's name; a known one is resumed. [default: FILE-seed-N]",
            callback=ranges.printable,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("--folds", metavar="K", help="Hold out each of K folds in turn, and score it."),
    ] = None,
    time_order: Annotated[
        bool, typer.Option("--time-order", help="Rows are in the order of time: hold out the last fifth, and score it.")
    ] = False,
    iterations: IterationsOption = RUNS,
    rounds_per_iteration: RoundsOption = ROUNDS,
    max_tool_calls: MaxToolCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    dry_run: DryRunOption = False,
    novelty_threshold: NoveltyOption = 0.08,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    force: ForceOption = None,
    out: OutOption = None,
) -> None:
    """Search for kernels of your own table, and print what was found.

    First the eight reference kernels are tuned on the table, then programs are searched, scored by the log marginal likelihood of its rows. With --folds or
    --time-order the search is made once more for each held-out part, on the other rows alone, and the report has the scores on held-out rows. Interrupt it at any
    moment: the same command goes on.
    """
    from kernaut.cli.config import read_config

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    read_config(config, for_models=author is not AuthorName.offline)
    asked = {"data": str(data), "target": target, "drop": list(drop or ())}
    whole = _table(asked)
    rule = {"folds": folds, "time_order": time_order}
    parts = [] if folds is None and not time_order else _parts(asked, rule)

    from kernaut.archive.store import Archive
    from kernaut.search.table_run import MANY_ROWS, expected_seconds, table_report

    writer, options = _search_options(
        whole,
        author,
        config,
        context,
        iterations,
        rounds_per_iteration,
        max_tool_calls,
        (max_tokens, max_cost),
        novelty_threshold,
        seed,
        ready=not dry_run,
    )
    for line in whole.table.cleaning.lines():
        terminal.note(line)
    if len(whole.table) > MANY_ROWS:
        minutes = expected_seconds(len(whole.table), options.run_count, 1 + len(parts), count) / 60.0
        terminal.warn(
            f"{len(whole.table)} rows: exact inference grows with the cube of the rows; expect about {minutes:.0f} minutes. A random part of the rows is faster."
        )
    name = run_id or f"{data.stem}-seed-{options.search.seed}"
    if dry_run:
        write_json({"searches": 1 + len(parts), "each": expected_of(writer, options, archive, name)}, out)
        return
    try:
        with Archive.open_or_create(archive) as opened, terminal.progress() as progress:
            location = str(opened.location)
            one = _Search(opened, options, writer, count, force, progress)
            found = [one.made({**asked, **rule, "part": place}, part, name) for place, part in enumerate(parts)]
            all_rows = one.made(asked, whole, name)
            report = table_report(opened, all_rows, found, one.stopped)
    except KeyboardInterrupt as error:
        raise Resumable(command_line(ctx, run_id=name, archive=archive)) from error
    write_json(report, out)
    _tell(terminal, report)
    terminal.note(f"search {name} is in {location}")


class _Search:
    """Searches on a table and on the parts that are learnt from."""

    def __init__(
        self,
        archive: Archive,
        options: CampaignOptions,
        author: Author | Ensemble,
        workers: int,
        force: str | None,
        progress: Progress,
    ) -> None:
        self.archive, self.options, self.author = archive, options, author
        self.workers, self.force, self.progress = workers, force, progress
        self.stopped: str | None = None

    def made(self, asked: Mapping[str, Any], benchmark: TableRegression, name: str) -> Chosen:
        """Tune the references, then search; what is there already is not made again."""
        from dataclasses import replace

        from kernaut.digest import FrozenMapping
        from kernaut.evaluation.baselines import KINDS
        from kernaut.evaluation.references import table_references
        from kernaut.search.campaign import run_campaign
        from kernaut.search.table_run import chosen_of

        rule, part = benchmark.rule, benchmark.part
        label = "all rows" if rule is None or part is None else rule.label(part)
        campaign = name if rule is None or part is None else f"{name}-{label}"
        references = table_references(
            benchmark,
            workers=self.workers,
            done=lambda done: self.progress.at(f"references, {label}", done, len(KINDS)),
        )
        report = run_campaign(
            self.archive,
            replace(self.options, search=replace(self.options.search, benchmark_options=FrozenMapping(asked))),
            self.author,
            campaign_id=campaign,
            workers=self.workers,
            force=self.force,
            on_run=lambda summary: self.progress.at(f"search, {label}", summary.index + 1, summary.run_count),
        )
        self.stopped = report.get("stopped", self.stopped)
        return chosen_of(self.archive, campaign, benchmark, references, label)


def fit(
    ctx: typer.Context,
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="A candidate JSON file, or a program's identifier with --archive.")
    ],
    data: DataOption,
    target: TargetOption = None,
    drop: DropOption = None,
    predict: Annotated[
        Path | None, typer.Option("--predict", metavar="FILE", help="New rows with the same input columns.")
    ] = None,
    archive: Annotated[
        str | None, typer.Option("--archive", metavar="PATH", help="Where an identifier is looked up.")
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Tune the program's declared parameters to the table first.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write predictions (.csv), or the whole report (.json)."),
    ] = None,
) -> None:
    """Fit a kernel to your table, and predict new rows with 95 % intervals.

    Without --out the report is printed as JSON; an --out that ends in .csv gets the predictions alone: the new rows' inputs, mean, sd, lower, upper.
    """
    from kernaut.episodes.table import read_table
    from kernaut.episodes.table_cleaning import input_matrix
    from kernaut.episodes.table_file import read_inputs
    from kernaut.errors import InputError

    terminal: Terminal = ctx.obj
    require_writable(out)
    as_csv = out is not None and out.suffix.lower() == ".csv"
    if as_csv and predict is None:
        raise InputError("Expected --predict FILE with an --out that ends in .csv. Got none.")
    with _found(program, archive) as (chosen, resolve):
        table = read_table(data, target, drop=tuple(drop or ()))
        rows = None if predict is None else input_matrix(read_inputs(predict), table.columns, str(predict))
        for line in table.cleaning.lines():
            terminal.note(line)

        from kernaut.fitting.regression import fit as fit_kernel
        from kernaut.kernels.interpreter import interpret

        kernel = interpret(chosen, resolve=resolve)
        fitted = fit_kernel(kernel, table.inputs, table.targets, tune=tune)
        predicted = None if rows is None else fitted.predict(rows)
        kernel.close()
    report: dict[str, Any] = {
        "program": {"candidate_id": chosen.id, "name": chosen.name, "parameters": fitted.parameters(), "tuned": tune},
        "table": {
            "rows": len(table),
            "columns": list(table.columns),
            "target": table.target,
            "cleaning": table.cleaning.to_json(),
        },
        "fit": {
            "amplitude": fitted.fit.amplitude,
            "noise": fitted.fit.noise,
            "noise_sd_in_units": fitted.noise_sd,
            "log_marginal_likelihood": fitted.fit.log_marginal,
        },
    }
    if predicted is not None and rows is not None:
        columns = {"mean": predicted.mean, "sd": predicted.sd, "lower": predicted.lower, "upper": predicted.upper}
        if as_csv:
            assert out is not None
            _write_csv(out, {**dict(zip(table.columns, rows.T, strict=True)), **columns})
            terminal.note(f"{len(rows)} predictions with 95 % intervals are in {out}")
            return
        report["predictions"] = [
            dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    write_json(report, out)


def _table(asked: Mapping[str, Any]) -> TableRegression:
    from kernaut.episodes.table_benchmark import TableRegression

    return TableRegression(**asked)


def _parts(asked: Mapping[str, Any], rule: Mapping[str, Any]) -> list[TableRegression]:
    """The table with each part held out; every part is cut before anything long begins."""
    first = _table({**asked, **rule, "part": 0})
    assert first.rule is not None
    parts = [first, *(_table({**asked, **rule, "part": place}) for place in range(1, first.rule.count))]
    for part in parts:
        _ = part.training, part.testing
    return parts


def _search_options(
    table: TableRegression,
    author: AuthorName | None,
    config: Path | None,
    context: Path | None,
    iterations: int,
    rounds: int,
    max_tool_calls: int | None,
    limits: tuple[int | None, float | None],
    novelty_threshold: float,
    seed: int | None,
    *,
    ready: bool,
) -> tuple[Author | Ensemble, CampaignOptions]:
    from kernaut.cli.authors import author_of
    from kernaut.cli.config import Config, read_config
    from kernaut.digest import FrozenMapping
    from kernaut.errors import InputError
    from kernaut.search.allowance import Allowance
    from kernaut.search.campaign import CampaignOptions
    from kernaut.search.workbench import SearchOptions

    offline = author is AuthorName.offline or (author is None and config is None)
    if author is AuthorName.config and config is None:
        raise InputError("Expected --config FILE with --author config. Got none.")
    settings = read_config(config, for_models=not offline)
    options = CampaignOptions(
        search=SearchOptions(
            benchmark=table.name,
            seed=first_given(seed, settings.campaign.seed, 0),
            episodes_per_family=1,
            novelty_threshold=novelty_threshold,
            benchmark_options=FrozenMapping(table.options()),
            limits=settings.execution.limits(),
        ),
        runs=iterations,
        rounds=first_given(settings.campaign.max_rounds, None, rounds),
        tool_calls=first_given(max_tool_calls, settings.campaign.max_tool_calls, TOOL_CALLS),
        allowance=Allowance(
            first_given(limits[0], settings.campaign.max_tokens, None),
            first_given(limits[1], settings.campaign.max_cost, None),
        ),
    )
    writer = author_of(Config() if offline else settings, context, table.name, ready=ready)
    require_prices(writer, options)
    return writer, options


def _tell(terminal: Terminal, report: Mapping[str, Any]) -> None:
    """The result in a few lines for a person."""
    selected = report["selected"]
    if selected is None:
        terminal.warn("no program was accepted; the references stand in the report")
    else:
        terminal.note(
            f"selected {selected['candidate_id']} ({selected['name']}): log marginal likelihood {selected['log_marginal_likelihood']:.2f}, "
            f"{selected['gain_on_best_reference']:+.2f} on the best reference"
        )
    if "stopped" in report:
        terminal.warn(str(report["stopped"]))
    if "held_out" in report:
        for row in report["held_out"]["kernels"]:
            low, high = row["interval"]
            terminal.note(f"held-out CRPS {row['kernel']:<17} {row['mean_crps']:.4f} ({low:.4f} to {high:.4f})")


def _found(program: str, archive: str | None) -> Any:
    """A program of a file or an archive, and what looks others up, until the block ends."""
    from contextlib import contextmanager

    @contextmanager
    def opened() -> Any:
        from kernaut.archive.store import Archive
        from kernaut.errors import InputError
        from kernaut.program.program import load_candidate
        from kernaut.report.inspection import program_named

        if archive is None and not Path(program).is_file():
            raise InputError(
                f"Expected a candidate file, or an identifier with --archive. Got {program!r} and no archive.",
                hint="Give --archive PATH to look an identifier up.",
            )
        if archive is None:
            yield load_candidate(program), None
            return
        with Archive.open(archive, read_only=True) as store:
            yield (load_candidate(program) if Path(program).is_file() else program_named(store, program)), store.program

    return opened()


def _write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([repr(float(v)) for v in column] for column in columns.values()), strict=True))
    write_text(text.getvalue(), path)
