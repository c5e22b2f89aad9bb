from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernaut.archive.store import Archive
from kernaut.program.program import load_candidate
from tests.kernaut.cli.conftest import Run

DWF = Path(__file__).resolve().parents[3] / "examples" / "candidates" / "dual_warp_fold.json"


def test_a_program_is_written_as_a_module(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    place, out = tmp_path / "a.sqlite", tmp_path / "dwf.py"
    with Archive.create(place) as archive:
        identifier = archive.add_program(load_candidate(DWF))
    words = ("export", identifier[:8], "--archive", place)
    assert run(*words, "--to", "gpytorch", "--out", out).exit_code == 0
    text = out.read_text(encoding="utf-8")
    compile(text, str(out), "exec")
    assert f"'candidate_id': '{identifier}'" in text
    assert "'archive': 'a.sqlite'" in text
    printed = run("export", DWF, "--to", "numpy").stdout
    assert printed.startswith('"""The kernel dual_warp_fold for numpy')
    assert "'file': 'dual_warp_fold.json'" in printed
    assert "none of that name" in refused("export", "zzz", "--archive", place, "--to", "numpy")
    assert "jax" in refused(*words, "--to", "jax")
    assert "--to" in refused(*words)
    assert "Got no folder" in refused(*words, "--to", "numpy", "--out", tmp_path / "none" / "k.py")
