"""``kernaut cegar report|compose|export|replay|analyse|advise``: what a campaign of evaluator evolution found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernaut.cli.cegar_options import (
    ArmOption,
    CacheOption,
    CampaignOption,
    DomainOption,
    MostOption,
    RuleVotesOption,
    TestOption,
    campaign_named,
    given,
    pinned,
    require_concerned,
    votes_of,
)
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, DropOption, OutOption
from kernaut.cli.terminal import Terminal, read_text, require_writable, write_json, write_text
from kernaut.errors import InputError

if TYPE_CHECKING:
    from kernaut.archive.store import Archive
    from kernaut.operators.rules import Rule


def report(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    votes: RuleVotesOption = "2",
    most: MostOption = 6,
    test: TestOption = 0,
    transfer: Annotated[bool, typer.Option("--transfer", help="code: measure on a second pool, too.")] = False,
    transfer_samples: Annotated[
        str | None,
        typer.Option(
            "--transfer-samples", metavar="FILE", help="code: a second pool of JSONL candidates of the same tasks."
        ),
    ] = None,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Measure every run's rule, baselines and their nulls on training and unseen tasks."""
    from kernaut.operators.domains import baseline_rules
    from kernaut.operators.model_judge import judgements
    from kernaut.operators.running import report as measured
    from kernaut.operators.store import stored_runs

    require_writable(out)
    require_concerned(ctx, domain)
    if transfer and transfer_samples is not None:
        raise InputError("Expected --transfer or --transfer-samples: one second pool. Got both.")
    name, wanted = campaign_named(campaign, domain, arm), votes_of(votes)
    with _opened(archive, domain) as opened:
        made = pinned(
            ctx, opened, domain, name, cache, test=test, second_pool=transfer, transfer_samples=transfer_samples
        )
        runs, rules = stored_runs(opened, name), baseline_rules(made)
        judged = {on: judgements(opened, name, made.electorate(on)) for on in made.reported()}
        terminal: Terminal = ctx.obj
        with terminal.progress() as progress:
            found = measured(
                made, runs, made.reported(), rules, votes=wanted, most=most, judged=judged, done=progress.at
            )
    write_json(found, out)


def compose(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    votes: RuleVotesOption = "2",
    most: MostOption = 6,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Choose the rule of all runs' operators by exact enumeration on training labels, and write it as JSON."""
    require_writable(out)
    require_concerned(ctx, domain)
    with _opened(archive) as opened:
        rule, search = _composed(ctx, opened, domain, campaign_named(campaign, domain, arm), cache, votes, most)
    write_json({"domain": domain, **rule.to_json(), "search": search}, out)


def export(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The Python file.")],
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    rule: Annotated[Path | None, typer.Option("--rule", metavar="FILE", help="A rule that compose wrote.")] = None,
    votes: RuleVotesOption = "2",
    most: MostOption = 6,
    cache: CacheOption = None,
) -> None:
    """Write a composed rule as one readable, self-contained Python file."""
    from kernaut.operators.rules import exported

    require_writable(out)
    require_concerned(ctx, domain)
    if rule is not None:
        for unread in ("archive", "campaign", "arm", "votes", "most", "cache"):
            if given(ctx, unread):
                raise InputError(f"Expected --rule without --{unread}: the rule is composed. Got both.")
        chosen, domain = _read_rule(rule, domain if given(ctx, "domain") else None)
    else:
        with _opened(archive) as opened:
            chosen, _ = _composed(ctx, opened, domain, campaign_named(campaign, domain, arm), cache, votes, most)
    write_text(exported(chosen, domain), out)
    typer.echo(f"{len(chosen.operators)} operators, {chosen.votes} must flag: {out}", err=True)


def replay(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    cache: Annotated[
        Path | None, typer.Option("--cache", metavar="DIR", help="code: banks; verdicts are always formed anew.")
    ] = None,
    grown: Annotated[
        bool, typer.Option("--grown", help="Report another electorate as another evaluation instead of refusing it.")
    ] = False,
    out: OutOption = None,
) -> None:
    """Form the stored verdicts again; exit code 1 when one differs. Another electorate is refused."""
    from kernaut.operators.running import replay as replayed
    from kernaut.operators.store import stored_runs

    require_writable(out)
    require_concerned(ctx, domain)
    name = campaign_named(campaign, domain, arm)
    with _opened(archive) as opened:
        record = opened.campaign(name)
        made = pinned(ctx, opened, domain, name, cache, fresh=True, held_out=False, grown=grown)
        found = replayed(made, stored_runs(opened, name), record)
    write_json(found, out)
    if found["verdicts_changed"] and not grown:
        raise typer.Exit(1)


def analyse(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ANALYSIS]...",
            help="criteria, halves, sweep, budget, duplication, veto, ledger, induction, judge; all if absent.",
        ),
    ] = None,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    votes: RuleVotesOption = "2",
    test: TestOption = 0,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Criteria and their landscape, split halves, lambda sweep, transfer budget, duplication, veto, gate ledger, verifier induction, judges."""
    from kernaut.operators.model_judge import judgements
    from kernaut.operators.store import stored_runs
    from kernaut.operators.studies import require_known, studies

    require_writable(out)
    require_concerned(ctx, domain)
    require_known(what or [])
    name, wanted = campaign_named(campaign, domain, arm), votes_of(votes)
    with _opened(archive, domain) as opened:
        made = pinned(ctx, opened, domain, name, cache, test=test)
        judges = judgements(opened, name, made.electorate("unseen"))
        found = studies(made, stored_runs(opened, name), what or [], votes=wanted, judges=judges)
    write_json(found, out)


def advise(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="A table: CSV, JSON or Parquet.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    target: Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="The target column.")] = None,
    drop: DropOption = None,
    rule: Annotated[
        Path | None, typer.Option("--rule", metavar="FILE", help="A rule that compose wrote. [default: by hand]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws rows of a long table.")] = 0,
    out: OutOption = None,
) -> None:
    """Which of an archive's kernels to trust on a table, with the reasons in words."""
    from kernaut.archive.store import Archive
    from kernaut.episodes.table import read_table
    from kernaut.operators.kernels.advice import advise as advised
    from kernaut.operators.kernels.symptoms import HAND_WRITTEN
    from kernaut.operators.rules import Rule

    require_writable(out)
    table = read_table(data, target, drop=drop or ())
    terminal: Terminal = ctx.obj
    for line in table.cleaning.lines():
        terminal.note(line)
    by_hand = Rule("hand-written, at least two", HAND_WRITTEN, 2)
    chosen = by_hand if rule is None else _read_rule(rule, "kernels")[0]
    with Archive.open(archive, read_only=True) as opened:
        write_json(advised(opened, table, chosen, seed=seed), out)


def _composed(
    ctx: typer.Context, archive: Archive, domain: str, name: str, cache: Path | None, votes: str, most: int
) -> tuple[Rule, dict[str, Any] | None]:
    from kernaut.operators.rules import composed
    from kernaut.operators.running import distinct
    from kernaut.operators.store import stored_runs

    wanted = votes_of(votes)
    made = pinned(ctx, archive, domain, name, cache, held_out=False)
    operators, verdicts = distinct(stored_runs(archive, name))
    rule, search = composed(operators, verdicts, made.electorate("train"), votes=wanted, most=most)
    return rule, None if search is None else search.to_json()


def _read_rule(path: Path, domain: str | None) -> tuple[Rule, str]:
    """A rule that compose wrote, and its domain; ``domain`` is the one that is wanted.

    Raises:
        InputError: for another file, or a rule of another domain.
        ProgramRefused: when the source of an operator breaks a rule.
    """
    from kernaut.digest import loads_finite
    from kernaut.operators.records import Operator
    from kernaut.operators.rules import Rule
    from kernaut.operators.source_rules import require_operator_source

    record = loads_finite(read_text(path, "rule"), str(path))
    votes = record.get("votes") if isinstance(record, dict) else None
    if not isinstance(record.get("operators") if isinstance(record, dict) else None, list) or type(votes) is not int:
        raise InputError(f"Expected a rule with operators and votes in {path}. Got something else.")
    if votes < 1:
        raise InputError(f"Expected a rule of at least 1 vote in {path}. Got {votes}.")
    own = record.get("domain", domain or "code")
    if not isinstance(own, str) or re.fullmatch(r"\w[\w-]*", own) is None or own != (domain or own):
        raise InputError(f"Expected a rule of the domain {domain or 'code'} in {path}. Got one of {own!r}.")
    operators = tuple(Operator.from_json(operator) for operator in record["operators"])
    for operator in operators:
        require_operator_source(operator)
    return Rule(str(record.get("name", path.stem)), operators, votes), own


def _opened(archive: str, looks: str = "") -> Archive:
    """An archive to read; to write where a command opens held-out episodes of the domain ``kernels``, which counts a look."""
    from kernaut.archive.store import Archive

    return Archive.open(archive, read_only=looks != "kernels")
