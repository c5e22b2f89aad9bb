"""The example domain of short texts, taken from its folder: labels that hold, defects that are there, screens, and operators by hand."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.operators.record_domain import RecordDomain
from kernaut.operators.records import Operator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def package() -> Any:
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(ROOT / "examples" / "texts"))
    yield importlib.import_module("kernaut_texts.domain")
    patch.undo()


@pytest.fixture(scope="module")
def domain(package: Any) -> RecordDomain:
    made: RecordDomain = package.texts(tasks=16)
    return made


def is_true(text: str, made: Any) -> bool:
    """A slow and plain reading of a report by somebody who knows its phrases: whether all that it says is true of the table."""
    later = {name: after for name, _, after in made.rows}
    earlier = {name: before for name, before, _ in made.rows}
    best = max(later, key=lambda name: later[name])
    rows = "|".join(map(re.escape, later))
    right = all(later[name] == int(value) for name, value in re.findall(rf"({rows}) had (\d+)", text))
    right &= all(abs(int(n) - sum(later.values())) < 1 for n in re.findall(r"(?:makes|total is) (\d+)", text))
    right &= all(abs(int(n) - sum(later.values())) <= 50 for n in re.findall(r"makes about (\d+)", text))
    right &= all(
        name == best for name in re.findall(rf"({rows}) (?:had the most|leads|stayed in front|came out ahead)", text)
    )
    right &= all(name == best for name in re.findall(rf"(?:is that of|had more than) ({rows})", text))
    for name, word, share in re.findall(rf"({rows}) (rose|grew|went up|fell|shrank|went down)(?: by (\d+) %)?", text):
        right &= (later[name] > earlier[name]) == (word in ("rose", "grew", "went up"))
        right &= not share or abs(abs(later[name] - earlier[name]) / earlier[name] * 100 - int(share)) <= 0.51
    figures = re.findall(r"had \d+ ?([a-zA-Z ]*?)(?:,| and|\.)", text)
    return right and (f"In {made.unit}:" in text or all(unit == made.unit for unit in figures))


def test_labels_hold_and_every_defect_is_there(package: Any) -> None:
    found: Counter[str] = Counter()
    for number in range(24):
        made = package.table(0, number)
        for report in package.reports(made, 0, number):
            found[report.defect] += 1
            assert package.visible(report.text, made) == (report.defect != "too short")
            if report.defect == "too short":
                continue
            assert is_true(report.text, made) == (not report.defect), (report, made)
    assert found[""] == 144
    assert all(found[defect] >= 10 for defect in importlib.import_module("kernaut_texts.writing").DEFECTS), found


def test_the_split_is_a_function_of_the_seed(package: Any, domain: RecordDomain) -> None:
    again = package.texts(tasks=16)
    assert [again.electorate(name).digest for name in again.reported()] == [
        domain.electorate(name).digest for name in domain.reported()
    ]
    assert package.texts(tasks=16, seed=1).electorate("train").digest != domain.electorate("train").digest
    train, unseen = ({task.id for task in domain.electorate(name).tasks} for name in domain.reported())
    assert len(train) == len(unseen) == 8
    assert not train & unseen
    assert 0 < (~domain.electorate("train").visible).sum() < 9
    with pytest.raises(InputError, match="at least 2 tasks"):
        package.texts(tasks=1)


def test_no_screen_fires_on_operators_by_hand(domain: RecordDomain) -> None:
    train = domain.electorate("train")
    for operator in domain.hand_written():
        verdicts = domain.examine(operator, train)
        assert not verdicts.reasons, (operator.defect, verdicts.reasons)
        assert domain.screen(operator, train, verdicts) == (), operator.defect
    flagged = [domain.examine(operator, train).flags for operator in domain.hand_written()]
    assert all(flags.any() for flags in flagged)


CHEATERS = {
    "syntax screen": (
        "'Hill' in candidate['text'] or 'Mill' in candidate['text'] or 'Gym' in candidate['text'] or 'Maps' in candidate['text']",
        "candidate['text'].count('\\n') == 0 and len(candidate['text']) % 2",
        "sum(ord(c) for c in candidate['text']) % 3 == 0",
        "len(candidate['text']) % 7 < 3",
        "candidate['text'].split('. ')[-1].startswith('Com')",
    ),
    "prompt screen": (
        "'room' in task['title'] or 'row' in task['title'] or 'hall' in task['title'] or 'well' in task['title']",
        "len(task['title']) > 35",
        "task['title'][0] in 'AWE'",
        "'orchard' in candidate['text'] or 'museum' in candidate['text'] or 'village' in candidate['text'] or 'school' in candidate['text']",
        "sum(ord(c) for c in task['title']) % 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("screen", "condition"), [(s, c) for s, all_ in CHEATERS.items() for c in all_])
def test_screens_catch_cheaters(domain: RecordDomain, screen: str, condition: str) -> None:
    train = domain.electorate("train")
    cheat = Operator(f"def op(task, candidate):\n    return 'flag' if {condition} else 'pass'\n", 1, "a cheat")
    verdicts = domain.examine(cheat, train)
    assert verdicts.flags.any(), verdicts.reasons
    assert any(found.startswith(screen) for found in domain.screen(cheat, train, verdicts)), verdicts.flags.sum()


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 5])
def test_an_operator_keyed_on_wrong_figures_is_caught(domain: RecordDomain, digits: int) -> None:
    train = domain.electorate("train")
    wrong = [
        number
        for number in {
            n for c in train.candidates if c.kind == "wrong total" for n in re.findall(r"\d+", c.content["text"])
        }
        if not any(number in c.content["text"] for c in train.candidates if c.correct)
    ]
    chosen = sorted(wrong)[digits - 1 : digits + 1]
    cheat = Operator(
        f"import re\n\n\ndef op(task, candidate):\n    found = re.findall('[0-9]+', candidate['text'])\n    return 'flag' if any(n in {chosen!r} for n in found) else 'pass'\n",
        1,
        "a cheat",
    )
    verdicts = domain.examine(cheat, train)
    assert verdicts.flags.any()
    assert any(found.startswith("constants screen") for found in domain.screen(cheat, train, verdicts))
