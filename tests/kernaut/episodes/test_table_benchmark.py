from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernaut.episodes.registry import benchmark_named
from kernaut.episodes.table_benchmark import TUNING_ROWS, TableRegression
from kernaut.errors import InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    rows = [f"{a},{b},{3 * a - b + 40}" for a, b in rng.uniform(5.0, 9.0, (250, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    return tmp_path / "t.csv"


def test_its_one_episode_has_all_rows_and_no_queries(path: Path) -> None:
    table = benchmark_named("table", data=str(path), target="y")
    assert isinstance(table, TableRegression)
    (episode,) = table.episodes("train", 1)
    assert episode.fit_inputs.shape == (250, 2)
    assert episode.query_inputs.shape == (0, 2)
    assert np.allclose([episode.fit_targets.mean(), episode.fit_targets.std()], [0.0, 1.0])
    assert (episode.fit_inputs.min(), episode.fit_inputs.max()) == (0.0, 1.0)
    (tuning,) = table.episodes("train", 1, tuning=True)
    assert tuning.fit_inputs.shape == (TUNING_ROWS, 2)
    assert tuning.fit_targets.std() == pytest.approx(1.0)
    assert len(table.testing[1]) == 0


def test_a_part_holds_rows_out_and_its_scale_is_that_of_the_others(path: Path) -> None:
    whole = TableRegression(str(path), "y")
    parts = [TableRegression(str(path), "y", folds=3, part=part) for part in range(3)]
    assert len({part.digest() for part in (whole, *parts)}) == 4
    for part in parts:
        (episode,) = part.episodes("train", 1)
        inputs, targets = part.testing
        assert len(episode.fit_targets) + len(targets) == 250
        assert inputs.shape == (len(targets), 2)
        assert episode.fit_targets.mean() == pytest.approx(0.0)
        assert not set(targets) & set(part.training.targets)


def test_where_the_file_lies_does_not_change_the_digest(path: Path) -> None:
    other = path.with_name("copy.csv")
    other.write_bytes(path.read_bytes())
    assert TableRegression(str(path), "y").digest() == TableRegression(str(other), "y").digest()
    other.write_text(path.read_text(encoding="utf-8").replace("40", "41"), encoding="utf-8")
    assert TableRegression(str(path), "y").digest() != TableRegression(str(other), "y").digest()


def test_what_it_refuses(path: Path) -> None:
    table = TableRegression(str(path), "y", time_order=True, part=0)
    with pytest.raises(InputError, match="train split"):
        table.episodes("test", 1)
    with pytest.raises(InputError, match="Got both"):
        TableRegression(str(path), "y", folds=3, time_order=True)
    with pytest.raises(InputError, match="Got neither"):
        TableRegression(str(path), "y", part=0)
    with pytest.raises(InputError, match="benchmark table takes"):
        benchmark_named("table")
