"""The commands of evaluator evolution: run, report, compose, replay, analyse, export and advise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption
from kernaut.cli.terminal import Terminal, read_text, require_writable, write_json, write_text
from kernaut.errors import InputError

if TYPE_CHECKING:
    from kernaut.archive.store import Archive
    from kernaut.operators.domain import Domain
    from kernaut.operators.rules import Rule

app = typer.Typer(
    help="Grow an evaluator from its own blind spots (EvalCEGAR).", no_args_is_help=True, rich_markup_mode=None
)

DomainOption = Annotated[str, typer.Option("--domain", metavar="NAME", help="code, kernels, or an installed one.")]
CampaignOption = Annotated[
    str | None, typer.Option("--campaign", metavar="NAME", help="The campaign. [default: cegar-DOMAIN-ARM]")
]
ArmOption = Annotated[str, typer.Option("--arm", help="collision, target-only, direct, recall-gated or narrow.")]
TasksOption = Annotated[
    str | None, typer.Option("--tasks", metavar="FILE", help="code: JSONL tasks. [default: HumanEval, if installed]")
]
SamplesOption = Annotated[
    str | None, typer.Option("--samples", metavar="FILE", help="code: JSONL candidates. [default: a synthetic bank]")
]
VisibleOption = Annotated[
    str,
    typer.Option("--visible", help="code: visible checks from suite (first two assertions) or prompt (its examples)."),
]
LimitOption = Annotated[int, typer.Option("--limit", help="code: use the first tasks only; 0 for all.")]
SplitSeedOption = Annotated[int, typer.Option("--split-seed", help="code: of the hash that divides tasks.")]
BenchmarkOption = Annotated[str, typer.Option("--benchmark", help="kernels: the benchmark.")]
TrainOption = Annotated[int, typer.Option("--train", help="kernels: meta-training episodes a family.")]
ValidationOption = Annotated[int, typer.Option("--validation", help="kernels: validation episodes a family.")]
KernelsOption = Annotated[
    str | None,
    typer.Option("--kernels", metavar="PATH", help="kernels: the archive of programs. [default: that of --archive]"),
]
TestOption = Annotated[int, typer.Option("--test", help="kernels: test episodes a family; 0 leaves test closed.")]
CacheOption = Annotated[
    Path | None, typer.Option("--cache", metavar="DIR", help="code: banks and verdicts. [default: the user's cache]")
]
VotesOption = Annotated[int, typer.Option("--votes", help="How many operators of a rule must flag, 1 to 4.")]
MostOption = Annotated[int, typer.Option("--most", help="Most operators of a rule, at most 6.")]


@app.command()
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
    options = LoopOptions(seed, arm, attempts, calls, min_helped)  # type: ignore[arg-type]
    chosen = _domain_options(tasks, samples, visible, limit, split_seed, benchmark, train, validation, kernels)
    terminal = ctx.obj if isinstance(ctx.obj, Terminal) else Terminal()
    with Archive.open_or_create(archive) as opened, terminal.progress() as progress:
        made = _open(
            domain, chosen, opened, cache, progress_of=lambda done, total: progress.at("candidates", done, total)
        )
        found = run_campaign(
            opened,
            campaign or f"cegar-{domain}-{arm}",
            made,
            OfflineAuthor(),
            options,
            runs,
            domain_options=chosen.to_json(),
            done=progress.at,
        )
    rows = [{"run": r.index, "admitted": [o.to_json() for o in r.operators], **_without(r.result)} for r in found]
    write_json({"campaign": campaign or f"cegar-{domain}-{arm}", "candidates": made.synthetic, "runs": rows}, out)


@app.command()
def report(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    votes: VotesOption = 2,
    most: MostOption = 6,
    test: TestOption = 0,
    transfer: Annotated[bool, typer.Option("--transfer", help="code: measure on a second pool, too.")] = False,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Measure every run's rule, baselines and their nulls on training and unseen tasks."""
    from kernaut.operators.domains import baseline_rules
    from kernaut.operators.running import report as measured
    from kernaut.operators.store import stored_runs

    require_writable(out)
    name = campaign or f"cegar-{domain}-{arm}"
    with _opened(archive) as opened:
        made = _pinned(ctx, opened, domain, name, cache, test=test, second_pool=transfer)
        electorates = [
            "train",
            *(["validation"] if domain == "kernels" else []),
            *(["transfer"] if transfer else []),
            "unseen",
        ]
        found = measured(made, stored_runs(opened, name), electorates, baseline_rules(made), votes=votes, most=most)
    write_json(found, out)


@app.command()
def compose(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    votes: VotesOption = 2,
    most: MostOption = 6,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Choose the rule of all runs' operators by exact enumeration on training labels, and write it as JSON."""
    require_writable(out)
    with _opened(archive) as opened:
        rule, search = _composed(ctx, opened, domain, campaign or f"cegar-{domain}-{arm}", cache, votes, most)
    write_json({"domain": domain, **rule.to_json(), "search": search}, out)


@app.command()
def export(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The Python file.")],
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    rule: Annotated[Path | None, typer.Option("--rule", metavar="FILE", help="A rule that compose wrote.")] = None,
    votes: VotesOption = 2,
    most: MostOption = 6,
    cache: CacheOption = None,
) -> None:
    """Write a composed rule as one readable, self-contained Python file."""
    from kernaut.operators.rules import exported

    require_writable(out)
    if rule is not None:
        chosen = _read_rule(rule)
    else:
        with _opened(archive) as opened:
            chosen, _ = _composed(ctx, opened, domain, campaign or f"cegar-{domain}-{arm}", cache, votes, most)
    write_text(exported(chosen, domain), out)
    typer.echo(f"{len(chosen.operators)} operators, {chosen.votes} must flag: {out}", err=True)


@app.command()
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
    from kernaut.operators.running import require_pinned
    from kernaut.operators.store import stored_runs

    require_writable(out)
    name = campaign or f"cegar-{domain}-{arm}"
    with _opened(archive) as opened:
        record = opened.campaign(name)
        made = _pinned(ctx, opened, domain, name, cache, test=0, second_pool=False, fresh=True)
        found = replayed(made, stored_runs(opened, name), record)
    if not grown:
        require_pinned(found)
    write_json(found, out)
    if found["verdicts_changed"] and not grown:
        raise typer.Exit(1)


@app.command()
def analyse(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ANALYSIS]...",
            help="criteria, halves, sweep, budget, duplication, veto, ledger, induction; all if absent.",
        ),
    ] = None,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    votes: VotesOption = 2,
    test: TestOption = 0,
    cache: CacheOption = None,
    out: OutOption = None,
) -> None:
    """Criteria and their landscape, split halves, lambda sweep, transfer budget, duplication, veto, gate ledger, verifier induction."""
    from kernaut.operators.store import stored_runs
    from kernaut.operators.studies import studies

    require_writable(out)
    name = campaign or f"cegar-{domain}-{arm}"
    with _opened(archive) as opened:
        made = _pinned(ctx, opened, domain, name, cache, test=test, second_pool=False)
        found = studies(made, stored_runs(opened, name), what or [], votes=votes)
    write_json(found, out)


@app.command()
def advise(
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="A table: CSV, JSON or Parquet.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    target: Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="The target column.")] = None,
    rule: Annotated[
        Path | None, typer.Option("--rule", metavar="FILE", help="A rule that compose wrote. [default: by hand]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws rows of a long table.")] = 0,
    out: OutOption = None,
) -> None:
    """Which of an archive's kernels to trust on a table, with the reasons in words."""
    from kernaut.archive.store import Archive
    from kernaut.episodes.table import read_table
    from kernaut.operators.advice import advise as advised
    from kernaut.operators.kernel_symptoms import HAND_WRITTEN
    from kernaut.operators.rules import Rule

    require_writable(out)
    table = read_table(data, target)
    chosen = Rule("hand-written, at least two", HAND_WRITTEN, 2) if rule is None else _read_rule(rule)
    with Archive.open(archive, read_only=True) as opened:
        write_json(advised(opened, table, chosen, seed=seed), out)


def _composed(
    ctx: typer.Context, archive: Archive, domain: str, name: str, cache: Path | None, votes: int, most: int
) -> tuple[Rule, dict[str, Any] | None]:
    from kernaut.operators.rules import composed
    from kernaut.operators.running import distinct
    from kernaut.operators.store import stored_runs

    made = _pinned(ctx, archive, domain, name, cache, test=0, second_pool=False)
    operators, verdicts = distinct(stored_runs(archive, name))
    rule, search = composed(operators[:35], verdicts[:35], made.electorate("train"), votes=votes, most=most)
    return rule, None if search is None else search.to_json()


def _read_rule(path: Path) -> Rule:
    """A rule that compose wrote.

    Raises:
        InputError: for another file.
    """
    from kernaut.digest import loads_finite
    from kernaut.operators.records import Operator
    from kernaut.operators.rules import Rule

    record = loads_finite(read_text(path, "rule"), str(path))
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("operators"), list)
        or not isinstance(record.get("votes"), int)
    ):
        raise InputError(f"Expected a rule with operators and votes in {path}. Got something else.")
    return Rule(
        str(record.get("name", path.stem)), tuple(Operator.from_json(o) for o in record["operators"]), record["votes"]
    )


def _opened(archive: str) -> Archive:
    from kernaut.archive.store import Archive

    return Archive.open(archive)


def _domain_options(
    tasks: str | None,
    samples: str | None,
    visible: str,
    limit: int,
    split_seed: int,
    benchmark: str,
    train: int,
    validation: int,
    kernels: str | None,
) -> Any:
    from kernaut.operators.domains import DomainOptions

    if visible not in ("suite", "prompt"):
        raise InputError(f"Expected --visible suite or prompt. Got {visible!r}.")
    return DomainOptions(
        tasks,
        samples,
        visible,  # type: ignore[arg-type]
        limit,
        split_seed=split_seed,
        benchmark=benchmark,
        train=train,
        validation=validation,
        kernels=None if kernels is None else str(Path(kernels).absolute()),
    )


def _pinned(
    ctx: typer.Context,
    archive: Archive,
    domain: str,
    campaign: str,
    cache: Path | None,
    *,
    test: int,
    second_pool: bool,
    fresh: bool = False,
) -> Domain:
    """The domain that a campaign was begun with."""
    from dataclasses import replace

    from kernaut.digest import thaw
    from kernaut.operators.domains import DomainOptions

    record = archive.campaign(campaign)
    options = replace(DomainOptions(**thaw(record.options)["domain"]), test=test)
    terminal = ctx.obj if isinstance(ctx.obj, Terminal) else Terminal()
    with terminal.progress() as progress:
        return _open(
            domain,
            options,
            archive,
            cache,
            second_pool=second_pool,
            fresh=fresh,
            progress_of=lambda done, total: progress.at("candidates", done, total),
        )


def _open(
    domain: str,
    options: Any,
    archive: Archive,
    cache: Path | None,
    *,
    second_pool: bool = False,
    fresh: bool = False,
    progress_of: Any = None,
) -> Domain:
    from kernaut.operators.code_domain import CodeDomain
    from kernaut.operators.domains import open_domain

    made = open_domain(domain, options, archive, cache=cache, second_pool=second_pool, done=progress_of)
    if isinstance(made, CodeDomain):
        made.done = None
        if fresh:
            made.cache = None
    return made


def _without(result: Any) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "admitted"}
