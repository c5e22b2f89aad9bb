"""Domains by name, samples from a file, prompt examples tried on reference solutions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kernaut import plugins
from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.operators.code.bank import sample_bank
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.code.labels import Labeller
from kernaut.operators.code.tasks import load_tasks
from kernaut.operators.domains import DomainOptions, code_tasks, open_domain
from kernaut.operators.records import FLAG, PASS, Operator
from tests.kernaut.operators.conftest import TASKS, SmallDomain, task_records


@pytest.fixture(scope="module")
def labeller() -> Iterator[Labeller]:
    with Labeller() as made:
        yield made


def test_samples_are_labelled_by_visible_and_hidden_tests(tasks_file: Path, tmp_path: Path) -> None:
    right = TASKS["largest"][1]
    lines = [
        {"task_id": "own/largest", "completion": f"    {right}\n"},
        {"task_id": "own/largest", "solution": "def largest(values):\n    return max(values, key=abs)\n"},
        {"task_id": "own/largest", "completion": "    return values[0]\n"},
        {"task_id": "elsewhere", "completion": "    return 1\n"},
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    found = sample_bank(load_tasks(tasks_file)[0], path, cache=tmp_path)
    assert [(sample.visible, sample.correct) for sample in found] == [(True, True), (True, False), (False, False)]
    with Archive.create(tmp_path / "a.sqlite") as archive:
        options = DomainOptions(tasks=str(tasks_file), samples=str(path))
        assert open_domain("code", options, archive, cache=tmp_path).synthetic == ""
    path.write_text('{"task_id": "own/largest"}', encoding="utf-8")
    with pytest.raises(InputError, match="solution or completion, in record 1"):
        sample_bank(load_tasks(tasks_file)[0], path, cache=tmp_path)
    path.write_text('{"completion": "    return 1"}', encoding="utf-8")
    with pytest.raises(InputError, match=r"in record 1 of .* Got no task_id"):
        sample_bank(load_tasks(tasks_file)[0], path, cache=tmp_path)


def test_prompt_examples_that_the_reference_fails_are_dropped(tmp_path: Path, labeller: Labeller) -> None:
    records = task_records()[:2]
    records[0]["prompt"] = records[0]["prompt"].replace(">>> ", ">>> largest([2]) == 7\n    >>> ", 1)
    records[1]["prompt"] = records[1]["prompt"].replace("\n    1\n", "\n    99\n")
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    tasks, left_out = code_tasks(DomainOptions(tasks=str(path), visible="prompt"), labeller)
    assert [task.id for task in tasks] == ["own/largest"]
    assert tasks[0].visible.count("assert") == 1
    assert "reference solution" in left_out["own/count_even"]


def test_an_unknown_domain_names_the_known_ones(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "a.sqlite") as archive, pytest.raises(InputError, match="code, kernels"):
        open_domain("poems", DomainOptions(), archive)


class Half:
    """A domain without its last two methods."""

    name, synthetic, interface = "half", "", ""
    reported = electorate = examine = screen = symptoms = measure = hand_written = None


def whole(name: str = "whole") -> SmallDomain:
    return SmallDomain(name=name)


def test_what_an_installed_package_offers_must_be_a_whole_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint(name, f"{__name__}:{name}", "kernaut.domains") for name in ("whole", "Half")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == "kernaut.domains" else [])
    assert isinstance(open_domain("whole", DomainOptions(), None), SmallDomain)
    with pytest.raises(InputError, match=r"'Half'\. Got Half without worth, show\."):
        open_domain("Half", DomainOptions(), None)
    with pytest.raises(InputError, match=r"'whole' to have that name\. Got 'other'"):
        open_domain("whole", DomainOptions(options={"name": "other"}), None)
    with pytest.raises(InputError, match="options that the domain whole takes"):
        open_domain("whole", DomainOptions(options={"size": 3}), None)


KILLER = """
    kinds = ().__class__.__base__.__subclasses__()
    [kind for kind in kinds if kind.__name__ == '_wrap_close'][0].__init__.__globals__['_exit'](0)
"""


def test_a_candidate_that_ends_its_process_has_no_outcomes_and_spoils_no_others(
    tasks_file: Path, tmp_path: Path
) -> None:
    right = TASKS["largest"][1]
    lines = [{"task_id": "own/largest", "completion": f"    {right}\n"}] * 2
    lines.insert(
        1,
        {
            "task_id": "own/largest",
            "completion": f"    if len(values) > 2:{KILLER.replace(chr(10), chr(10) + '    ')}\n    {right}\n",
        },
    )
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    samples = sample_bank(load_tasks(tasks_file)[0], path, cache=tmp_path)
    assert [(sample.visible, sample.correct) for sample in samples] == [(True, True), (False, False), (True, True)]
    shown = [replace(sample, visible=True) for sample in samples]
    source = "def op(task, candidate, ctx):\n    return 'pass' if ctx.run(candidate, [[3, 9]])['ok'] else 'flag'\n"
    for foreign in (["first"], []):
        domain = CodeDomain(load_tasks(tasks_file)[0], {"first": shown}, 0, foreign=foreign)
        electorate = next(e for e in (domain.electorate("train"), domain.electorate("unseen")) if e.candidates)
        found = domain.examine(Operator(source, 2, "raises or ends"), electorate)
        assert [int(code) for code in found.codes] == [PASS, FLAG, PASS]
