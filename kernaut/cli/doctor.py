"""``kernaut doctor``: whether this machine has what Kernaut needs, and what to do where it has not."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import typer

from kernaut.cli.outcome import FAILED
from kernaut.cli.terminal import Terminal
from kernaut.errors import KernautError

NEEDED = (
    "torch",
    "gpytorch",
    "linear-operator",
    "numpy",
    "scipy",
    "scoringrules",
    "sqlalchemy",
    "joblib",
    "altair",
    "vl-convert-python",
    "matplotlib",
    "papermill",
    "ipykernel",
    "jupyterlab",
)
PROBE = "def feature_point(x, parameters):\n    return [1.0, x[0]]\n"


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's.

    Args:
        state: ``ok``, ``warn`` (works, with less than it could have) or ``fail``.
        text: what was found.
        fix: what to do about it.
    """

    state: Literal["ok", "warn", "fail"]
    text: str
    fix: str = ""


def doctor(ctx: typer.Context) -> None:
    """Check versions, the sandbox, SQLite, charts and notebooks on this machine; exit code 1 when something is missing."""
    terminal: Terminal = ctx.obj
    probes = (_python, _packages, _sandbox, _sqlite, _charts, _figures, _notebooks, _threads)
    findings = []
    with terminal.progress() as progress:
        for place, examine in enumerate(probes):
            progress.at("examined", place, len(probes))
            findings.append(examine())
    failed = False
    for finding in findings:
        failed |= finding.state == "fail"
        typer.echo(f"{finding.state:<5} {finding.text}")
        if finding.fix:
            typer.echo(f"      {finding.fix}")
    if failed:
        raise typer.Exit(FAILED)


def _python() -> Finding:
    text = (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    )
    return Finding("ok", text)


def _packages() -> Finding:
    found, missing = [], []
    for name in NEEDED:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding("fail", f"missing packages: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    return Finding("ok", ", ".join(found))


def _sandbox() -> Finding:
    """Verify a small program, and say what the operating system enforced meanwhile."""
    from kernaut.program.program import KernelProgram
    from kernaut.verification.verify import verify

    try:
        evidence = verify(KernelProgram("doctor", "feature_map", PROBE), (1,), 0)
    except KernautError as error:
        return Finding("fail", f"the sandbox does not start: {error}", "Programs cannot be run without it.")
    if not evidence.accepted:
        return Finding("fail", f"a sound program was not accepted: {evidence.reason}", "Please report this.")
    held = evidence.protections
    layers = ", ".join(f"{name} {_yes(held[name])}" for name in ("seccomp", "landlock", "rlimits") if name in held)
    lacking = [str(item) for item in held.get("not_enforced", ())]
    if lacking:
        return Finding("warn", f"sandbox: {layers}", f"Not enforced on this machine: {'; '.join(lacking)}.")
    return Finding("ok", f"sandbox: {layers}")


def _yes(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _sqlite() -> Finding:
    with tempfile.TemporaryDirectory(
        prefix="kernaut-doctor-", dir=Path.cwd() if os.access(".", os.W_OK) else None
    ) as folder:
        connection = sqlite3.connect(Path(folder) / "probe.sqlite")
        try:
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        except sqlite3.Error as error:
            mode = str(error)
        finally:
            connection.close()
    text = f"SQLite {sqlite3.sqlite_version}, journal mode {mode}"
    if mode != "wal":
        return Finding("warn", text, "Keep archives on a local disk; network file systems do not support WAL.")
    return Finding("ok", text)


def _charts() -> Finding:
    import altair

    from kernaut.report.picture import chart_png

    chart = altair.Chart(altair.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    size = len(chart_png(chart))
    if altair.__version__.startswith("5."):
        return Finding("ok", f"charts: altair {altair.__version__}, static picture of {size} bytes")
    text = f"charts: altair {altair.__version__}, which JupyterLab 4 does not draw without a network"
    return Finding("warn", text, 'pip install "altair>=5.5,<6"')


def _figures() -> Finding:
    from matplotlib import font_manager

    try:
        font = Path(font_manager.findfont("DejaVu Sans", fallback_to_default=False)).name
    except ValueError:
        return Finding("warn", "figures: matplotlib's font DejaVu Sans is missing", "Reinstall matplotlib.")
    return Finding("ok", f"figures: matplotlib with {font}")


def _notebooks() -> Finding:
    from kernaut.plugins import bundled

    try:
        folder = bundled("notebooks")
    except KernautError as error:
        return Finding("fail", str(error), "Reinstall kernaut.")
    names = sorted(path.stem for path in folder.glob("*.ipynb"))
    return Finding("ok", f"notebooks: {', '.join(names)}; headless runs use {sys.executable}")


def _threads() -> Finding:
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    given = [f"{name}={os.environ[name]}" for name in variables if name in os.environ]
    return Finding("ok", f"threads: {', '.join(given) or 'as the libraries choose'}; measurements use one each")
