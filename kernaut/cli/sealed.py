"""``kernaut sealed generate``, ``serve``, ``run`` and ``report``: each trusted or confined part runs as a process of its own."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from kernaut.cli.options import OutOption
from kernaut.cli.terminal import Terminal, read_text, require_writable, write_json
from kernaut.errors import InputError

app = typer.Typer(help="Tasks whose answers no policy can read.", no_args_is_help=True, rich_markup_mode=None)

ServiceOption = Annotated[str, typer.Option("--service", metavar="URL", help="The address that serve printed.")]
KEY_HELP = "The sealed key; a place of its own by default."


@app.command()
def generate(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Public folder, new or empty.")],
    count: Annotated[list[str], typer.Option("--count", metavar="FAMILY=N", help="Tasks of a family.")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[FAMILY=N]...", help="Tasks of further families.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="DIR", help="Sealed folder. [default: DIR of --out with -ledger]")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help="An existing key repeats a set, a new file is written. [default: a place of its own]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Public seed of the set.")] = 0,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="FILE|JSON", help="Kernel of fm_kernel_loss: a candidate file or a base node."
        ),
    ] = None,
    rollouts: Annotated[int, typer.Option("--rollouts", help="Random rollouts a task, at least 100.")] = 200,
) -> None:
    """Write public tasks, their sealed ledger and its key to three different places."""
    from kernaut.sealed import client

    options = {} if kernel is None else {"fm_kernel_loss": {"kernel": _kernel(kernel)}}
    where = out.with_name(f"{out.resolve().name}-ledger") if ledger is None else ledger
    made = client.generate(
        client.GenerateOptions(
            out=str(out),
            ledger=str(where),
            counts=_counts([*count, *(more or [])]),
            seed=seed,
            key_file=None if key_file is None else str(key_file),
            options=options,
            rollouts=rollouts,
        )
    )
    typer.echo(f"{made['tasks']} tasks, {made['calibrated']} calibrated")
    for name in ("manifest", "ledger", "key_file"):
        typer.echo(f"{name}: {made[name]}")
    for probe in made["probes"]:
        typer.echo(
            f"probe {probe['family']}: similarity {probe['similarity']:.3f}, permuted {probe['permuted']:.3f}, "
            f"constant {probe['constant']:.3f}"
        )


@app.command()
def serve(
    ledger: Annotated[Path, typer.Option("--ledger", metavar="DIR", help="The sealed folder.")],
    key_file: Annotated[Path | None, typer.Option("--key-file", metavar="FILE", help=KEY_HELP)] = None,
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 for any free one.")] = 0,
    socket: Annotated[
        Path | None, typer.Option("--socket", metavar="PATH", help="Listen on a Unix socket instead of a port.")
    ] = None,
) -> None:
    """Serve a ledger on this machine until Ctrl-C; the address is printed."""
    from kernaut.sealed import client

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with client.serve(ledger, key_file=key_file, port=port, socket=socket) as service:
        typer.echo(service.url)
        try:
            service.wait()
        except KeyboardInterrupt:
            typer.echo("stopping", err=True)


@app.command()
def run(
    ctx: typer.Context,
    manifest: Annotated[Path, typer.Option("--manifest", metavar="DIR", help="The public folder.")],
    service: ServiceOption,
    policy: Annotated[
        list[str], typer.Option("--policy", metavar="NAME", help="A policy; FILE.py:Class for one in a file.")
    ],
    seeds: Annotated[int, typer.Option("--seeds", help="Episodes a task.")] = 5,
    split: Annotated[str, typer.Option("--split", help="train, validation, test or all.")] = "test",
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="FILE|JSON", help="Surrogate of bayesian_optimization: a candidate file or a base node."
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="POLICY.NAME=JSON", help="An option of a policy.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Episodes at once.")] = 2,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="DIR", help="Note unfinished runs there, and go on with them.")
    ] = None,
) -> None:
    """Play policies, each episode in a confined process, and close their runs."""
    from kernaut.sealed import client

    options = _options(option or [])
    if kernel is not None:
        options.setdefault("bayesian_optimization", {})["kernel"] = _kernel(kernel)
    wanted = client.RunOptions(
        manifest=str(manifest),
        service=service,
        policies=policy,
        options=options,
        seeds=seeds,
        split=split,
        workers=workers,
        state=None if state is None else str(state),
    )
    terminal: Terminal = ctx.obj
    with terminal.progress() as progress:

        def show(record: Mapping[str, Any]) -> None:
            if record["event"] == "progress":
                progress.at(record["policy"], record["done"], record["of"])
            elif record["event"] == "failed":
                where = f"{record['policy']} on {record['task_id']} (seed {record['seed']})"
                progress.tell(f"{where}: {record['outcome']}, {record['reason']}")

        runs = client.run(wanted, show)
    for name, identifier in runs.items():
        typer.echo(f"{name}: run {identifier}")


@app.command()
def report(
    service: ServiceOption,
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="ID", help="A run; all closed ones by default.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Runs on this split only.")] = None,
    times: Annotated[bool, typer.Option("--times", help="Add regret against seconds.")] = False,
    details: Annotated[bool, typer.Option("--details", help="Add single episodes (the ledger's owner only).")] = False,
    out: OutOption = None,
) -> None:
    """Ask the service for the regret of closed runs."""
    from kernaut.sealed import client

    require_writable(out)
    try:
        with client.connect(service, role="owner" if details else "runner", patience=5.0) as asked:
            found = asked.report(run, split=split, times=times, details=details)
    except client.ServiceRefusal as refusal:
        raise InputError(refusal.message) from refusal
    write_json(found, out)


def _counts(words: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        name, equals, number = word.partition("=")
        if not equals or not number.isdecimal() or name in counts:
            raise InputError(f"Expected each family once as FAMILY=N. Got {word!r}.", hint="--count haar_encode=20")
        counts[name] = int(number)
    return counts


def _kernel(given: str) -> Any:
    """A base node or candidate record, given as JSON or as a file that holds it."""
    from kernaut.digest import loads_finite

    if given.lstrip().startswith("{"):
        return loads_finite(given, "--kernel")
    return loads_finite(read_text(Path(given), "kernel file"), given)


def _options(words: list[str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        policy, dot, key = name.rpartition(".")
        if not equals or not dot:
            raise InputError(f"Expected --option POLICY.NAME=JSON. Got {word!r}.")
        try:
            options.setdefault(policy, {})[key] = json.loads(text)
        except ValueError as error:
            raise InputError(f"Expected JSON after = in --option {name}. Got {text!r}.") from error
    return options
