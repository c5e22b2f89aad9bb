import math
import pickle

import numpy as np
import pytest

from kernaut.archive.records import DraftRecord, Entries, EvaluationRecord, EvidenceRecord, TrialRecord
from kernaut.errors import InputError


def evaluation(**changes: object) -> EvaluationRecord:
    values: dict[str, object] = {
        "program_id": "p",
        "benchmark": "bbo",
        "split": "train",
        "purpose": "search",
        "seed": 3,
        "options": {"a": [1, 2]},
        "data_digest": "d",
        "versions": {"torch": "2"},
        "scores": {"mean_crps": 0.5},
    }
    return EvaluationRecord(**{**values, **changes})  # type: ignore[arg-type]


def test_the_identifier_covers_everything_but_seconds() -> None:
    base = evaluation()
    assert evaluation(seconds=9.0).id == base.id
    changes: list[dict[str, object]] = [
        {"program_id": "q"},
        {"benchmark": "gases"},
        {"split": "test"},
        {"purpose": "tuning"},
        {"seed": 4},
        {"options": {"a": [2, 1]}},
        {"data_digest": "e"},
        {"versions": {"torch": "3"}},
        {"scores": {"mean_crps": 0.25}},
        {"outcomes": ({"episode": "x"},)},
        {"scores": None, "reason": "timed out"},
    ]
    assert len({base.id} | {evaluation(**change).id for change in changes}) == len(changes) + 1


@pytest.mark.parametrize("changes", [{"reason": "both"}, {"scores": None}])
def test_scores_exactly_when_there_is_no_reason(changes: dict[str, object]) -> None:
    with pytest.raises(InputError, match="scores or a reason"):
        evaluation(**changes)
    with pytest.raises(InputError, match="fitness or a reason"):
        TrialRecord("c", 0, 0, 0, "halton", {}, None)


@pytest.mark.parametrize("value", [math.nan, math.inf, np.int64(3), {1}, b"x"])
def test_json_fields_are_finite_json(value: object) -> None:
    with pytest.raises(InputError, match="options"):
        evaluation(options={"a": value})
    with pytest.raises(InputError, match="seconds"):
        evaluation(seconds=math.nan)


def test_records_are_deeply_frozen_and_pickle() -> None:
    options = {"a": [1, 2]}
    record = evaluation(options=options)
    options["a"].append(3)
    assert record.options["a"] == (1, 2)
    assert pickle.loads(pickle.dumps(record)) == record
    assert EvidenceRecord("p", True, "T2", (2,), 1, {}).id != EvidenceRecord("p", True, "T2", (3,), 1, {}).id


def test_entries_know_their_runs() -> None:
    drafts = tuple(DraftRecord("c", run, 0, {}, "staged") for run in (2, 0))
    trials = (TrialRecord("b", 5, 0, 0, "halton", {}, 1.0),)
    assert Entries(drafts=drafts, trials=trials).runs() == (("b", 5), ("c", 0), ("c", 2))
