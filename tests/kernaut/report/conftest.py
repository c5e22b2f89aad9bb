"""A campaign report and a benchmark report, made up: unequal numbers everywhere."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def campaign() -> dict[str, Any]:
    rows = [
        (0, "aa11", "input_geometry", "linear", "distinct", 0.58),
        (1, "bb22", "spectral_periodic", "quadratic", "strongly_distinct", 0.52),
        (3, "cc33", "input_geometry", "linear", "near_reference", 0.55),
    ]
    accepted = [
        {
            "candidate_id": key,
            "name": f"name_{key}",
            "contract": "feature_map",
            "run": run,
            "niche": niche,
            "feature_growth": growth,
            "novelty_band": band,
            "scores": {"mean_crps": crps},
        }
        for run, key, niche, growth, band, crps in rows
    ]
    elites = [
        {key: entry[key] for key in ("niche", "feature_growth", "novelty_band", "candidate_id")} for entry in accepted
    ]
    return {"campaign": {"id": "c", "runs": 4}, "accepted": accepted, "elites": elites}


def entry(key: str, origin: str, validation: float, test: list[float], *, failed: bool = False) -> dict[str, Any]:
    names = [f"{family}:seed-{place}" for place in range(2) for family in ("levy", "branin")]
    scored = [
        {"episode": name, "family": name.split(":")[0], "crps": crps} for name, crps in zip(names, test, strict=True)
    ]
    failures = (
        [{"episode": scored.pop()["episode"], "family": "branin", "state": "failed", "reason": "no"}] if failed else []
    )
    mean = (sum(row["crps"] for row in scored) + 2.0 * len(failures)) / 4
    return {
        "candidate_id": key,
        "name": f"name_{key}",
        "origin": origin,
        "splits": {
            "validation": {"predictive": {"mean_crps": validation, "interval": [0.1, 0.9], "episodes": [], "failures": []}},
            "test": {
                "predictive": {"mean_crps": mean, "interval": [mean - 0.1, mean + 0.2], "episodes": scored, "failures": failures},
                "bo": {"regret_auc": 0.7 + validation / 10},
            },
        },
    }  # fmt: skip


@pytest.fixture
def benchmark_report() -> dict[str, Any]:
    return {
        "protocol": {"splits": {"validation": {"families": ["levy"]}, "test": {"families": ["levy", "branin"]}}},
        "candidates": [
            entry("aa", "reference", 0.61, [0.60, 0.70, 0.80, 0.91]),
            entry("bb", "archive", 0.52, [0.50, 0.55, 0.72, 0.81]),
            entry("cc", "reference", 0.66, [0.51, 0.57, 0.75, 0.9], failed=True),
        ],
    }
