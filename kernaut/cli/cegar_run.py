"""``kernaut cegar run``: grow operators on training tasks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kernaut.cli.cegar_options import (
    ArmOption,
    BenchmarkOption,
    CacheOption,
    CampaignOption,
    DomainOption,
    KernelsOption,
    LimitOption,
    OptionsOption,
    SamplesOption,
    SplitSeedOption,
    TasksOption,
    TrainOption,
    ValidationOption,
    VisibleOption,
    domain_options,
    shown_opening,
)
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption
from kernaut.cli.terminal import Terminal, require_writable, write_json
from kernaut.errors import InputError


def run(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    runs: Annotated[int, typer.Option("--runs", help="Seeded runs.")] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the first run.")] = 0,
    calls: Annotated[int, typer.Option("--calls", help="Most authoring calls of a run, at most 60.")] = 60,
    attempts: Annotated[int, typer.Option("--attempts", help="Failed attempts at a level.")] = 3,
    min_helped: Annotated[int, typer.Option("--min-helped", help="Tasks an operator must help.")] = 3,
    tasks: TasksOption = None,
    samples: SamplesOption = None,
    visible: VisibleOption = "suite",
    limit: LimitOption = 0,
    split_seed: SplitSeedOption = 0,
    benchmark: BenchmarkOption = "bbo",
    train: TrainOption = 12,
    validation: ValidationOption = 10,
    kernels: KernelsOption = None,
    options: OptionsOption = None,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Grow operators on training tasks; a broken-off run goes on where it stopped."""
    from kernaut.archive.store import Archive
    from kernaut.operators.authoring import OfflineAuthor
    from kernaut.operators.loop import MOST_CALLS, LoopOptions
    from kernaut.operators.running import run_campaign

    require_writable(out)
    if not 1 <= calls <= MOST_CALLS or runs < 1:
        raise InputError(f"Expected at least one run of 1 to {MOST_CALLS} calls. Got {runs} runs of {calls}.")
    loop = LoopOptions(seed, arm, attempts, calls, min_helped)  # type: ignore[arg-type]
    chosen = domain_options(tasks, samples, visible, limit, split_seed, benchmark, train, validation, kernels, options)
    terminal = ctx.obj if isinstance(ctx.obj, Terminal) else Terminal()
    with Archive.open_or_create(archive) as opened, terminal.progress() as progress:
        made = shown_opening(ctx, domain, chosen, opened, cache)
        found = run_campaign(
            opened,
            campaign or f"cegar-{domain}-{arm}",
            made,
            OfflineAuthor(),
            loop,
            runs,
            domain_options=chosen.to_json(),
            done=progress.at,
        )
    rows = [{"run": r.index, "admitted": [o.to_json() for o in r.operators], **_without(r.result)} for r in found]
    write_json({"campaign": campaign or f"cegar-{domain}-{arm}", "candidates": made.synthetic, "runs": rows}, out)


def _without(result: Any) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "admitted"}
