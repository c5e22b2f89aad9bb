"""How long widgets take to open on an archive of 500 programs (and an evaluator's run on 1 920 candidates), and to answer a control.

Run: PYTHONPATH=. python benchmarks/widget_speed.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kernaut.archive.store import Archive
from kernaut.operators.admission import consult
from kernaut.operators.loop import LoopOptions
from kernaut.operators.records import Electorate, Operator
from kernaut.operators.store import ArchiveJournal, begin
from kernaut.program.templates import template
from kernaut.seeds import generator
from tests.kernaut.operators.conftest import SmallDomain, electorate_of, verdicts_of
from tests.kernaut.report.test_sealed_view import FULL
from tests.widgets.conftest import fill
from widgets.archive_browser import ArchiveBrowser
from widgets.campaign_monitor import CampaignMonitor
from widgets.collision_browser import CollisionBrowser
from widgets.episode_explorer import EpisodeExplorer
from widgets.kernel_inspector import KernelInspector
from widgets.sealed_board import SealedBoard

PROGRAMS, TASKS, SIZE, OPERATORS = 500, 80, 24, 12
REPEATS = 15


class ManyCandidates(SmallDomain):
    """Tasks by candidates with drawn labels."""

    interface = "Nothing is asked."

    def electorate(self, name: str) -> Electorate:
        labels = generator("widget speed").integers(0, 2, (TASKS, SIZE))
        return electorate_of(labels.tolist(), "train")


def fill_evaluator(archive: Archive, domain: ManyCandidates) -> None:
    """A closed run with as many admitted operators as ``OPERATORS`` says, which flag drawn candidates."""
    electorate, rng = domain.electorate("train"), generator("widget speed", "flags")
    stored = {**LoopOptions().to_json(), "author": "made", "domain": {}}
    begin(archive, "cegar-small", electorate, strategy="collision", seed=0, runs=1, options=stored)
    archive.open_run("cegar-small", 0, generation=0, keep=True)
    journal = ArchiveJournal(archive, "cegar-small", 0)
    count = len(electorate.candidates)
    for call in range(OPERATORS):
        operator = Operator(f"def op(task, candidate):\n    return 'pass'  # {call}\n", 1, f"defect {call}")
        verdicts = verdicts_of(rng.choice(count, count // 5, replace=False).tolist(), count)
        gate = consult("target-only", electorate, [], verdicts, None, ())
        journal.write(call, {
            "call": call, "target": "t", "target_size": 1, "kind": "k", "level": 1, "operator": operator.to_json(),
            "verdicts": verdicts.to_json(), "screens": [], "gate": gate.to_json(), "decision": "admitted", "reason": "",
        })  # fmt: skip
    archive.close_run("cegar-small", 0, result={"stopped": "made", "remaining": 1})


def opened(make: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of this process's processor time, which a busy machine does not stretch."""
    began, spent = time.perf_counter(), time.process_time()
    make()
    return time.perf_counter() - began, time.process_time() - spent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "made.sqlite")
        with Archive.create(path) as archive:
            fill(archive, PROGRAMS)
            domain = ManyCandidates()
            fill_evaluator(archive, domain)
        program = template("input_transform")
        inspector, explorer = KernelInspector(program), EpisodeExplorer([program])
        collisions, board = CollisionBrowser(path, domain), SealedBoard(FULL)
        print(
            "seconds to open, the second time in a process (imports and the sandbox's start are apart): clock, processor"
        )
        for name, make in (
            ("ArchiveBrowser", lambda: ArchiveBrowser(path)),
            ("CampaignMonitor", lambda: CampaignMonitor(path, campaign="made")),
            ("KernelInspector", lambda: KernelInspector(origin="archive", archive=path)),
            ("EpisodeExplorer", lambda: EpisodeExplorer([program], archive=path)),
            ("CollisionBrowser", lambda: CollisionBrowser(path)),
            ("  with candidates", lambda: CollisionBrowser(path, domain)),
            ("SealedBoard", lambda: SealedBoard(FULL)),
        ):
            make()
            clock, spent = opened(make)
            print(f"  {name:<18}{clock:8.3f}{spent:8.3f}")
        print(f"milliseconds a slider step, median and largest of {REPEATS} on the clock, median of the processor")
        steps: dict[str, Callable[[int], object]] = {
            "parameter": lambda i: inspector.set_trait("values", {"bend": 0.5 + 0.1 * i}),
            "anchor": lambda i: inspector.set_trait("anchor", (i % 20) / 20),
            "through query": lambda i: explorer.set_trait("through", 1 + i),
            "operators in use": lambda i: collisions.set_trait("operators", i % OPERATORS),
            "regret on": lambda i: board.set_trait("place", ("macro", "micro", "haar", "loss")[i % 4]),
        }
        for name, step in steps.items():
            times = [opened(lambda step=step, i=i: step(i)) for i in range(REPEATS)]
            clock, spent = ([1000 * pair[k] for pair in times] for k in (0, 1))
            print(f"  {name:<18}{statistics.median(clock):8.1f}{max(clock):8.1f}{statistics.median(spent):8.1f}")
        inspector.close()
        explorer.close()
        collisions.close()
        board.close()


if __name__ == "__main__":
    main()
