"""The service over HTTP: who gets in, what is refused, many clients at once, a damaged ledger, and SIGKILL at any moment."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.sealed.client import RunningService, SealedClient, ServiceRefusal, connect, serve
from kernaut.sealed.journal import NAME
from kernaut.sealed.places import home
from kernaut.sealed.sealing import read_key
from kernaut.sealed.service import role_token


def send(url: str, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", int(url.rpartition(":")[2]), timeout=20)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        return answer.status, json.loads(data) if data.startswith(b"{") else {"raw": data.decode()}
    finally:
        connection.close()


@pytest.fixture
def bearer(task_set: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {role_token(task_set.key, 'runner')}"}


PATHS = ("/runs", "/open", "/evaluate", "/finish", "/close", "/report")


def test_health_is_open_and_tells_nothing(service: RunningService) -> None:
    status, found = send(service.url, "GET", "/health")
    assert status == 200
    assert set(found) == {"status", "version", "key_id", "tasks"}


@pytest.mark.parametrize("path", PATHS)
def test_nobody_gets_in_without_a_token(service: RunningService, path: str) -> None:
    for given in (
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic eDp4"},
        {"Authorization": "Bearer " + "0" * 64},
    ):
        status, found = send(service.url, "POST", path, b"{}", **given)
        assert (status, found["error"]) == (401, "authorization")


def test_a_page_in_a_browser_gets_nothing(service: RunningService, bearer: dict[str, str]) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example:1"):
        assert send(service.url, "POST", "/report", b"{}", Host=host, **bearer)[0] == 421
        assert send(service.url, "GET", "/health", Host=host)[0] == 421


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/openapi.json", "/ledger", "/../ledger.json", "/runs/../ledger", "/health/%2e%2e/rows"]
)
def test_there_is_nothing_else_to_be_had(service: RunningService, bearer: dict[str, str], path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        assert send(service.url, method, path, b"{}", **bearer)[0] in (404, 405)


BODIES = {
    "empty": (b"", 400),
    "no json": (b"{", 400),
    "a list": (b"[]", 400),
    "a pickle": (b"\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94", 400),
    "nested": (b"[" * 100_000, 400),
    "an empty object": (b"{}", 401),
    "nine megabytes": (b'{"token": "' + b"x" * 9_000_000 + b'"}', 413),
}


@pytest.mark.parametrize("kind", BODIES)
def test_bodies_that_are_none_are_refused(service: RunningService, bearer: dict[str, str], kind: str) -> None:
    body, expected = BODIES[kind]
    status, found = send(service.url, "POST", "/evaluate", body, **bearer)
    assert status == expected
    assert set(found) == {"error", "message"}
    assert send(service.url, "GET", "/health")[0] == 200


def test_nan_in_the_json_itself_is_malformed(
    client: SealedClient, table: Any, service: RunningService, bearer: dict[str, str]
) -> None:
    ticket, task = table.ticket("haar_encode")
    numbers = ", ".join(["NaN"] * task.space.size)
    body = f'{{"token":"{ticket.token}","index":0,"seed":0,"output":[{numbers}],"task":{task.text}}}'
    status, found = send(service.url, "POST", "/evaluate", body.encode(), **bearer)
    assert (status, found["error"]) == (422, "malformed")
    with pytest.raises(ServiceRefusal, match="over"):
        client.open(ticket)


def test_the_runner_cannot_ask_as_the_owner(client: SealedClient, table: Any) -> None:
    with pytest.raises(ServiceRefusal) as caught:
        client.register("oracle", "test", [0])
    assert caught.value.code == "owner"
    with pytest.raises(ServiceRefusal) as caught:
        client.report([], details=True)
    assert caught.value.code == "owner"
    ticket, task = table.ticket("haar_encode")
    with pytest.raises(ServiceRefusal) as caught:
        client.evaluate(ticket, task, "oracle", 0, 0)
    assert caught.value.code == "malformed"


def test_the_oracle_is_seen_through_the_same_call(service: RunningService, task_set: Any, table: Any) -> None:
    with connect(service.url, role="owner") as owner:
        run = owner.register("oracle", "test", [0])
        for ticket in run.episodes:
            result = owner.evaluate(ticket, task_set.manifest.tasks[ticket.task_id], "oracle", 0, 0)
            assert result.returns is not None and result.returns <= 0.0
            owner.finish(ticket, "returned", index=0)
        owner.close(run.id)
        found = owner.report([run.id], details=True)
        assert [e["raw_regret"] for e in found["runs"][0]["episodes"]] == [0.0, 0.0, 0.0]


def test_an_open_run_has_no_report(client: SealedClient) -> None:
    run = client.register("open", "test", [0])
    with pytest.raises(ServiceRefusal, match="closed runs"):
        client.report([run.id])
    with pytest.raises(ServiceRefusal, match="Expected runs"):
        client.report(["none"])


def test_tokens_are_kept_where_only_their_owner_reads_them(service: RunningService, task_set: Any) -> None:
    for role in ("runner", "owner"):
        path = home() / "tokens" / f"{service.key_id}.{role}"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text().strip() == role_token(task_set.key, role)
    assert role_token(task_set.key, "runner") != role_token(task_set.key, "owner")
    secret = task_set.key_file.read_text().strip()
    assert secret not in json.dumps(send(service.url, "GET", "/health")[1])


def crowd(service: RunningService, task_set: Any, clients: int) -> list[float]:
    """Clients that each play one episode to its budget, all at once, and check every answer; seconds of each call."""
    manifest = task_set.manifest
    target = dict.fromkeys(manifest.tasks)
    assert target
    with connect(service.url) as shared:
        run = shared.register(f"crowd of {clients}", "all", list(range((clients + 8) // 9)))
    tickets = run.episodes[:clients]
    start = threading.Barrier(clients)
    seconds: list[float] = []

    def one(place: int) -> tuple[Any, list[Any], list[Any]]:
        ticket, task = tickets[place], manifest.tasks[tickets[place].task_id]
        rng = np.random.default_rng(place)
        sent, got = [], []
        with connect(service.url) as mine:
            start.wait()
            mine.open(ticket)
            for index in range(task.horizon_budget):
                sent.append(task.space.sample(rng))
                begun = time.perf_counter()
                got.append(mine.evaluate(ticket, task, sent[-1], ticket.seed, index))
                seconds.append(time.perf_counter() - begun)
            with pytest.raises(ServiceRefusal, match="budget"):
                mine.evaluate(ticket, task, task.space.centre(), ticket.seed, task.horizon_budget)
            mine.finish(ticket, "returned", index=0)
        return ticket, sent, got

    with ThreadPoolExecutor(clients) as pool:
        done = list(pool.map(one, range(clients)))
    from kernaut.sealed.families.registry import family_named
    from kernaut.sealed.ledger import Ledger

    ledger = Ledger(task_set.ledger, task_set.key)
    for ticket, sent, got in done:
        task, row = manifest.tasks[ticket.task_id], ledger.row(ticket.task_id)
        expected = [family_named(row.family).value(task, row.targets, output) for output in sent]
        assert [result.returns for result in got] == expected
        assert [result.steps_used for result in got] == list(range(1, task.horizon_budget + 1))
    return seconds


def test_many_clients_at_once_get_their_own_answers_and_exact_budgets(service: RunningService, task_set: Any) -> None:
    crowd(service, task_set, 12)


@pytest.mark.slow
def test_fifty_clients_at_once(service: RunningService, task_set: Any) -> None:
    assert len(crowd(service, task_set, 50)) > 400


@pytest.fixture
def own_service(light_set: Any) -> Iterator[RunningService]:
    with serve(light_set.ledger, key_file=light_set.key_file) as running:
        yield running


def test_a_flipped_byte_stops_the_service_with_a_clear_message(own_service: RunningService, light_set: Any) -> None:
    manifest = light_set.manifest
    with connect(own_service.url, patience=5.0) as mine:
        run = mine.register("mine", "test", [0])
        ticket = next(t for t in run.episodes if "haar" in t.task_id)
        task = manifest.tasks[ticket.task_id]
        mine.evaluate(ticket, task, task.space.centre(), 0, 0)
        path = light_set.ledger / "rows" / f"{ticket.task_id}.json"
        content = bytearray(path.read_bytes())
        content[200] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(ServiceRefusal, match="damaged"):
            mine.evaluate(ticket, task, task.space.sample(np.random.default_rng(0)), 0, 1)
    with pytest.raises(InputError, match=r"fit its tag. It was changed after it was sealed") as caught:
        own_service.wait()
    assert ticket.task_id in str(caught.value)
    assert own_service.process.returncode == 3
    with pytest.raises(InputError, match="changed after it was sealed"):
        serve(light_set.ledger, key_file=light_set.key_file)


def test_a_second_service_on_the_same_ledger_is_refused(own_service: RunningService, light_set: Any) -> None:
    with pytest.raises(InputError, match="no other service"):
        serve(light_set.ledger, key_file=light_set.key_file)
    assert own_service.stop() == 0


def killed_during(light_set: Any, evaluations: int, kills: int) -> None:
    """A runner that goes on while its service is killed again and again: nothing acknowledged is lost, nothing counts twice."""
    service = serve(light_set.ledger, key_file=light_set.key_file)
    port, manifest = int(service.url.rpartition(":")[2]), light_set.manifest
    acknowledged: dict[tuple[str, int, int], float | None] = {}
    rng = np.random.default_rng(7)
    moments = sorted(rng.choice(np.arange(1, evaluations), kills, replace=False).tolist())
    seeds = list(range(evaluations // 60 + 1))
    count, restarts = 0, []

    def kill_and_start_again() -> None:
        nonlocal service
        time.sleep(float(rng.uniform(0.0, 0.01)))
        os.kill(service.process.pid, signal.SIGKILL)
        service.process.wait()
        for stream in (service.process.stdout, service.process.stderr):
            assert stream is not None
            stream.close()
        service = serve(light_set.ledger, key_file=light_set.key_file, port=port)

    with connect(service.url, patience=60.0) as mine:
        run = mine.register("mine", "all", seeds)
        for ticket in run.episodes:
            task = manifest.tasks[ticket.task_id]
            mine.open(ticket)
            for index in range(task.horizon_budget):
                if count >= evaluations:
                    break
                if count in moments:
                    restarts.append(threading.Thread(target=kill_and_start_again))
                    restarts[-1].start()
                result = mine.evaluate(ticket, task, task.space.sample(rng), ticket.seed, index)
                if restarts and restarts[-1].is_alive():
                    restarts[-1].join()
                acknowledged[ticket.task_id, ticket.seed, index] = result.returns
                assert result.steps_used == index + 1
                count += 1
            if count < evaluations:
                mine.finish(ticket, "returned", index=0)
        mine.close(run.id)
        report = mine.report([run.id])
    assert service.stop() == 0
    key = read_key(light_set.key_file)
    recorded: dict[tuple[str, int, int], list[float | None]] = {}
    last = "0" * 64
    for line in (light_set.ledger / NAME).read_text().splitlines():
        record = json.loads(line)
        mac = record.pop("mac")
        assert mac == key.mac(f"{last}|{json.dumps(record, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}")
        last = mac
        if record["kind"] == "evaluation":
            place = (record["task"], record["seed"], record["index"])
            recorded.setdefault(place, []).append(record["value"])
    assert len(acknowledged) == evaluations and len(restarts) == kills
    assert recorded == {place: [value] for place, value in acknowledged.items()}
    assert report["runs"][0]["queries"] == evaluations


def test_sigkill_loses_nothing_and_counts_nothing_twice(light_set: Any) -> None:
    killed_during(light_set, 24, 2)


@pytest.mark.slow
def test_sigkill_during_two_hundred_evaluations(light_set: Any) -> None:
    killed_during(light_set, 200, 12)
