"""The rules of the service, without a service: budgets, order, repeats, outcomes, and what cheats get from them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kernaut.digest import thaw
from kernaut.sealed.aggregation import report
from kernaut.sealed.book import SLACK_SECONDS, Book, Refusal
from kernaut.sealed.journal import Journal
from kernaut.sealed.ledger import Ledger, LedgerDamaged
from kernaut.sealed.manifest import PublicTask


def refused(code: str, act: Any, *arguments: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act(*arguments)
    assert caught.value.code == code, caught.value.message
    return caught.value


def ask(desk: Any, token: str, task: PublicTask, index: int, output: Any, now: float = 0.0, seed: int = 0) -> Any:
    sent = output.tolist() if isinstance(output, np.ndarray) else output
    return desk.book.evaluate(token, index, task.to_json(), seed, sent, now)


@pytest.fixture
def started(desk: Any, rng: np.random.Generator) -> Any:
    """An open haar episode: desk, episode, token, task and outputs to send."""
    run = desk.register()
    episode, token, task = desk.first(run, "haar_encode")
    desk.book.open(token, 0.0)
    return desk, episode, token, task, [task.space.sample(rng) for _ in range(15)]


def test_answers_are_j_of_the_sealed_target(started: Any) -> None:
    desk, _, token, task, outputs = started
    target = desk.book.ledger.row(task.task_id).targets["coefficients"]
    one, two = (ask(desk, token, task, n, outputs[n]) for n in range(2))
    expected = [-float(np.mean((output - target) ** 2)) for output in outputs[:2]]
    assert one.to_json() == {
        "returns": expected[0],
        "steps_used": 1,
        "diagnostics": {"J": expected[0], "difference": None},
    }
    assert two.diagnostics == {"J": expected[1], "difference": expected[1] - expected[0]}


def test_the_query_budget_is_exact(started: Any) -> None:
    desk, episode, token, task, outputs = started
    for index in range(10):
        ask(desk, token, task, index, outputs[index])
    refused("budget", ask, desk, token, task, 10, outputs[10])
    assert episode.used == 10 and episode.outcome is None
    desk.book.finish(token, "returned", 3, "")
    assert episode.final_value() == episode.answers[3]


def test_the_compute_budget_counts_thinking_and_not_waiting_for_answers(started: Any) -> None:
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0], now=10.0)
    desk.book.answered(token, 500.0)  # the answer took long, which is not the policy's
    ask(desk, token, task, 1, outputs[1], now=515.0)
    assert episode.thought == 25.0
    desk.book.answered(token, 515.0)
    refused("compute", ask, desk, token, task, 2, outputs[2], 515.0 + 5.0 + SLACK_SECONDS + 0.01)
    assert episode.outcome == "timeout"
    refused("over", ask, desk, token, task, 2, outputs[2], 515.0)


def test_a_replay_stops_no_clock(started: Any) -> None:
    """Sending an answered query again would otherwise set the thinking time back."""
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0], now=1.0)
    desk.book.answered(token, 1.0)
    for moment in (20.0, 40.0, 60.0):
        ask(desk, token, task, 0, outputs[0], now=moment)
        desk.book.answered(token, moment)
    refused("compute", ask, desk, token, task, 1, outputs[1], 61.0)
    assert episode.outcome == "timeout"


def test_an_episode_begun_again_is_on_record_and_in_the_report(started: Any) -> None:
    """A runner that was broken off goes on an hour later: not counted as thinking, and said."""
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0], now=3.0)
    desk.book.answered(token, 3.0)
    before = desk.journal.appended
    desk.book.open(token, 3600.0)
    assert desk.journal.appended == before + 1 and episode.opened == 2
    ask(desk, token, task, 0, outputs[0], now=3601.0)
    desk.book.answered(token, 3601.0)
    ask(desk, token, task, 1, outputs[1], now=3604.0)
    assert episode.thought == 3.0 + 4.0
    run = desk.book.close(next(iter(desk.book.runs)))
    assert report(desk.book.ledger, [run], [run])["runs"][0]["begun_again"] == 1


def test_a_repeated_number_with_the_same_output_is_the_recorded_answer(started: Any) -> None:
    """So that a client may ask again after a lost connection; a replay buys nothing."""
    desk, episode, token, task, outputs = started
    first = ask(desk, token, task, 0, outputs[0])
    ask(desk, token, task, 1, outputs[1])
    before = desk.journal.appended
    assert ask(desk, token, task, 0, outputs[0]) == first
    assert episode.used == 2 and desk.journal.appended == before
    refused("order", ask, desk, token, task, 0, outputs[2])
    refused("order", ask, desk, token, task, 3, outputs[3])
    refused("order", ask, desk, token, task, -1, outputs[3])
    refused("order", ask, desk, token, task, True, outputs[3])


def test_a_query_near_an_earlier_one_costs_budget_and_answers_nothing(started: Any) -> None:
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0])
    result = ask(desk, token, task, 1, outputs[0] + 0.9e-9)
    assert result.to_json() == {"returns": None, "steps_used": 2, "diagnostics": {"J": None, "difference": None}}
    desk.book.finish(token, "returned", 1, "")
    assert episode.final_value() == episode.answers[0]


BAD = {
    "shape": lambda x: [*x.tolist(), 0.0],
    "nested": lambda x: [x.tolist()],
    "nan": lambda x: [float("nan"), *x.tolist()[1:]],
    "inf": lambda x: [float("inf"), *x.tolist()[1:]],
    "huge": lambda x: [10**400, *x.tolist()[1:]],
    "text": lambda x: ["0.5", *x.tolist()[1:]],
    "flag": lambda x: [True, *x.tolist()[1:]],
    "null": lambda x: None,
    "object": lambda x: {"__reduce__": "os.system"},
    "pickle": lambda x: "gASVIAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAJpZJSFlFKULg==",
    "outside": lambda x: [2.0 + 1e-9, *x.tolist()[1:]],
    "oracle": lambda x: "oracle",
}


@pytest.mark.parametrize("kind", BAD)
def test_a_malformed_output_ends_the_episode(started: Any, kind: str) -> None:
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0])
    error = refused("malformed", ask, desk, token, task, 1, BAD[kind](outputs[1]))
    assert error.message.startswith("Malformed: the output")
    assert episode.outcome == "malformed" and episode.used == 1
    refused("over", ask, desk, token, task, 1, outputs[1])


def test_rows_must_be_distributions(desk: Any) -> None:
    for kind in range(3):
        run = desk.register(f"p{kind}")
        episode, token, task = desk.first(run, "attention_2d")
        bad = np.full(task.space.shape, 1.0 / task.space.shape[1])
        bad[0, :2] += [(-1.0, 1.0), (1e-5, 0.0), (2.0, 0.0)][kind]
        refused("malformed", ask, desk, token, task, 0, bad)
        assert episode.outcome == "malformed"


def test_tokens_cannot_be_guessed_or_used_elsewhere(started: Any) -> None:
    desk, _, token, task, outputs = started
    for guess in ("", "0" * 64, token[:-1], token + "0", token.upper(), None, 7, "é" * 64, ["x"]):
        refused("token", ask, desk, guess, task, 0, outputs[0])
    other = next(t for t in desk.manifest.split("train") if t.family == "haar_encode")
    refused("task", ask, desk, token, other, 0, outputs[0])
    refused("seed", lambda: ask(desk, token, task, 0, outputs[0], seed=1))
    refused("seed", lambda: ask(desk, token, task, 0, outputs[0], seed=True))


@pytest.mark.parametrize(
    "change", ["horizon_budget", "compute_budget", "p_i", "objective_direction", "seed", "extra", "text"]
)
def test_a_public_task_that_was_changed_is_refused(started: Any, change: str) -> None:
    desk, episode, token, task, outputs = started
    record = task.to_json()
    if change == "p_i":
        record["p_i"]["output"]["upper"] = 100.0
    elif change == "extra":
        record["more"] = 1
    elif change == "text":
        record = task.text
    else:
        record[change] = {"objective_direction": "minimize"}.get(change, 10_000)
    for _ in range(2):
        refused("task", desk.book.evaluate, token, 0, record, 0, outputs[0].tolist(), 0.0)
        ask(desk, token, task, episode.used, outputs[episode.used])  # also once the true task is known
    refused("task", desk.book.evaluate, token, 0, {"x": float("nan")}, 0, outputs[0].tolist(), 0.0)


def test_a_fresh_seed_or_name_buys_nothing_for_an_episode(started: Any) -> None:
    """Each registration has tokens of its own, is counted, and starts its own regret: nothing is carried over."""
    desk, episode, token, task, outputs = started
    for index in range(10):
        ask(desk, token, task, index, outputs[index])
    again = desk.register("another name", seeds=(0, 1))
    others = [desk.book.token(again, e) for e in again.episodes.values()]
    assert token not in others and len(set(others)) == len(others) == 6
    refused("budget", ask, desk, token, task, 10, outputs[10])
    assert episode.used == 10
    assert len(desk.book.runs) == 2


def test_refusals_are_the_same_words_whatever_the_ledger_holds(desk: Any, rng: np.random.Generator) -> None:
    """Two tasks with other answers, and outputs near and far from them, get the same words, and the ledger is not even read."""
    said = []
    for task_name in ("haar_encode", "attention_2d"):
        run = desk.register(task_name)
        episode, token, task = desk.first(run, task_name)
        target = next(iter(desk.book.ledger.row(task.task_id).targets.values()))
        ask(desk, token, task, 0, task.space.sample(rng))
        reads: list[str] = []
        true_row = desk.book.ledger.row
        desk.book.ledger.row = lambda identifier, reads=reads, true_row=true_row: (
            reads.append(identifier) or true_row(identifier)
        )
        for output in (np.full_like(target, np.nan), target + 100.0, target * np.nan):
            refusal = refused("order", ask, desk, token, task, 5, output)
            said.append(refusal.message)
        said.append(refused("malformed", ask, desk, token, task, 1, [target.tolist()] * 2).message)
        said.append(refused("over", ask, desk, token, task, 1, target).message)
        assert reads == []
        del desk.book.ledger.row
        assert episode.outcome == "malformed"
    half = len(said) // 2
    assert said[:half] == said[half:]


def test_outcomes_are_final_and_closing_counts_the_rest_as_no_final(started: Any) -> None:
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0])
    refused("final", desk.book.finish, token, "returned", 1, "")
    refused("final", desk.book.finish, token, "returned", None, "")
    refused("outcome", desk.book.finish, token, "won", 0, "")
    refused("outcome", desk.book.finish, token, "crash", None, 7)
    desk.book.finish(token, "timeout", None, "x" * 900)
    desk.book.finish(token, "timeout", None, "again")
    assert len(episode.reason) == 500
    refused("over", desk.book.finish, token, "returned", 0, "")
    run = desk.book.close(next(iter(desk.book.runs)))
    assert run.closed
    late = next(e for e in run.episodes.values() if e is not episode)
    refused("over", desk.book.open, desk.book.token(run, late), 0.0)
    assert late.outcome is None
    refused("run", desk.book.close, "none")


def test_registrations_are_checked_and_repeatable(desk: Any) -> None:
    register = desk.book.register
    good = ("p", "test", [0, 1], {"a": 1}, "12345678")
    run = register(*good)
    assert register(*good) is run and len(desk.book.runs) == 1
    assert [len(run.episodes), run.seeds] == [6, (0, 1)]
    for place, value, code in [
        (0, "", "policy"),
        (0, "x" * 81, "policy"),
        (0, "a\nb", "policy"),
        (1, "tests", "split"),
        (2, [], "seeds"),
        (2, [0, 0], "seeds"),
        (2, [-1], "seeds"),
        (2, [0.5], "seeds"),
        (2, list(range(1001)), "seeds"),
        (3, [], "registration"),
        (3, {"a": float("inf")}, "registration"),
        (4, "short", "registration"),
    ]:
        bad = list(good)
        bad[place] = value
        bad[4] = value if place == 4 else "other-request"
        refused(code, register, *bad)
    refused("owner", register, "oracle", "test", [0], {}, "other-request")
    assert len(desk.book.runs) == 1


def test_the_oracle_is_j_star_for_the_owner(desk: Any) -> None:
    run = desk.register("oracle", owner=True)
    episode, token, task = desk.first(run, "fm_kernel_loss")
    result = desk.book.oracle(token, 0.0)
    assert result.returns == desk.book.ledger.row(task.task_id).j_star
    assert desk.book.oracle(token, 0.0) == result and episode.used == 1
    other = desk.register("mine")
    refused("malformed", desk.book.oracle, desk.first(other, "haar")[1], 0.0)


def test_everything_comes_back_from_the_record(started: Any, own_set: Any) -> None:
    desk, episode, token, task, outputs = started
    for index in range(4):
        desk.book.answered(token, float(index))
        ask(desk, token, task, index, outputs[index] if index != 2 else outputs[0], now=index + 0.5)
    _, other_token, _ = desk.first(desk.register("second"), "attention_2d")
    desk.book.finish(other_token, "crash", None, "why")
    desk.journal.close()
    key = own_set.key
    journal = Journal(own_set.ledger, key)
    book = Book(Ledger(own_set.ledger, key), journal, key)
    desk.journal.__dict__.update(journal.__dict__)  # the fixture closes it
    again = dataclasses.replace(desk, book=book)
    assert [(run.policy, len(run.episodes)) for run in book.runs.values()] == [("mine", 3), ("second", 3)]
    back, _, _ = again.first(next(iter(book.runs.values())), "haar_encode")
    assert back.answers == episode.answers and back.seconds == episode.seconds == [0.5, 1.0, 1.5, 2.0]
    assert back.answers[2] is None
    assert ask(again, token, task, 3, outputs[3]).to_json() == episode.result(3).to_json()
    assert ask(again, token, task, 4, outputs[4], now=9e9).steps_used == 5  # time without a service is nobody's
    assert again.first(list(book.runs.values())[1], "attention_2d")[0].reason == "why"


def test_a_row_that_changes_under_a_running_book_stops_the_evaluation(started: Any, own_set: Any) -> None:
    desk, episode, token, task, outputs = started
    ask(desk, token, task, 0, outputs[0])
    path = own_set.ledger / "rows" / f"{task.task_id}.json"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(LedgerDamaged, match="fit its tag"):
        ask(desk, token, task, 1, outputs[1])
    assert episode.used == 1
    assert thaw(task.p_i)["box"] == [-2.0, 2.0]
