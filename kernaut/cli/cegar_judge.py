"""``kernaut cegar judge|transcript``: a language model's own opinion of candidates, and what was said in authoring calls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli.cegar_options import (
    ArmOption,
    CacheOption,
    CampaignOption,
    DomainOption,
    TestOption,
    campaign_named,
    pinned,
    require_concerned,
)
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption
from kernaut.cli.outcome import Resumable, command_line
from kernaut.cli.searching import DryRunOption, MaxCostOption, MaxTokensOption, first_given
from kernaut.cli.terminal import Terminal, require_writable, write_json
from kernaut.errors import InputError


def judge(
    ctx: typer.Context,
    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="TOML with the model in [llm]; see configs/.")
    ],
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    on: Annotated[str, typer.Option("--on", metavar="NAME", help="The electorate: train, unseen, ...")] = "unseen",
    test: TestOption = 0,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    dry_run: DryRunOption = False,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Ask a language model of each candidate that passes the visible checks whether it is right: a baseline for cegar report.

    It sees no labels, peers or operators. What it said is kept in the archive; the same command asks only about the rest.
    """
    from kernaut.archive.store import Archive
    from kernaut.cli.cegar_models import model_of, require_price
    from kernaut.cli.config import read_config
    from kernaut.operators.model_judge import expected_judging, judge_candidates
    from kernaut.operators.rules import assess

    require_writable(out)
    require_concerned(ctx, domain)
    settings = read_config(config, for_models=True)
    model = model_of(settings, ready=False)
    if model is None:
        raise InputError(f"Expected a language model in the table [llm] of {config}. Got none.")
    tokens = first_given(max_tokens, settings.campaign.max_tokens, None)
    cost = first_given(max_cost, settings.campaign.max_cost, None)
    require_price(model, cost)
    name = campaign_named(campaign, domain, arm)
    terminal: Terminal = ctx.obj
    with Archive.open(archive) as opened:
        made = pinned(ctx, opened, domain, name, cache, test=test, held_out=on != "train")
        electorate = made.electorate(on)
        if dry_run:
            expected = expected_judging(opened, name, made, electorate, model)
            write_json({"model": model.name, "electorate": on, "expected": expected}, out)
            return
        try:
            with terminal.progress() as progress:
                found = judge_candidates(
                    opened,
                    name,
                    made,
                    electorate,
                    model,
                    tokens=tokens,
                    cost=cost,
                    done=lambda made, most: progress.at("judged", made, most),
                )
        except KeyboardInterrupt as error:
            raise Resumable(command_line(ctx)) from error
    if found.left:
        terminal.warn(f"The allowance is spent: {found.left} candidates are not judged. A larger limit goes on.")
    effect = assess(electorate, found.verdicts.flags, "judge")
    write_json({"electorate": on, "candidates": made.synthetic, **found.to_json(), "effect": effect}, out)


def transcript(
    run: Annotated[str, typer.Argument(metavar="RUN", help="CAMPAIGN:INDEX, or a CAMPAIGN.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    call: Annotated[int | None, typer.Option("--call", help="Only this authoring call.")] = None,
    table: Annotated[bool, typer.Option("--table", help="As text for people instead of JSON.")] = False,
    out: OutOption = None,
) -> None:
    """Print what was said in a run's authoring calls, or by a judge."""
    from kernaut.archive.store import Archive
    from kernaut.operators.store import CALL
    from kernaut.report.transcript import transcript_text, transcripts_of

    require_writable(out)
    with Archive.open(archive, read_only=True) as opened:
        found = transcripts_of(opened, run)
    if call is not None:
        for record in found["runs"]:
            place = -1
            kept = []
            for entry in record["entries"]:
                place = entry["content"]["call"] if entry["role"] == CALL else place
                kept += [entry] if place == call else []
            record["entries"] = kept
        if not any(record["entries"] for record in found["runs"]):
            raise InputError(f"Expected an authoring call of {run} with a conversation. Got {call}.")
    if table and out is None:
        typer.echo(transcript_text(found))
    else:
        write_json(found, out)
