"""The public side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.arrays import encode_arrays
from kernaut.sealed.manifest import FIELDS, read_manifest, task_from_json, task_id


def record(**changed: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "task_id": "v41-haar_encode-0003",
        "family": "haar_encode",
        "input": encode_arrays({"copies": np.arange(6.0).reshape(2, 3)}),
        "p_i": {"noise": 0.5, "output": {"kind": "box", "shape": [3], "lower": -1.0, "upper": 2.0}},
        "objective_direction": "maximize",
        "horizon_budget": 10,
        "compute_budget": 3.5,
        "seed": 17,
    }
    return made | changed


def test_a_task_has_canonical_text_and_comes_back() -> None:
    task = task_from_json(record())
    assert json.loads(task.text) == record()
    assert task.text == canonical_json(record())
    assert " " not in task.text
    assert task_from_json(json.loads(task.text)).digest == task.digest
    assert task_from_json(record(seed=18)).digest != task.digest
    assert task.space.shape == (3,)


def test_only_the_eight_public_fields_exist() -> None:
    assert set(record()) == set(FIELDS)
    for bad in ({**record(), "label": 1}, {k: v for k, v in record().items() if k != "seed"}, [], None):
        with pytest.raises(InputError, match="exactly the fields"):
            task_from_json(bad)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("task_id", "v41-haar_encode-3", "task_id"),
        ("task_id", "v41-attention_2d-0003", "family"),
        ("task_id", 3, "task_id"),
        ("family", "Haar", "family"),
        ("objective_direction", "maximise", "maximize, minimize, satisfy"),
        ("horizon_budget", 0, "horizon_budget"),
        ("horizon_budget", True, "horizon_budget"),
        ("horizon_budget", 2.0, "horizon_budget"),
        ("compute_budget", 0.0, "compute_budget"),
        ("compute_budget", float("nan"), "compute_budget"),
        ("seed", -1, "seed"),
        ("p_i", [], "p_i"),
        ("p_i", {"noise": 1}, "output"),
        ("input", "????", "input"),
    ],
)
def test_a_wrong_field_is_named(name: str, value: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        task_from_json(record(**{name: value}))


def test_task_ids_are_four_digits() -> None:
    assert task_id("attention_2d", 7) == "v41-attention_2d-0007"
    for family, number in (("Bad", 1), ("a", -1), ("a", 10_000)):
        with pytest.raises(InputError, match="Expected"):
            task_id(family, number)


def write(folder: Path, splits: dict[str, Any], tasks: list[dict[str, Any]], version: str = "v41") -> Path:
    (folder / "manifest").mkdir()
    for task in tasks:
        (folder / "manifest" / f"{task['task_id']}.json").write_text(canonical_json(task))
    (folder / "index.json").write_text(json.dumps({"version": version, "splits": splits, "provenance": {"seed": 1}}))
    return folder


def test_a_folder_is_read_in_the_order_of_its_index(tmp_path: Path) -> None:
    ids = [task_id("haar_encode", n) for n in (2, 0, 1)]
    folder = write(
        tmp_path,
        {"train": ids[:2], "validation": [], "test": ids[2:]},
        [record(task_id=i, seed=n) for n, i in enumerate(ids)],
    )
    manifest = read_manifest(folder)
    assert list(manifest.tasks) == ids
    assert [task.seed for task in manifest.split("train")] == [0, 1]
    assert len(manifest.split("all")) == 3
    with pytest.raises(InputError, match="Got none"):
        manifest.split("validation")
    with pytest.raises(InputError, match="train, validation, test or all"):
        manifest.split("tests")


@pytest.mark.parametrize("kind", ["missing", "edited", "renamed", "twice", "version", "splits", "ids", "no index"])
def test_a_folder_that_was_edited_is_refused(tmp_path: Path, kind: str) -> None:
    one, two = task_id("haar_encode", 1), task_id("haar_encode", 2)
    splits: dict[str, Any] = {"train": [one], "validation": [], "test": [two]}
    splits |= {"twice": {"test": [one]}, "splits": {"more": []}, "ids": {"test": "v41"}}.get(kind, {})
    folder = write(tmp_path, splits, [record(task_id=one), record(task_id=two)], "v42" if kind == "version" else "v41")
    path = folder / "manifest" / f"{two}.json"
    if kind == "missing":
        path.unlink()
    elif kind == "edited":
        path.write_text(path.read_text().replace('"seed":17', '"seed": 17'))
    elif kind == "renamed":
        path.write_text(canonical_json(record(task_id=one)))
    elif kind == "no index":
        (folder / "index.json").unlink()
    with pytest.raises(InputError, match="Expected"):
        read_manifest(folder)
