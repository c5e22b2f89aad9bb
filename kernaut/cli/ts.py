"""``kernaut ts-run`` and ``kernaut ts-benchmark``: forecasts of the greenhouse-gas records."""

from __future__ import annotations

from typing import Annotated

import typer

from kernaut.cli import ranges
from kernaut.cli.option_records import with_options_of
from kernaut.cli.reporting import REPORT, ReportGiven, SplitName, SplitOption, report, splits_of
from kernaut.cli.searching import SEARCH, SearchGiven, search

DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Folder of refreshed records. [default: the bundled ones]"),
]


@with_options_of
def ts_run(
    ctx: typer.Context,
    episodes_per_family: Annotated[
        int,
        typer.Option("--episodes-per-family", help="Meta-training windows of each gas.", callback=ranges.per_family),
    ] = 3,
    data: DataOption = None,
    given: SearchGiven = SEARCH,
) -> None:
    """Search for forecasting kernels on meta-training windows, at the full horizon of 48 months, and print the campaign's report."""
    search(
        ctx,
        "greenhouse",
        given,
        benchmark_options=_made_with(data),
        episodes_per_family=episodes_per_family,
    )


@with_options_of
def ts_benchmark(
    ctx: typer.Context,
    split: SplitOption = SplitName.all,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Windows of each gas.", callback=ranges.per_family)
    ] = 1,
    horizon_months: Annotated[
        int, typer.Option("--horizon-months", help="Months to forecast.", callback=ranges.count)
    ] = 48,
    data: DataOption = None,
    given: ReportGiven = REPORT,
) -> None:
    """Score programs and the reference kernels on windows of the gas records, and print the report."""
    options = _made_with(data) | ({} if horizon_months == 48 else {"horizon": horizon_months})
    report(
        ctx,
        "greenhouse",
        given,
        benchmark_options=options,
        splits=splits_of(split),
        episodes_per_family=episodes_per_family,
    )


def _made_with(data: str | None) -> dict[str, str | int]:
    return {} if data is None else {"data": data}
