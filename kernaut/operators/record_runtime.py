"""Child side, trusted, domains of plain records: show operators their task, a candidate and its peers, and run a domain's own runner where it has one.

Runs inside the sandbox behind :mod:`kernaut.operators.runtime`, followed by the domain's runner, a text that defines ``observe(task, candidate, argument)``.
"""

from __future__ import annotations

import copy
from typing import Any

from kernaut.operators.runtime import MOST_OBSERVATIONS, MOST_PEERS, Caught, ObservationsSpent, judge


class Context:
    """What a level-2 operator gets of its task.

    Attributes:
        peers: every raw candidate of the task as operators see them, the candidate included.
        spent: why the budget is used up, or nothing.
    """

    def __init__(self, request: Any, own: int) -> None:
        self.peers = copy.deepcopy(request["shown"])
        self.spent = ""
        self._request = request
        self._own = own
        self._used = 0
        self._met: set[int] = set()

    def run(self, who: Any, argument: Any) -> Any:
        """One observation: what the domain's runner makes of a candidate or peer and an argument; None where it raises.

        Raises:
            ObservationsSpent: beyond 600 observations or 16 peers, or where the domain has no runner.
        """
        place = who["place"]
        if place != self._own:
            self._met.add(place)
        self._used += 1
        runner: Any = globals().get("observe")
        if runner is None:
            self.spent = "this domain runs nothing"
        elif self._used > MOST_OBSERVATIONS:
            self.spent = f"the budget of {MOST_OBSERVATIONS} observations is spent"
        elif len(self._met) > MOST_PEERS:
            self.spent = f"more than {MOST_PEERS} peers were run"
        if self.spent:
            raise ObservationsSpent(self.spent)
        with Caught():
            return runner(
                copy.deepcopy(self._request["task"]),
                copy.deepcopy(self._request["true"][place]),
                copy.deepcopy(argument),
            )
        return None


def answer(request: Any) -> Any:
    """The entry point."""
    return judge(request, lambda place: Context(request, place))
