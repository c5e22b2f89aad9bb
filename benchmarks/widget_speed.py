"""How long widgets take to open on an archive of 500 programs, and to answer a slider. Run: PYTHONPATH=. python benchmarks/widget_speed.py"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kernaut.archive.store import Archive
from kernaut.program.templates import template
from tests.widgets.conftest import fill
from widgets.archive_browser import ArchiveBrowser
from widgets.campaign_monitor import CampaignMonitor
from widgets.episode_explorer import EpisodeExplorer
from widgets.kernel_inspector import KernelInspector

PROGRAMS = 500
REPEATS = 15


def opened(make: Callable[[], object]) -> float:
    began = time.perf_counter()
    make()
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "made.sqlite")
        with Archive.create(path) as archive:
            fill(archive, PROGRAMS)
        program = template("input_transform")
        inspector, explorer = KernelInspector(program), EpisodeExplorer([program])
        print("seconds to open, the second time in a process (imports and the sandbox's start are apart)")
        for name, make in (
            ("ArchiveBrowser", lambda: ArchiveBrowser(path)),
            ("CampaignMonitor", lambda: CampaignMonitor(path)),
            ("KernelInspector", lambda: KernelInspector(origin="archive", archive=path)),
            ("EpisodeExplorer", lambda: EpisodeExplorer([program], archive=path)),
        ):
            make()
            print(f"  {name:<18}{opened(make):8.3f}")
        print(f"milliseconds a slider step, median and largest of {REPEATS}")
        steps: dict[str, Callable[[int], object]] = {
            "parameter": lambda i: inspector.set_trait("values", {"bend": 0.5 + 0.1 * i}),
            "anchor": lambda i: inspector.set_trait("anchor", (i % 20) / 20),
            "through query": lambda i: explorer.set_trait("through", 1 + i),
        }
        for name, step in steps.items():
            times = [1000 * opened(lambda step=step, i=i: step(i)) for i in range(REPEATS)]
            print(f"  {name:<18}{statistics.median(times):8.1f}{max(times):8.1f}")
        inspector.close()
        explorer.close()


if __name__ == "__main__":
    main()
