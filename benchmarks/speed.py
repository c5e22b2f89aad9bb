"""Speed of Kernaut's inner loops, and ratios to the naive twin within one run.

    python benchmarks/speed.py [--repeats 30] [--twin-sample 4] [--out speed.json] [--campaign]

Ratios are what is judged (exit code 1 when one is missed), since both sides of a ratio share the machine; milliseconds stand beside their aims.  The twin is timed on a
sample of its processes and scaled up; its CRPS must agree with Kernaut's to 1e-8 on the sampled episodes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive_twin
import psutil

from kernaut.evaluation.engine import single_thread
from kernaut.evaluation.evaluate import Setting
from kernaut.evaluation.outcome import mean_crps
from kernaut.evaluation.scoring import score_predictive
from kernaut.evaluation.subject import program_subject
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.objective import mean_query_crps
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import default_pool
from kernaut.verification.relations import probe
from kernaut.verification.verify import verify

DIMENSIONS = (2, 5, 6, 8)
PARAMETERS = {"a": 0.21496191186014413, "v": 0.9753086419753086, "z": 1.4325662500369458}

TORCH = """
import math

import torch

def transform_point(x, parameters):
    a, v, z = parameters["a"], parameters["v"], parameters["z"]
    warped = torch.expm1(-a * x) / torch.expm1(-a)
    folded = torch.sin(z) * torch.arcsin(torch.sin(math.pi * v * x)) / math.pi
    return torch.cat([warped, folded])
"""
NUMPY = (
    TORCH.replace("import torch", "import numpy as np").replace("torch.cat", "np.concatenate").replace("torch.", "np.")
)
LOOPS = """
import math

import torch

def transform_point(x, parameters):
    a, v, z = parameters["a"], parameters["v"], parameters["z"]
    parts = []
    for i in range(x.shape[0]):
        warped = torch.expm1(-a * x[i]) / torch.expm1(-a)
        folded = torch.sin(z) * torch.arcsin(torch.sin(math.pi * v * x[i])) / math.pi
        parts = parts + [warped, folded]
        for j in range(i):
            parts = parts + [0.1 * torch.tanh(x[i] * x[j])]
    return torch.stack(parts)
"""
PROGRAMS = {
    name: KernelProgram(f"speed_{name}", "input_transform", source, PARAMETERS)
    for name, source in (("torch", TORCH), ("numpy", NUMPY), ("loops", LOOPS))
}


def timed(action: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Median and best of warm repetitions [ms]."""
    action()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        found.append(1e3 * (time.perf_counter() - start))
    return {"median_ms": statistics.median(found), "best_ms": min(found)}


def scoring(repeats: int, sample: int) -> dict[str, Any]:
    """Predictive scores on the 50 validation episodes."""
    setting = Setting("bbo", "validation", 10)
    groups = setting.episodes()
    result: dict[str, Any] = {
        "library": timed(lambda: score_predictive(leaf("matern52", lengthscale=0.5), groups), repeats)
    }
    for name, program in PROGRAMS.items():
        kernel = program_subject(program).kernel()
        result[name] = timed(lambda kernel=kernel: score_predictive(kernel, groups), repeats)
        result[name]["mean_crps"] = mean_crps(score_predictive(kernel, groups))
        kernel.close()
    episodes = setting.made().episodes("validation", 10)
    spread = episodes[:: max(1, len(episodes) // sample)][:sample]
    for name in ("torch", "numpy"):
        start = time.perf_counter()
        twin = [naive_twin.episode_crps(PROGRAMS[name], episode) for episode in spread]
        twin_ms = 1e3 * (time.perf_counter() - start) * len(episodes) / len(spread)
        kernel = program_subject(PROGRAMS[name]).kernel()
        ours = [outcome.scores["crps"] for outcome in score_predictive(kernel, spread)]  # type: ignore[index]
        kernel.close()
        worst = max(abs(one - two) for one, two in zip(ours, twin, strict=True))
        if worst > 1e-8:
            raise SystemExit(f"Expected the naive twin to agree within 1e-8. Got a difference of {worst:.3g} ({name}).")
        result[name] |= {"twin_ms": twin_ms, "ratio": twin_ms / result[name]["median_ms"]}
    return result


def verification(repeats: int, sample: int) -> dict[str, Any]:
    """Verification in the four dimensions of BBO, a fresh child each time."""
    result: dict[str, Any] = {}
    for name, program in PROGRAMS.items():
        evidence = verify(program, DIMENSIONS, 0)
        if not evidence.accepted:
            raise SystemExit(f"Expected {name} to be accepted. Got {evidence.reason}.")
        result[name] = timed(lambda program=program: verify(program, DIMENSIONS, 0), repeats)
    for name in ("torch", "numpy"):
        start = time.perf_counter()
        for trial in range(sample):
            naive_twin.verified_matrix(PROGRAMS[name], probe(0, DIMENSIONS[trial % 4]).points[0].numpy())
        twin_ms = 1e3 * (time.perf_counter() - start) * naive_twin.matrices_to_verify(DIMENSIONS) / sample
        result[name] |= {"twin_ms": twin_ms, "ratio": twin_ms / result[name]["median_ms"]}
    return result


def gradients(repeats: int) -> dict[str, Any]:
    """One gradient of the mean CRPS on 10 tuning episodes."""
    groups = EpisodeGroup.stack(Setting("bbo", "train", 2).made().episodes("train", 2, tuning=True))
    result = {}
    for name in ("torch", "loops"):
        kernel = interpret(PROGRAMS[name])
        kernel.values.requires_grad_(True)

        def step(kernel: Any = kernel) -> None:
            kernel.values.grad = None
            kernel.values.data += 1e-9
            mean_query_crps(kernel, groups).backward()

        result[name] = timed(step, repeats)
        kernel.close()
    return result


def campaign_memory() -> dict[str, float]:
    """Largest proportional memory of a whole offline campaign's processes [MiB], and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        kernaut = str(Path(sys.executable).with_name("kernaut"))
        command = [kernaut, "--quiet", "meta-run", "--archive", str(Path(folder) / "archive.sqlite"), "--workers", "2"]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        largest = 0.0
        try:
            while process.poll() is None:
                largest = max(largest, _family_memory(process.pid))
                time.sleep(0.5)
        finally:
            process.terminate()
            process.wait()
        if process.returncode:
            raise SystemExit(f"Expected the campaign to end well. Got exit code {process.returncode}.")
        return {"peak_mib": largest / 2**20, "seconds": time.perf_counter() - start}


def _family_memory(pid: int) -> float:
    total = 0.0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    for member in family:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied, AttributeError):
            continue
    return total


def judge(results: dict[str, Any]) -> list[tuple[str, float, str, float, bool, bool]]:
    """Rows of name, value, unit, aim, whether the aim is reached, whether missing it fails the run."""
    scored, verified = results["scoring"], results["verification"]
    rows = []
    for name in ("torch", "numpy"):
        rows.append((f"score 50 episodes, {name}: ratio", scored[name]["ratio"], "x", 100.0, True))
        rows.append((f"verify, {name}: ratio", verified[name]["ratio"], "x", 50.0, True))
    for name, value, aim in (
        ("score 50 episodes, library kernel", scored["library"]["median_ms"], 5.0),
        ("score 50 episodes, torch", scored["torch"]["median_ms"], 25.0),
        ("score 50 episodes, torch loops", scored["loops"]["median_ms"], 40.0),
        ("score 50 episodes, numpy", scored["numpy"]["median_ms"], 80.0),
        ("verify, torch", verified["torch"]["median_ms"], 60.0),
        ("verify, numpy", verified["numpy"]["median_ms"], 60.0),
        ("verify, torch loops", verified["loops"]["median_ms"], 100.0),
        ("gradient on 10 episodes, torch", results["gradients"]["torch"]["median_ms"], 42.0),
    ):
        rows.append((name, value, "ms", aim, False))
    if "campaign" in results:
        rows.append(("campaign's memory", results["campaign"]["peak_mib"], "MiB", 2048.0, True))
    return [
        (name, value, unit, aim, value >= aim if unit == "x" else value <= aim, hard)
        for name, value, unit, aim, hard in rows
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=30, help="warm repetitions of each measurement")
    parser.add_argument("--twin-sample", type=int, default=4, help="processes of the naive twin that are really timed")
    parser.add_argument("--out", type=Path, help="also write the numbers as JSON")
    parser.add_argument("--campaign", action="store_true", help="also run a whole campaign and watch its memory")
    options = parser.parse_args()
    default_pool().start()
    with single_thread():
        results: dict[str, Any] = {
            "scoring": scoring(options.repeats, options.twin_sample),
            "verification": verification(options.repeats, options.twin_sample),
            "gradients": gradients(options.repeats),
        }
    if options.campaign:
        results["campaign"] = campaign_memory()
    missed = False
    for name, value, unit, aim, reached, hard in judge(results):
        sign = "at least" if unit == "x" else "at most"
        note = "" if reached else ("  MISSED" if hard else "  (aim missed on this machine now)")
        print(f"{name:<40} {value:10.1f} {unit:<4} {sign} {aim:g}{note}")
        missed = missed or (hard and not reached)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
