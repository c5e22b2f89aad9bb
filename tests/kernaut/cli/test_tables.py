from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernaut.archive.store import Archive
from kernaut.authors.grammar import GrammarAuthor
from kernaut.evaluation import baselines
from kernaut.fitting import regression
from kernaut.search import table_run
from tests.kernaut.authors.model_server import KEY, model_server
from tests.kernaut.cli.conftest import Run
from tests.kernaut.episodes.test_table_cleaning import messy
from tests.kernaut.search.test_running import quick_script

DWF = Path(__file__).resolve().parents[3] / "examples" / "candidates" / "dual_warp_fold.json"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(baselines, "STARTS", 1)
    monkeypatch.setattr(baselines, "ITERATIONS", 3)
    whole = GrammarAuthor._tune
    monkeypatch.setattr(GrammarAuthor, "_tune", lambda author, tools, program, *_: whole(author, tools, program, 2, 1))
    monkeypatch.setattr(regression, "TUNING_STEPS", 2)
    rng = np.random.default_rng(0)
    rows = [f"{a:.4f},{b:.4f},7,{np.sin(5 * a) + 0.1 * rng.normal():.4f}" for a, b in rng.uniform(2.0, 4.0, (26, 2))]
    rows.append(rows[0])
    rows.append("2.5,,7,1.0")
    (tmp_path / "t.csv").write_text("\n".join(["speed,load,unit,wear", *rows]), encoding="utf-8")
    return tmp_path / "t.csv"


def test_a_search_on_a_table_with_held_out_folds(run: Run, table: Path, tmp_path: Path) -> None:
    words = ["run", "--data", table, "--target", "wear", "--archive", tmp_path / "a.sqlite", "--iterations", 1]
    words += ["--rounds-per-iteration", 1, "--folds", 2, "--workers", 1]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "dropped 1 of 28 rows with missing values (load 1)" in result.stderr
    assert "hold one value only: unit" in result.stderr
    report = json.loads(result.stdout)
    assert (report["table"]["rows"], report["table"]["columns"]) == (26, ["speed", "load"])
    assert report["selected"]["log_marginal_likelihood_a_row"] == pytest.approx(
        report["selected"]["log_marginal_likelihood"] / 26
    )
    assert len(report["references"]) == 8
    held_out = report["held_out"]
    assert {row["kernel"] for row in held_out["kernels"]} == {"selected", *baselines.KINDS}
    assert {row["rows"] for row in held_out["kernels"]} == {26}
    assert [part["rows_held_out"] for part in held_out["parts"]] == [13, 13]
    assert held_out["looks"]["test"] == 1
    again = run(*words)
    second = json.loads(again.stdout)
    assert second["held_out"].pop("looks")["test"] == 2
    del held_out["looks"]
    assert second == report

    identifier = report["selected"]["candidate_id"]
    fitted = run("fit", identifier[:10], "--archive", tmp_path / "a.sqlite", "--data", table, "--target", "wear")
    assert fitted.exit_code == 0, fitted.output
    assert json.loads(fitted.stdout)["fit"]["log_marginal_likelihood"] == pytest.approx(
        report["selected"]["log_marginal_likelihood"], abs=1e-3
    )


def test_a_language_model_searches_a_table(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_API_KEY", KEY)
    words = [
        "run",
        "--data",
        table,
        "--target",
        "wear",
        "--archive",
        "a.sqlite",
        "--iterations",
        1,
        "--config",
        "c.toml",
    ]
    words += ["--rounds-per-iteration", 3, "--workers", 1, "--max-tokens", 90_000]
    with model_server() as server:
        server.script = quick_script
        (tmp_path / "c.toml").write_text(
            f'[llm]\nprovider = "compatible"\nmodel = "scripted"\nbase_url = "{server.url}"\napi_key_env = "MODEL_API_KEY"\n',
            encoding="utf-8",
        )
        expected = json.loads(run(*words, "--dry-run").stdout)
        assert (expected["searches"], expected["each"]["at_most"]["tokens"]) == (1, 90_000)
        assert server.requests == []
        result = run(*words)
        assert result.exit_code == 0, result.output
        assert len(server.requests) >= 2
    report = json.loads(result.stdout)
    assert np.isfinite(report["selected"]["log_marginal_likelihood"])
    shown = run("inspect", "--archive", "a.sqlite", "--transcript", "t-seed-0:0", "--table")
    assert "calls submit_candidate" in shown.stdout


def test_fit_predicts_new_rows_with_intervals(run: Run, table: Path, tmp_path: Path) -> None:
    new, out = tmp_path / "new.csv", tmp_path / "p.csv"
    new.write_text("load,name,speed\n2.5,a,2.5\n3.5,b,3.1\n", encoding="utf-8")
    words = ["fit", DWF, "--data", table, "--target", "wear", "--predict", new]
    assert run(*words, "--out", out).exit_code == 0
    with out.open(encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert [list(row) for row in rows] == [["speed", "load", "mean", "sd", "lower", "upper"]] * 2
    assert [row["speed"] for row in rows] == [2.5, 3.1]
    for row in rows:
        assert row["upper"] - row["mean"] == pytest.approx(1.959964 * row["sd"], rel=1e-6)
    printed = json.loads(run(*words).stdout)
    assert [row["mean"] for row in printed["predictions"]] == pytest.approx([row["mean"] for row in rows])
    tuned = json.loads(run(*words, "--tune").stdout)
    assert tuned["fit"]["log_marginal_likelihood"] >= printed["fit"]["log_marginal_likelihood"]


def test_what_is_wrong_is_one_line(refused: Callable[..., str], table: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("speed\n2.5\n", encoding="utf-8")
    fit = ("fit", DWF, "--data", table, "--target", "wear")
    assert "none called load" in refused(*fit, "--predict", new)
    assert "--predict FILE" in refused(*fit, "--out", tmp_path / "p.csv")
    assert "identifier of a program" in refused(
        "fit", "zz", "--archive", _empty(tmp_path), "--data", table, "--target", "wear"
    )
    search = ("run", "--data", table, "--target", "wear", "--archive", tmp_path / "b.sqlite")
    assert "Got both" in refused(*search, "--folds", 3, "--time-order")
    assert "at least 2 folds" in refused(*search, "--folds", 1)
    assert "distinct rows of inputs, 26" in refused(*search, "--folds", 30)
    assert "--config FILE" in refused(*search, "--author", "config")
    assert "No such file" in refused("run", "--data", tmp_path / "none.csv", "--target", "wear")
    assert "target column of speed, load, unit, wear" in refused("run", "--data", table)
    assert not (tmp_path / "b.sqlite").exists()


def test_a_messy_table_is_refused_in_one_line(refused: Callable[..., str], tmp_path: Path) -> None:
    path = messy(tmp_path / "homes.csv")
    line = refused("run", "--data", path, "--target", "price", "--archive", tmp_path / "d.sqlite")
    assert "text in row 1, column country: 'NL' (and 429 more of its rows)" in line
    assert "a date in row 1, column sold: '2024-01-01'" in line
    line = refused("run", "--data", path, "--target", "sold", "--archive", tmp_path / "d.sqlite", "--drop", "country")
    assert "a date in row 1, column sold" in line
    line = refused("run", "--data", path, "--target", "floor", "--drop", "country", "--drop", "sold")
    assert "Expected a target that varies" in line


def test_many_rows_are_warned_of(run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_run, "MANY_ROWS", 20)
    place = _empty(tmp_path)
    with Archive.open(place) as archive:
        archive.freeze("so that nothing is searched")
    result = run("run", "--data", table, "--target", "wear", "--archive", place, "--time-order", "--workers", 1)
    assert result.exit_code == 2
    assert "26 rows: exact inference grows with the cube of the rows; expect about" in result.stderr
    assert "frozen" in result.stderr


def _empty(tmp_path: Path) -> Path:
    Archive.create(tmp_path / "empty.sqlite").close()
    return tmp_path / "empty.sqlite"
