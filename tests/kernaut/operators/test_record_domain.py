"""A domain of plain records, as a package would describe it: verdicts from the sandbox, symptoms, screens, a runner, operators that misbehave, and the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError, ProgramRefused, SandboxFailure
from kernaut.operators.authoring import OfflineAuthor
from kernaut.operators.loop import LoopOptions, evolve
from kernaut.operators.record_domain import Record, RecordDomain, Screen
from kernaut.operators.records import Candidate, Electorate, Operator, Task
from kernaut.operators.symptoms import Symptom
from kernaut.operators.trusted import Bench

DOUBLE = Symptom(
    "excess", "excess over the limit", 1, "def excess(task, candidate):\n    return candidate['size'] - task['limit']\n"
)
RUNNER = "def observe(task, candidate, argument):\n    return candidate['size'] // argument\n"


def electorate(name: str, start: int = 0) -> Electorate:
    """Four tasks with a limit; a candidate is wrong when its size is beyond it, and in V when it is named."""
    tasks, candidates = [], []
    for number in range(start, start + 4):
        tasks.append(Task(f"t{number}", {"limit": 10 * number + 5, "words": f"keep below {number}"}))
        for place, extra in enumerate((-3, -1, 2, 4)):
            size = 10 * number + 5 + extra
            content = {"size": size, "name": f"candidate of size {size}" if place < 3 else ""}
            candidates.append(
                Candidate(f"c{place}", f"t{number}", content, place < 3, extra < 0, "too large" if extra > 0 else "")
            )
    return Electorate("sizes", name, tuple(tasks), tuple(candidates))


def without_names(task: Record, candidates: list[Record], correct: Sequence[bool]) -> tuple[Record, list[Record]]:
    return {**task, "words": ""}, [{**candidate, "name": "other"} for candidate in candidates]


def other_sizes(task: Record, candidates: list[Record], correct: Sequence[bool]) -> tuple[Record, list[Record]]:
    return task, [c if right else {**c, "size": c["size"] + 1} for c, right in zip(candidates, correct, strict=True)]


@pytest.fixture(scope="module")
def domain() -> RecordDomain:
    return RecordDomain(
        "sizes",
        {"train": electorate("train"), "unseen": electorate("unseen", 4)},
        (DOUBLE,),
        (),
        "Sizes and limits.",
        screens=(
            Screen("syntax screen", "its verdict changes with names", without_names),
            Screen("constants screen", "its flags follow sizes of wrong candidates", other_sizes, share=0.5),
        ),
        runner=RUNNER,
    )


def operator(body: str, level: int = 1) -> Operator:
    return Operator(f"def op(task, candidate{', ctx' * (level == 2)}):\n    {body}\n", level, "made up")


HONEST = operator("return 'flag' if candidate['size'] > task['limit'] else 'pass'")


def test_operators_are_asked_of_candidates_in_v_alone(domain: RecordDomain) -> None:
    assert domain.examine(HONEST, domain.electorate("train")).to_json() == {"letters": "ppfa" * 4, "reasons": {}}
    peers = operator("return 'flag' if candidate['size'] > min(p['size'] for p in ctx.peers) + 2 else 'pass'", 2)
    assert domain.examine(peers, domain.electorate("unseen")).to_json()["letters"] == "ppfa" * 4
    runs = operator("return 'flag' if ctx.run(candidate, task['limit'] + 1) == 1 else 'pass'", 2)
    assert domain.examine(runs, domain.electorate("train")).to_json()["letters"] == "ppfa" * 4
    assert domain.measure(domain.electorate("train"))[:4, 0] == pytest.approx([-3, -1, 2, np.nan], nan_ok=True)
    assert domain.show(domain.electorate("train"), 1)["limit"] == 5


BAD = {
    "loops": ("while True:\n        pass", 1, "more than 200000 steps were taken"),
    "raises": ("return 1 // 0", 1, "ZeroDivisionError"),
    "says something else": ("return 'perhaps'", 1, "expected flag, pass or abstain"),
    "changes what it is given": ("candidate['size'] = 0\n    return 'abstain'", 1, "the operator abstained"),
    "asks too often": ("return [ctx.run(candidate, 1) for _ in range(601)] and 'pass'", 2, "600 observations"),
    "takes all memory": ("return 'pass' if len('x' * 10 ** 10) else 'flag'", 1, "the memory limit was reached"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_operator_that_misbehaves_abstains_with_a_reason(domain: RecordDomain, name: str) -> None:
    body, level, reason = BAD[name]
    verdicts = domain.examine(operator(body, level), domain.electorate("train"))
    assert verdicts.to_json()["letters"] == "a" * 16
    assert len(verdicts.reasons) == 12
    assert all(reason in text for text in verdicts.reasons.values()), set(verdicts.reasons.values())


def test_a_source_that_breaks_a_rule_is_refused(domain: RecordDomain) -> None:
    with pytest.raises(ProgramRefused, match="open"):
        domain.examine(operator("return open('labels')"), domain.electorate("train"))


def test_a_domain_without_a_runner_runs_nothing() -> None:
    plain = RecordDomain("sizes", {"train": electorate("train"), "unseen": electorate("unseen", 4)}, (), (), "Sizes.")
    verdicts = plain.examine(operator("return ctx.run(candidate, 1) or 'pass'", 2), plain.electorate("train"))
    assert set(verdicts.reasons.values()) == {"this domain runs nothing"}


@pytest.mark.parametrize(
    ("body", "screen"),
    [
        ("return 'flag' if candidate['size'] > task['limit'] else 'pass'", None),
        ("return 'flag' if candidate['name'].endswith(('7', '17', '27', '37')) else 'pass'", "syntax screen"),
        ("return 'flag' if candidate['name'] == 'candidate of size 17' else 'pass'", "is a part of a candidate"),
        ("return 'flag' if candidate['size'] in (7, 17, 27, 37) else 'pass'", "constants screen"),
        ("return 'flag' if candidate['place'] == 2 else 'pass'", "order screen"),
    ],
)
def test_screens_catch_cheaters_of_their_kind(domain: RecordDomain, body: str, screen: str | None) -> None:
    train, cheat = domain.electorate("train"), operator(body)
    verdicts = domain.examine(cheat, train)
    assert verdicts.flags.any()
    found = domain.screen(cheat, train, verdicts)
    assert (found == ()) if screen is None else (screen in found[0]), found


def test_the_loop_grows_an_operator_that_holds_on_unseen_tasks(domain: RecordDomain) -> None:
    outcome = evolve(domain, domain.electorate("train"), OfflineAuthor(), LoopOptions(most_calls=3))
    assert [found.defect for found in outcome.operators] == ["excess over the limit above 0.5"]
    assert domain.examine(outcome.operators[0], domain.electorate("unseen")).to_json()["letters"] == "ppfa" * 4


def test_a_symptom_that_ends_its_process_is_unmeasured_on_that_task(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, ask = {"train": electorate("train"), "unseen": electorate("unseen", 4)}, Bench.ask

    def dying(self: Bench, request: Mapping[str, Any]) -> Any:
        if request["task"]["limit"] > 30:
            raise SandboxFailure("crashed", "the process died")
        return ask(self, request)

    monkeypatch.setattr(Bench, "ask", dying)
    table = RecordDomain("sizes", parts, (DOUBLE,), (), "Sizes.").measure(parts["train"])
    assert np.isfinite(table[:3]).all() and np.isnan(table[12:]).all()


def test_electorates_must_be_the_domain_s_own() -> None:
    with pytest.raises(InputError, match="from train to unseen"):
        RecordDomain("sizes", {"train": electorate("train")}, (), (), "")
    with pytest.raises(InputError, match="of domain other"):
        RecordDomain("other", {"train": electorate("train"), "unseen": electorate("unseen")}, (), (), "")
