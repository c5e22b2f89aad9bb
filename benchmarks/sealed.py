"""Sealed tasks at full size: generation, 4 policies on 60 tasks with 5 seeds, and 50 clients at once.

    python benchmarks/sealed.py [--tasks 20] [--seeds 5] [--policies random,gradient,cma_es,bayesian_optimization] [--clients 50] [--workers 2] [--out FILE]

The aim for the run is 3 minutes on 2 cores; processor seconds stand beside, since other work on the machine lengthens the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from kernaut.sealed.client import GenerateOptions, RunningService, RunOptions, connect, generate, run, serve
from kernaut.sealed.manifest import read_manifest

AIM_SECONDS = 180.0


def processor_seconds() -> float:
    """Of this process, its living children and those it waited for."""
    own = psutil.Process()
    total = sum(own.cpu_times()[:4])
    for child in own.children(recursive=True):
        try:
            total += sum(child.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def timed(work: Any) -> tuple[Any, float, float]:
    """What the work returned, its wall and processor seconds."""
    wall, processor = time.perf_counter(), processor_seconds()
    result = work()
    return result, time.perf_counter() - wall, processor_seconds() - processor


def crowd(service: RunningService, manifest: Any, clients: int) -> dict[str, float]:
    """Clients that each play one episode to its budget, all at once."""
    with connect(service.url) as shared:
        run_of = shared.register(f"crowd of {clients}", "all", list(range(1 + clients // len(manifest.tasks))))
    start, seconds, lock = threading.Barrier(clients + 1), [], threading.Lock()

    def one(place: int) -> None:
        ticket = run_of.episodes[place]
        task, rng = manifest.tasks[ticket.task_id], np.random.default_rng(place)
        taken = []
        with connect(service.url) as mine:
            mine.open(ticket)
            start.wait()
            for index in range(task.horizon_budget):
                output = task.space.sample(rng)
                begun = time.perf_counter()
                result = mine.evaluate(ticket, task, output, ticket.seed, index)
                taken.append(time.perf_counter() - begun)
                assert result.steps_used == index + 1
        with lock:
            seconds.extend(taken)

    threads = [threading.Thread(target=one, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    start.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - begun
    return {
        "clients": clients,
        "evaluations": len(seconds),
        "evaluations_per_second": len(seconds) / wall,
        "p50_ms": 1e3 * float(np.quantile(seconds, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(seconds, 0.99)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--policies", default="random,gradient,cma_es,bayesian_optimization")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"load_before": os.getloadavg()[0], "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        os.environ["KERNAUT_SEALED_HOME"] = str(base / "home")
        counts = dict.fromkeys(("haar_encode", "attention_2d", "fm_kernel_loss"), options.tasks)
        made, wall, processor = timed(
            lambda: generate(GenerateOptions(str(base / "tasks"), str(base / "ledger"), counts, seed=1))
        )
        found["generate"] = {"tasks": made["tasks"], "wall_seconds": wall, "processor_seconds": processor}
        policies = options.policies.split(",")
        with serve(base / "ledger") as service:
            wanted = RunOptions(
                str(base / "tasks"), service.url, policies, seeds=options.seeds, split="all", workers=options.workers
            )
            runs, wall, _ = timed(lambda: run(wanted))
            with connect(service.url) as client:
                report = client.report(list(runs.values()))
            episodes = len(policies) * made["tasks"] * options.seeds
            found["run"] = {
                "policies": policies,
                "episodes": episodes,
                "queries": sum(entry["queries"] for entry in report["runs"]),
                "wall_seconds": wall,
                "service_processor_seconds": sum(psutil.Process(service.process.pid).cpu_times()[:2]),
                "aim_seconds": AIM_SECONDS,
                "failed": sum(episodes // len(policies) - e["outcomes"]["returned"] for e in report["runs"]),
                "raw_macro_regret": {e["policy"]: e["raw"]["macro"]["mean"] for e in report["runs"]},
            }
            found["crowd"] = crowd(service, read_manifest(base / "tasks"), options.clients)
    found["processor_seconds"] = processor_seconds()
    found["load_after"] = os.getloadavg()[0]
    text = json.dumps(found, indent=2)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
