"""Every notebook under plain papermill, from a folder that is not the repository's; the small one always, the others among the slow tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernaut.plugins import bundled
from tests.marked import ENVIRONMENT, left_over, marked
from tests.notebooks.executed import NAMES, SMOKE, outputs_of

SMALL = "custom_benchmark"


def test_every_notebook_has_a_small_size() -> None:
    assert set(SMOKE) == set(NAMES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == SMALL else (pytest.mark.slow,)) for name in NAMES]
)
def test_plain_papermill_runs_it_and_nothing_stays(name: str, tmp_path: Path) -> None:
    before = marked()
    command = [sys.executable, "-m", "papermill", str(bundled("notebooks", f"{name}.ipynb")), "out.ipynb"]
    for key, value in SMOKE[name].items():
        command += ["-y", json.dumps({key: value})]
    environment = {**os.environ, **ENVIRONMENT, "KERNAUT_SEALED_HOME": str(tmp_path / "sealed")}
    environment.pop("KERNAUT_RUN_DIRECTORY", None)
    done = subprocess.run(
        [*command, "--no-progress-bar"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = outputs_of(tmp_path / "out.ipynb")
    assert len(outputs) >= 2
    assert json.loads((tmp_path / "papermill_runs" / "by-hand" / "report.json").read_text())
    assert left_over(before) == []
