"""The example extensions beside a built wheel of Kernaut, in a fresh virtual environment: no key, no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with all wheels installed; torch and the like are those of the environment around."""
    folder = tmp_path_factory.mktemp("extension")
    for source in (ROOT, ROOT / "examples" / "extension", ROOT / "examples" / "texts"):
        build = [
            sys.executable,
            *PIP,
            "wheel",
            "--no-build-isolation",
            "--no-deps",
            "--wheel-dir",
            str(folder / "wheels"),
        ]
        done = subprocess.run([*build, str(source)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    place = folder / "env"
    venv.EnvBuilder(with_pip=False, symlinks=True).create(place)
    python = place / "bin" / "python"
    site = place / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    wheels = sorted(str(path) for path in (folder / "wheels").glob("*.whl"))
    assert len(wheels) == 3
    install = [sys.executable, *PIP, "install", "--no-deps", "--no-index", "--target", str(site), *wheels]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (site / "zz_around.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def kernaut(python: Path, *words: object) -> str:
    """Standard output of one command."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "KERNAUT"))}
    command = [str(python), "-c", "from kernaut.cli.main import main; main()", *map(str, words)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=python.parents[2],
        env=environment | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_extension_is_listed_and_searches_offline(python: Path) -> None:
    folder = python.parents[2]
    listed = json.loads(kernaut(python, "extensions"))["extensions"]
    assert {(row["group"], row["name"], row["package"]) for row in listed} >= {
        ("kernaut.tasks", "waves", "kernaut-waves"),
        ("kernaut.baselines", "waves-linear", "kernaut-waves"),
        ("kernaut.models", "waves-script", "kernaut-waves"),
    }
    where = [str(python), "-c", "import kernaut, kernaut_waves; print(kernaut.__file__); print(kernaut_waves.__file__)"]
    for line in subprocess.run(where, capture_output=True, text=True, check=True, cwd=folder).stdout.splitlines():
        assert line.startswith(str(folder / "env")), line

    kernaut(python, "init", folder / "space")
    example = folder / "space" / "examples" / "extension"
    assert (folder / "space" / "notebooks" / "discover.ipynb").is_file()
    words = ["--task", "waves", "--options", '{"noise": 0.02}', "--config", example / "config.toml"]
    words += ["--context", folder / "space" / "examples" / "task.md", "--baseline", "waves-linear"]
    words += ["--archive", folder / "w.sqlite", "--iterations", 1, "--workers", 1, "--run-id", "waves"]
    report = json.loads(kernaut(python, "task-run", *words))
    assert report["campaign"]["id"] == "waves"
    assert report["campaign"]["options"]["baselines"] == ["waves-linear"]
    assert report["campaign"]["options"]["benchmark_options"] == {"noise": 0.02}
    (accepted,) = report["accepted"]
    assert accepted["name"] == "six_waves"
    assert 0.0 < accepted["scores"]["mean_crps"] < 0.2


def test_a_domain_of_a_package_grows_operators_and_reports(python: Path) -> None:
    folder = python.parents[2]
    listed = json.loads(kernaut(python, "extensions", "--group", "kernaut.domains"))["extensions"]
    assert [(row["name"], row["package"]) for row in listed] == [("texts", "kernaut-texts")]
    common = ["--domain", "texts", "--archive", folder / "t.sqlite"]
    words = ["--options", '{"tasks": 12}', "--runs", 2, "--calls", 5, "--workers", 2]
    grown = json.loads(kernaut(python, "cegar", "run", *common, *words))
    assert grown["candidates"].startswith("Reports were written from templates")
    assert all(run["admitted"] for run in grown["runs"])
    report = json.loads(kernaut(python, "cegar", "report", *common))
    assert list(report["electorates"]) == ["train", "unseen"]
    assert report["electorates"]["unseen"]["rules"]["all runs: composition"]["tasks"] == 6
    assert report["electorates"]["unseen"]["rules"]["perfect"]["accuracy"] == 1.0
    assert json.loads(kernaut(python, "cegar", "replay", *common))["verdicts_changed"] == 0
    kernaut(python, "cegar", "export", *common, "--out", folder / "rule.py")
    asked = "import runpy; rule = runpy.run_path('rule.py'); print(rule['judge']({'unit': 'kg', 'years': [2021, 2022], 'rows': []}, {'text': 'A had 1 kg.'}, None))"
    done = subprocess.run([str(python), "-I", "-c", asked], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.strip() in ("flag", "pass")
