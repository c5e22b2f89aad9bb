from __future__ import annotations

import json
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.report.charts import convergence_chart, elite_chart, family_chart, selection_chart
from kernaut.report.comparison import compare


def values(spec: Any) -> list[dict[str, Any]]:
    """All data rows of a specification, wherever they stand."""
    if isinstance(spec, dict):
        own = spec.get("values", []) if "values" in spec and isinstance(spec.get("values"), list) else []
        rows = [row for row in own if isinstance(row, dict)]
        return rows + [row for key, part in spec.items() if key != "values" for row in values(part)]
    return [row for part in spec for row in values(part)] if isinstance(spec, list) else []


def test_convergence_shows_each_program_and_the_best_so_far(campaign: dict[str, Any]) -> None:
    picture = convergence_chart(campaign, ("rbf", 0.61))
    rows = values(picture.spec)
    assert [(row["run"], row["best"]) for row in rows if "best" in row] == [(1, 0.58), (2, 0.52), (4, 0.52), (4, 0.52)]
    assert [(row["run"], row["crps"]) for row in rows if "crps" in row] == [(1, 0.58), (2, 0.52), (4, 0.55)]
    assert {row["y"] for row in rows if "y" in row} == {0.61}
    assert "best 0.5200 after 4 runs" in picture.alt
    assert "rbf, has 0.6100" in picture.alt


def test_elites_stand_in_their_cells(campaign: dict[str, Any]) -> None:
    picture = elite_chart(campaign)
    cells = {(row["niche"], row["band"], row["growth"]): row["crps"] for row in values(picture.spec)}
    assert cells == {
        ("input geometry", "distinct", "feature growth: linear"): 0.58,
        ("spectral periodic", "strongly distinct", "feature growth: quadratic"): 0.52,
        ("input geometry", "near reference", "feature growth: linear"): 0.55,
    }
    assert "spectral periodic, strongly distinct: 0.5200" in picture.alt


def test_the_selected_candidate_is_marked(campaign: dict[str, Any]) -> None:
    picture = selection_chart(campaign, {"aa11": 0.5, "bb22": 0.54, "cc33": 0.57}, "aa11")
    roles = {row["name"]: (row["role"], row["train"], row["validation"]) for row in values(picture.spec)}
    assert roles["name_aa11"] == ("selected", 0.58, 0.5)
    assert roles["name_bb22"] == ("other candidates", 0.52, 0.54)


def test_a_single_candidate_stands_at_its_value(campaign: dict[str, Any]) -> None:
    campaign = {**campaign, "accepted": campaign["accepted"][:1], "elites": campaign["elites"][:1]}
    spec = json.dumps(selection_chart(campaign, {"aa11": 0.5}, "aa11").spec)
    assert '"domain": [0.53, 0.63]' in spec and '"domain": [0.45, 0.55]' in spec
    assert '"domain": [0.53, 0.63]' in json.dumps(elite_chart(campaign).spec)


def test_families_are_compared(benchmark_report: dict[str, Any]) -> None:
    picture = family_chart(benchmark_report, compare(benchmark_report, "bb"))
    means = {(row["kernel"], row["family"]): row["crps"] for row in values(picture.spec)}
    assert means == {
        ("name_bb", "levy"): pytest.approx(0.61),
        ("name_bb", "branin"): pytest.approx(0.68),
        ("name_aa", "levy"): pytest.approx(0.70),
        ("name_aa", "branin"): pytest.approx(0.805),
    }


@pytest.mark.parametrize("chart", [convergence_chart, elite_chart])
def test_a_campaign_without_programs_has_no_chart(chart: Any) -> None:
    with pytest.raises(InputError, match="accepted programs"):
        chart({"campaign": {"runs": 3}, "accepted": [], "elites": []})
