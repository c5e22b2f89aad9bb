"""One episode at the runner's side: outcomes of policies that fail, and of those that send what they should not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernaut.sealed.episode import PolicySpec, play
from kernaut.sealed.manifest import PublicTask

HEAD = """
import ctypes, os, pickle, signal, socket, struct, sys, threading, time
import numpy as np
from kernaut.errors import BudgetSpent
from kernaut.sealed.policy import Policy

def raw(data):
    ctypes.CDLL(None).send(3, data, len(data), 0)

class Cheat(Policy):
    def act(self, task, evaluate, rng):
"""


def source(text: str) -> str:
    return HEAD + "\n".join(f"        {line}" for line in text.strip().splitlines()) + "\n"


MALFORMED = {
    "huge": "return np.zeros(200_000)",
    "a hundred megabytes": "return np.zeros(13_000_000)",
    "nan": "return np.full(task.space.shape, np.nan)",
    "inf": "evaluate(np.full(task.space.shape, np.inf))",
    "wrong shape": "return np.zeros(task.space.size + 1)",
    "one dimension more": "return task.space.centre()[None]",
    "three dimensions": "return np.zeros((1, 1, 1))",
    "a number": "return 0.5",
    "nothing": "return None",
    "a text": "return 'oracle'",
    "an object": "return object()",
    "objects in an array": "return np.array([None] * task.space.size, dtype=object)",
    "a complex array": "return np.full(task.space.shape, 1j)",
    "a pickle": "return pickle.dumps(task.space.centre())",
    "outside the box": "return task.space.project(task.space.centre()) + 100.0",
    "a pickle on the wire": "raw(pickle.dumps(os.system) * 50); time.sleep(60)",
    "garbage on the wire": "raw(os.urandom(500)); time.sleep(60)",
    "a forged size": "raw(struct.pack('<4sBBHI12q', b'KRN1', 50, 0, 1, 0, 2, 2**40, 2**40, *[0] * 9)); time.sleep(60)",
    "a forged kind": "raw(struct.pack('<4sBBHI12q', b'KRN1', 35, 0, 0, 0, *[0] * 12)); time.sleep(60)",
    "a forged answer": "raw(struct.pack('<4sBBHI12q', b'KRN1', 33, 0, 0, 2, *[0] * 12) + b'{}'); time.sleep(60)",
    "a second start": "raw(struct.pack('<4sBBHI12q', b'KRN1', 48, 0, 0, 2, *[0] * 12) + b'{}'); time.sleep(60)",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_outputs_are_an_outcome(table: Any, what: str) -> None:
    ending = table.play(source(MALFORMED[what]))
    assert ending.outcome == "malformed", ending
    assert ending.reason


ROWS = {
    "negative": "return np.array([[2.0, -1.0] + [0.0] * (task.space.shape[1] - 2)] * task.space.shape[0])",
    "sums": "return np.full(task.space.shape, 1.0)",
}


@pytest.mark.parametrize("what", ROWS)
def test_rows_that_are_no_distribution_are_malformed(table: Any, what: str) -> None:
    assert table.play(source(ROWS[what]), "attention_2d").outcome == "malformed"


CRASHES = {
    "raises": ("raise ValueError('a reason')", "ValueError: a reason"),
    "exits": ("sys.exit(0)", "exit"),
    "exits at once": ("os._exit(3)", "exit code 3"),
    "aborts": ("os.abort()", ""),
    "eats memory": ("x = [np.ones(10_000_000) for _ in range(100)]; return x[0][:8]", "memory"),
    "recurses": ("def f(): f()\nf()", "RecursionError"),
    "starts threads": ("threading.Thread(target=time.sleep, args=(9,)).start(); return task.space.centre()", ""),
    "closes its socket": ("os.close(3); return task.space.centre()", ""),
    "asks for another's number": (
        "evaluate(task.space.centre()); raise RuntimeError(task.input['answers'])",
        "KeyError",
    ),
}


@pytest.mark.parametrize("what", CRASHES)
def test_crashes_are_an_outcome(table: Any, what: str) -> None:
    text, word = CRASHES[what]
    ending = table.play(source(text))
    assert ending.outcome == "crash", ending
    assert word in ending.reason


SLOW = {
    "sleeps": "time.sleep(60)",
    "spins": "while True: pass",
    "ignores signals": "signal.alarm\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException: pass",
    "thinks after a query": "evaluate(task.space.centre())\ntime.sleep(60)",
    "drips bytes": "for byte in b'KRN1' + bytes(90):\n    raw(bytes([byte]))\n    time.sleep(0.05)\ntime.sleep(60)",
}


@pytest.mark.parametrize("what", SLOW)
def test_a_policy_is_killed_at_its_deadline(table: Any, what: str) -> None:
    ticket, task = table.ticket("haar_encode")
    spec = PolicySpec("slow", {"kind": "source", "name": "Cheat", "file": "a.py", "source": source(SLOW[what])})
    ending = play(_Patient(table.client, task), table.host, ticket, _quick(task), spec)
    assert ending.outcome == "timeout", ending
    assert "longer than 0.5 s" in ending.reason


def _quick(task: PublicTask) -> PublicTask:
    """The same task with half a second to think; what is sent to the service is the true one."""
    return PublicTask(
        task.task_id, task.family, task.input, task.p_i, task.objective_direction, task.horizon_budget, 0.5, task.seed
    )


class _Patient:
    """A client that sends the true task whatever the runner plays."""

    def __init__(self, client: Any, task: PublicTask) -> None:
        self._client, self._task = client, task

    def evaluate(self, ticket: Any, task: PublicTask, output: Any, seed: int, index: int) -> Any:
        return self._client.evaluate(ticket, self._task, output, seed, index)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_a_flood_of_queries_gets_the_budget_and_no_more(table: Any) -> None:
    text = """
values = []
for _ in range(60):
    try:
        values.append(evaluate(task.space.sample(rng)).value)
    except BudgetSpent:
        pass
assert len(values) == task.horizon_budget, len(values)
return task.space.sample(rng)
"""
    ending = table.play(source(text))
    assert ending.queries == 10
    assert ending.outcome == "no_final"
    forever = "while True:\n    try:\n        evaluate(task.space.sample(rng))\n    except BudgetSpent: pass"
    ending = table.play(source(forever))
    assert ending.outcome == "crash" and "100 refusals" in ending.reason and ending.queries == 10


def test_queries_within_a_billionth_cost_budget_and_tell_nothing(table: Any) -> None:
    text = """
first = evaluate(task.space.centre())
again = [evaluate(task.space.centre() + k * 1e-10) for k in range(1, 6)]
assert all(answer.value is None and answer.difference is None for answer in again)
assert again[-1].remaining == task.horizon_budget - 6 and again[-1].steps_used == 6
return task.space.centre()
"""
    ending = table.play(source(text))
    assert ending.outcome == "returned" and ending.queries == 6, ending


def test_an_answer_is_j_and_difference_and_counts_and_nothing_else(table: Any) -> None:
    text = """
one, two = evaluate(task.space.centre()), evaluate(task.space.sample(rng))
assert vars(one).keys() == {"value", "difference", "steps_used", "remaining"}
assert one.difference is None and abs(two.difference - (two.value - one.value)) < 1e-15
assert set(vars(task)) - {"space", "text", "digest"} == {
    "task_id", "family", "input", "p_i", "objective_direction", "horizon_budget", "compute_budget", "seed"}
assert not [name for name in task.p_i if name not in ("noise", "box", "output")]
return task.space.centre()
"""
    assert table.play(source(text)).outcome == "returned"


def test_the_final_output_takes_the_last_query_when_it_is_new(table: Any) -> None:
    assert table.play(source("return task.space.sample(rng)")).queries == 1
    ending = table.play(source("evaluate(task.space.centre())\nreturn task.space.centre() + 1e-12"))
    assert (ending.outcome, ending.queries) == ("returned", 1)


def test_a_policy_says_what_confines_it(table: Any) -> None:
    ending = table.play(source("return task.space.centre()"))
    told = ending.protections
    assert told["empty_environment"] and told["no_new_privs"]
    if told["seccomp"]:
        assert told["no_network"] and told["no_processes"]
    assert told["readable"] in ("python packages", "nothing")


def test_timing_tells_no_more_than_the_answers(table: Any) -> None:
    """A policy that knows two outputs and asks with refused queries which is better does not learn it from how long refusals take."""
    text = """
better = 0
good, bad = task.space.centre(), task.space.sample(rng)
while True:
    try:
        evaluate(task.space.sample(rng))
    except BudgetSpent:
        break
def seconds(output):
    begin = time.perf_counter()
    try:
        evaluate(output)
    except BudgetSpent:
        return time.perf_counter() - begin
for _ in range(40):
    better += seconds(good) < seconds(bad)
raise RuntimeError("better in %d of 40" % better)
"""
    ending = table.play(source(text))
    counted = int(ending.reason.partition("better in ")[2].split()[0])
    # a fair coin leaves 4..36 once in 10^7; the runner refuses before it looks at what was sent
    assert 4 <= counted <= 36, ending.reason
    assert ending.queries == 10
    assert np.isfinite(counted)
