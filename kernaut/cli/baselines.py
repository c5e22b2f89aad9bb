"""``kernaut baselines``: the eight tuned references on a user's table."""

from __future__ import annotations

from typing import Annotated

import typer

from kernaut.cli import ranges
from kernaut.cli.options import DataOption, DropOption, OutOption, TargetOption, WorkersOption, worker_count
from kernaut.cli.terminal import Terminal, require_writable, write_json


def baselines(
    ctx: typer.Context,
    data: DataOption,
    target: TargetOption = None,
    drop: DropOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the starts.", callback=ranges.seed)] = 0,
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Tune the eight reference kernels on a table by marginal likelihood, and print them, the likeliest first."""
    from kernaut.digest import thaw
    from kernaut.episodes.table import read_table

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    table = read_table(data, target, drop=tuple(drop or ()))
    for line in table.cleaning.lines():
        terminal.note(line)

    from kernaut.evaluation.baselines import KINDS, tuned_baselines

    with terminal.progress() as progress:
        tuned = tuned_baselines(
            table.unit_inputs(),
            table.standardized_targets(),
            seed=seed,
            workers=count,
            done=lambda done: progress.at("baselines", done, len(KINDS)),
        )
    rows = [
        {
            "kernel": thaw(baseline.node),
            "amplitude": baseline.amplitude,
            "noise": baseline.noise,
            "log_marginal_likelihood": baseline.log_marginal,
            "likelihoods_calculated": baseline.evaluations,
            "on_bound": list(baseline.on_bound),
        }
        for baseline in sorted(tuned, key=lambda found: (-found.log_marginal, found.kind))
    ]
    write_json({"rows": len(table.targets), "columns": list(table.columns), "seed": seed, "baselines": rows}, out)
