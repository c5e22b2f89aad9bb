"""Generation: what is written where, and that it comes again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.sealed import generation
from kernaut.sealed.families.haar_encode import HaarEncode
from kernaut.sealed.generation import Generation, generate, instance_seed, split_counts
from kernaut.sealed.ledger import Ledger
from kernaut.sealed.manifest import read_manifest
from kernaut.sealed.places import VARIABLE
from kernaut.sealed.probe import ProbeResult
from kernaut.sealed.sealing import read_key

WHAT = Generation({"haar_encode": 3, "attention_2d": 4, "fm_kernel_loss": 3}, seed=2, rollouts=100, probed=24)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_seed_and_key_give_the_same_bytes_and_another_key_other_targets(tmp_path: Path) -> None:
    made = [generate(WHAT, tmp_path / f"out{n}", tmp_path / f"ledger{n}", tmp_path / "key") for n in (1, 2)]
    assert made[0].key_id == made[1].key_id
    assert contents(tmp_path / "out1") == contents(tmp_path / "out2")
    assert contents(tmp_path / "ledger1") == contents(tmp_path / "ledger2")
    other = generate(WHAT, tmp_path / "out3", tmp_path / "ledger3", tmp_path / "another")
    assert other.key_id != made[0].key_id
    one, three = contents(tmp_path / "out1"), contents(tmp_path / "out3")
    for name, data in one.items():
        assert (data == three[name]) == ("haar" not in name), name
    ledgers = [Ledger(tmp_path / f"ledger{n}", read_key(tmp_path / k)) for n, k in ((1, "key"), (3, "another"))]
    for identifier in ledgers[0].task_ids:
        rows = [ledger.row(identifier) for ledger in ledgers]
        first = next(iter(rows[0].targets))
        assert not np.array_equal(rows[0].targets[first], rows[1].targets[first])


def test_another_seed_gives_other_inputs(tmp_path: Path) -> None:
    generate(WHAT, tmp_path / "a", tmp_path / "b", tmp_path / "key")
    changed = Generation(WHAT.counts, seed=3, rollouts=100, probed=24)
    generate(changed, tmp_path / "c", tmp_path / "d", tmp_path / "key")
    one, two = contents(tmp_path / "a"), contents(tmp_path / "c")
    assert all(one[name] != two[name] for name in one)


def test_splits_are_stratified_and_test_seeds_lie_apart(task_set: Any) -> None:
    manifest = task_set.manifest
    for split in ("train", "validation", "test"):
        assert sorted(task.family for task in manifest.split(split)) == [
            "attention_2d",
            "fm_kernel_loss",
            "haar_encode",
        ]
    ranges = manifest.index.provenance["seed_ranges"]
    for split in ("train", "validation", "test"):
        low, high = ranges[split]
        assert all(low <= task.seed <= high for task in manifest.split(split))
    assert ranges["train"][1] < ranges["validation"][0] <= ranges["validation"][1] < ranges["test"][0]
    assert len({task.seed for task in manifest.tasks.values()}) == 9


def test_the_index_says_where_the_set_comes_from(task_set: Any) -> None:
    record = json.loads((task_set.out / "index.json").read_text())
    assert set(record["provenance"]) >= {
        "generator",
        "random_streams",
        "parameter_distributions",
        "commit",
        "clean_tree",
        "seed",
    }
    assert record["provenance"]["counts"] == {"haar_encode": 3, "attention_2d": 3, "fm_kernel_loss": 3}
    text = "".join(path.read_text() for path in task_set.out.rglob("*.json"))
    assert task_set.key_file.read_text().strip() not in text
    assert task_set.key.id not in text


def test_seeds_and_splits_by_hand() -> None:
    assert instance_seed(0, "train", 0, 7) == 7
    assert instance_seed(3, "test", 2, 11) == 300_000 + 20_000 + 2_000 + 11
    assert split_counts(20) == {"train": 12, "validation": 4, "test": 4}
    assert split_counts(3) == {"train": 1, "validation": 1, "test": 1}
    assert split_counts(2) == {"train": 2, "validation": 0, "test": 0}


def test_the_key_goes_to_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "home"))
    what = Generation({"haar_encode": 1}, rollouts=100, probed=20)
    made = generate(what, tmp_path / "out", tmp_path / "ledger")
    assert made.key_file == tmp_path / "home" / "keys" / f"{made.key_id}.key"
    assert len(read_manifest(made.out).tasks) == 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"counts": {}}, "at least one family"),
        ({"counts": {"haar": 2}}, "haar_encode, attention_2d"),
        ({"counts": {"haar_encode": 0}}, "1 to 999"),
        ({"counts": {"haar_encode": 1000}}, "1 to 999"),
        ({"counts": {"haar_encode": True}}, "1 to 999"),
        ({"counts": {"haar_encode": 1}, "seed": -1}, "seed"),
        ({"counts": {"haar_encode": 1}, "options": {"attention_2d": {}}}, "options"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        Generation(**change)


def test_places_that_overlap_or_hold_files_are_refused(tmp_path: Path) -> None:
    what = Generation({"haar_encode": 1}, rollouts=100, probed=20)
    out, ledger = tmp_path / "out", tmp_path / "ledger"
    for pair in ((out, out), (out, out / "ledger"), (ledger / "out", ledger)):
        with pytest.raises(InputError, match="different folders"):
            generate(what, *pair)
    for key in (out / "k", ledger / "k"):
        with pytest.raises(InputError, match="place of its own"):
            generate(what, out, ledger, key)
    for taken in (out, ledger):
        taken.mkdir()
        (taken / "note").write_text("x")
        with pytest.raises(InputError, match="holds files"):
            generate(what, out, ledger, tmp_path / "key")
        (taken / "note").unlink()
        taken.rmdir()
    assert not list(tmp_path.iterdir())


def test_a_suspicion_is_looked_into_with_more_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance in a few instances stops no generation; what many instances confirm does."""
    sizes: list[tuple[int, int]] = []

    def look(family: Any, instances: Any, *, seed: int) -> ProbeResult:
        sizes.append((len(instances), len({task.seed for task, _ in instances})))
        found = 0.56 if len(sizes) in (1, 3, 4) else 0.549
        return ProbeResult("haar_encode", found, 0.49, 0.5, 100)

    monkeypatch.setattr(generation, "probe", look)
    what = Generation({"haar_encode": 1}, rollouts=100, probed=30)
    made = generate(what, tmp_path / "out", tmp_path / "ledger", tmp_path / "key")
    assert sizes == [(30, 30), (180, 180)]
    assert made.probes[0].similarity == 0.549 and made.probes[0].passed
    with pytest.raises(InputError, match=r"similarity 0\.560"):
        generate(what, tmp_path / "out2", tmp_path / "ledger2", tmp_path / "key2")
    with pytest.raises(InputError, match="instances to probe"):
        Generation({"haar_encode": 1}, probed=481)


def test_a_family_that_leaks_is_refused_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaky(HaarEncode):
        def draw(self, public: Any, hidden: Any, options: Any) -> Any:
            drawn = super().draw(public, hidden, options)
            return type(drawn)({**drawn.input, "noise": drawn.targets["coefficients"] * 0.5}, drawn.p_i, drawn.targets)

    class Public(HaarEncode):
        """Draws what is hidden from the public seed."""

        def draw(self, public: Any, hidden: Any, options: Any) -> Any:
            drawn = super().draw(public, hidden, options)
            target = drawn.targets["coefficients"] + 2.0 * (drawn.p_i["noise"] - 0.5)
            return type(drawn)(drawn.input, drawn.p_i, {"coefficients": target})

    for family, word in ((Leaky, "Found"), (Public, "predict")):
        monkeypatch.setattr(generation, "family_named", lambda name, family=family: family())
        with pytest.raises(InputError, match=word):
            generate(
                Generation({"haar_encode": 2}, rollouts=100, probed=40),
                tmp_path / "o",
                tmp_path / "l",
                tmp_path / "key",
            )
        assert not list(tmp_path.iterdir())
