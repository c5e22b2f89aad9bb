from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.program.program import load_candidate
from kernaut.program.templates import template
from kernaut.report.archive_view import export_program, found_rows, row_table, score_cost_chart, source_difference

ROWS: list[dict[str, Any]] = [
    {"candidate_id": "aa11", "name": "wave_bowl", "contract": "feature_map", "niche": "input_geometry", "novelty_band": "distinct", "mean_crps": 0.5, "seconds": 0.3, "tunable_parameters": 3},
    {"candidate_id": "bb22", "name": "rings", "contract": "spectral", "niche": "spectral_periodic", "novelty_band": "distinct", "mean_crps": 0.4, "seconds": 0.9, "tunable_parameters": 1},
    {"candidate_id": "cc33", "name": "wave_duet", "contract": "feature_map", "niche": "spectral_periodic", "novelty_band": "distinct", "mean_crps": 0.6, "seconds": 0.5, "tunable_parameters": 2},
    {"candidate_id": "dd44", "name": "imported", "contract": "closure", "tunable_parameters": 0},
]  # fmt: skip


def keys(rows: Any) -> list[str]:
    return [row["candidate_id"] for row in rows]


def test_rows_are_searched_filtered_and_sorted() -> None:
    assert keys(found_rows(ROWS)) == ["bb22", "aa11", "cc33", "dd44"]
    assert keys(found_rows(ROWS, words="WAVE")) == ["aa11", "cc33"]
    assert keys(found_rows(ROWS, words="wave cc")) == ["cc33"]
    assert keys(found_rows(ROWS, contract="feature_map", niche="spectral_periodic")) == ["cc33"]
    assert keys(found_rows(ROWS, sort="seconds")) == ["aa11", "cc33", "bb22", "dd44"]
    assert keys(found_rows(ROWS, sort="name")) == ["dd44", "bb22", "aa11", "cc33"]
    with pytest.raises(InputError, match="seconds"):
        found_rows(ROWS, sort="luck")
    assert row_table(ROWS, 2).caption.startswith("2 of 4")


def test_the_chart_filters_by_selection_and_marks_the_frontier() -> None:
    chart = score_cost_chart(ROWS)
    _, right = chart.spec["hconcat"]
    assert chart.spec["params"][0]["select"]["type"] == "interval"
    assert [part["transform"][0]["filter"]["param"] for part in right["vconcat"]] == ["chosen", "chosen"]
    roles = {row["name"]: row["role"] for row in chart.spec["datasets"]["programs"]}
    assert roles == {"wave_bowl": "frontier", "rings": "frontier", "wave_duet": "other"}
    assert "the best is rings with 0.4000" in chart.alt
    assert chart.live()["text/plain"] == chart.alt
    with pytest.raises(InputError, match="scores"):
        score_cost_chart(ROWS[3:])


def test_differences_show_sources_and_parameters() -> None:
    program = template("input_transform")
    text = repr(source_difference(program, program.with_parameters({"bend": 4.0})))
    assert "-parameter bend = 2.0" in text and "+parameter bend = 4.0" in text
    assert "equal sources" in repr(source_difference(program, program))


def test_an_exported_program_loads_again(tmp_path: Path) -> None:
    program = template("spectral")
    path = export_program(program, tmp_path / "new")
    assert load_candidate(path).id == program.id
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="can be written"):
        export_program(program, tmp_path / "file")
