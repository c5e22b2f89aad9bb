"""Operators and candidates inside the sandbox: what misbehaves abstains with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.errors import SandboxFailure
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.code.labels import code_program
from kernaut.operators.records import ABSTAIN, Electorate, Operator
from kernaut.operators.trusted import Bench

ADD = "def f(x):\n    return x + 1\n"
OFF = "def f(x):\n    return x + 2 if x > 5 else x + 1\n"


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(code_program()) as made:
        yield made


def judged(bench: Bench, source: str, level: int = 2, sources: tuple[str, ...] = (ADD, ADD, OFF)) -> list[list[str]]:
    request: dict[str, Any] = {
        "do": "judge",
        "operators": [{"source": source, "level": level}],
        "task": {"prompt": "add one", "entry": "f"},
        "shown": [{"source": text, "place": place} for place, text in enumerate(sources)],
        "sources": list(sources),
        "wanted": list(range(len(sources))),
        "measure": False,
        "entry": "f",
        "checks": [{"args": "[3]", "expected": "4"}],
        "seed": 5,
        "inputs": 30,
        "tape": None,
    }
    return [row[0] for row in bench.ask(request)]


def test_peers_are_run_on_generated_inputs(bench: Bench) -> None:
    source = """
def op(task, candidate, ctx):
    for args in ctx.inputs(30):
        texts = [ctx.run(peer, args)["text"] for peer in ctx.peers]
        if texts.count(ctx.run(candidate, args)["text"]) == 1:
            return "flag"
    return "pass"
"""
    assert [verdict for verdict, _ in judged(bench, source)] == ["pass", "pass", "flag"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("while True:\n        pass", "more than 200000 steps"),
        ("return 'flag' * 10**6", "expected flag, pass or abstain; got a text of 4000000"),
        ("return [0] * 10**9", "memory limit"),
        ("return 7", "got int"),
        ("raise ValueError('no')", "ValueError: no"),
        ("return op(task, candidate, ctx)", "RecursionError"),
        ("return open('/etc/passwd').read()", "NameError"),
        ("import os\n    os.fork()", "ImportError"),
        ("raise SystemExit", "NameError"),
        (
            "try:\n        while True:\n            ctx.run(candidate, [1])\n    except Exception:\n        return 'flag'",
            "600 observations",
        ),
        ("return 'abstain'", "the operator abstained"),
        (
            "import string\n    return string.Formatter().get_field('0._programs', (ctx,), {})",
            "no attribute 'Formatter'",
        ),
        (
            "import string\n    used = string.Formatter().get_field('0.run.__func__.__globals__', (ctx,), {})[0]\n    used['MOST_OBSERVATIONS'] = 10**9",
            "no attribute 'Formatter'",
        ),
        ("import ast\n    ast.main()", "no attribute 'main'"),
    ],
)
def test_an_operator_that_misbehaves_abstains_with_a_reason(bench: Bench, body: str, reason: str) -> None:
    for verdict, said in judged(bench, f"def op(task, candidate, ctx):\n    {body}\n"):
        assert verdict == "abstain"
        assert reason in said


OS = "    kinds = ().__class__.__base__.__subclasses__()\n    os = [k for k in kinds if k.__name__ == '_wrap_close'][0].__init__.__globals__\n"


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ("return os['read'](os['open']({path!r}, 0), 99)", ("PermissionError",)),
        ("return [os['open'](f.path, 0) for f in os['scandir']({folder!r})]", ("PermissionError",)),
        ("return 'flag' if os['fork']() else 'pass'", ("forbidden system call",)),
        ("return os['system']('true')", ("forbidden system call",)),
        ("while True:\n        os['write'](1, b'flood' * 99999)", ("more than 200000 steps", "crashed", "timed out", "Error")),
        ("os['_exit'](0)", ("crashed",)),
        ("os['kill'](os['getpid'](), 9)", ("forbidden system call",)),
    ],
)  # fmt: skip
def test_an_operator_that_gets_at_the_system_abstains_with_a_reason(
    code_domain: CodeDomain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, reasons: tuple[str, ...]
) -> None:
    """The source rules refuse these texts; here they are switched off, so that the process is what holds."""
    suite = tmp_path / "tasks.jsonl"
    suite.write_text("the hidden suite", encoding="utf-8")
    monkeypatch.setattr("kernaut.operators.code.domain.require_operator_source", lambda operator: None)
    text = f"def op(task, candidate):\n{OS}    {body.format(path=str(suite), folder=str(tmp_path))}\n"
    train = code_domain.electorate("train")
    few = Electorate("code", "few", train.tasks[:1], tuple(train.candidates[p] for p in train.members[0]))
    verdicts = code_domain.examine(Operator(text, 1, "reaches out"), few)
    assert few.visible.any()
    assert (verdicts.codes[few.visible] == ABSTAIN).all()
    for place in np.flatnonzero(few.visible):
        assert any(reason in verdicts.reasons[int(place)] for reason in reasons), verdicts.reasons[int(place)]


def test_a_source_that_does_not_compile_or_defines_no_op_abstains(bench: Bench) -> None:
    assert "does not compile" in judged(bench, "def op(task candidate)")[0][1]
    assert "no function op" in judged(bench, "x = 1")[0][1]


def test_at_most_sixteen_peers_are_run(bench: Bench) -> None:
    source = "def op(task, candidate, ctx):\n    for peer in ctx.peers[:{}]:\n        ctx.run(peer, [1])\n    return 'pass'\n"
    crowd = (ADD,) * 20
    assert judged(bench, source.format(16), sources=crowd)[19] == ["pass", ""]
    assert judged(bench, source.format(17), sources=crowd)[19] == ["abstain", "more than 16 peers were run"]


def test_nothing_an_operator_changes_reaches_the_next_candidate(bench: Bench) -> None:
    source = """
def op(task, candidate, ctx):
    if "mark" in task or "mark" in candidate:
        return "flag"
    task["mark"] = candidate["mark"] = 1
    ctx.peers.clear()
    for check in ctx.checks:
        check["args"].append(1)
    return "pass" if ctx.run(candidate, [3])["text"] == "4" else "abstain"
"""
    assert judged(bench, source) == [["pass", ""]] * 3


def test_a_process_that_dies_is_a_failure_and_the_next_request_gets_a_new_one(bench: Bench) -> None:
    with pytest.raises(SandboxFailure):
        bench.ask({"do": "judge", "operators": None})
    assert judged(bench, "def op(task, candidate):\n    return 'pass'\n", level=1)[0] == ["pass", ""]


def test_the_trusted_text_imports_nothing_of_kernaut() -> None:
    text = code_program().source
    assert "from kernaut" not in text
    assert text.count("from __future__") == 1
    compile(text, "trusted", "exec")
