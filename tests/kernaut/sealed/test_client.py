"""The client's own part: tokens, tickets, numbers that survive the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.sealed.client import EpisodeTicket, RunningService, SealedClient, ServiceRefusal, connect
from kernaut.sealed.families.registry import family_named
from kernaut.sealed.ledger import Ledger
from kernaut.sealed.places import VARIABLE


def test_a_tickets_token_shows_in_no_representation() -> None:
    assert "secret" not in repr(EpisodeTicket("v41-x-0001", 0, "secret"))


def test_answers_are_bit_for_bit_those_of_the_family(client: SealedClient, table: Any, task_set: Any) -> None:
    ledger, rng = Ledger(task_set.ledger, task_set.key), np.random.default_rng(3)
    for family in ("haar_encode", "attention_2d", "fm_kernel_loss"):
        ticket, task = table.ticket(family)
        client.open(ticket)
        row, before = ledger.row(task.task_id), None
        for index in range(3):
            output = task.space.sample(rng)
            result = client.evaluate(ticket, task, output, 0, index)
            expected = family_named(family).value(task, row.targets, output)
            assert result.returns == expected
            assert result.diagnostics == {"J": expected, "difference": None if before is None else expected - before}
            before = expected


def test_a_service_of_another_user_has_no_token_here(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="user who started the service"):
        connect(service.url)
    with connect(service.url, token="guess") as mine, pytest.raises(ServiceRefusal, match="bearer token"):
        mine.register("p", "test", [0])
