"""Write the glucose benchmark's exchange file.

    python examples/glucose/export_training.py --out glucose.json

From the external package ``glucosebench`` where it is installed, otherwise from the public simulator ``simglucose``.  Which actions a patient takes is fixed by the patient's
identifier, never by an outcome.  ``--sealed-out FILE`` also writes the hidden adult outcomes of ``kernaut glucose-sealed-test``, from the simulator only.

The file is ``{patient: {"actions": [...], "training": [{"times_min", "cgm_mg_dl", "minute_inputs"}, ...]}}``, passive episodes first.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

from simulator import simulated_episode

from kernaut.episodes.glucose_actions import (
    INTERVENTIONS,
    PASSIVE,
    PATIENTS,
    Action,
    sealed_actions,
    training_actions,
)
from kernaut.seeds import generator


def from_simulator(patient: str) -> dict[str, Any]:
    """A patient's six episodes from simglucose."""
    actions = training_actions(patient)
    training = [simulated_episode(patient, action, f"training-{i}") for i, action in enumerate(actions)]
    return {"actions": [action.to_json() for action in actions], "training": training}


def from_package(patient: str) -> dict[str, Any]:
    """A patient's six episodes from glucosebench: its two passive ones and four distinct interventions of its own menu."""
    import glucosebench

    bench = glucosebench.Benchmark(patient, replicate=0)
    passive = list(bench.training)[:PASSIVE]
    distinct: dict[Action, int] = {}
    for index, raw in dict(bench.actions).items():
        action = _action(raw)
        distinct.setdefault(action, index)
    order = sorted(distinct, key=lambda action: distinct[action])
    chosen = [order[i] for i in generator("glucose", patient).choice(len(order), INTERVENTIONS, replace=False)]
    observed = [bench.observe(distinct[action]) for action in chosen]
    return {
        "actions": [action.to_json() for action in chosen],
        "training": [_episode(episode) for episode in (*passive, *observed)],
    }


def sealed(patient: str) -> list[dict[str, Any]]:
    """The hidden episodes of an adult."""
    actions = sealed_actions(patient)
    return [simulated_episode(patient, action, f"sealed-{i}") for i, action in enumerate(actions)]


def write(path: Path, content: dict[str, Any]) -> None:
    """Compact JSON, one patient a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(record, separators=(',', ':'))}" for name, record in content.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="exchange file to write")
    parser.add_argument("--sealed-out", type=Path, help="also write the hidden adult outcomes (simulator only)")
    parser.add_argument("--patients", nargs="*", help="only these patients")
    options = parser.parse_args(arguments)
    patients = options.patients or [patient for group in PATIENTS.values() for patient in group]
    make = from_package if importlib.util.find_spec("glucosebench") is not None else from_simulator
    write(options.out, {patient: make(patient) for patient in patients})
    if options.sealed_out is not None:
        adults = [patient for patient in patients if patient in PATIENTS["test"]]
        write(options.sealed_out, {patient: {"episodes": sealed(patient)} for patient in adults})


def _action(raw: Any) -> Action:
    """An action of the package's menu, a zero bolus at the meal's minute."""
    take = raw.get if isinstance(raw, dict) else lambda name: getattr(raw, name)
    meal, at, bolus, later = (float(take(name)) for name in ("meal_g", "meal_minute", "bolus_U", "bolus_minute"))
    return Action(meal, at, bolus, later if bolus else at)


def _episode(raw: Any) -> dict[str, Any]:
    """An episode of the package in the exchange file's form."""
    take = raw.get if isinstance(raw, dict) else lambda name: getattr(raw, name)
    return {
        "times_min": [float(value) for value in take("times_min")],
        "cgm_mg_dl": [float(value) for value in take("cgm_mg_dl")],
        "minute_inputs": [[float(value) for value in row] for row in take("minute_inputs")],
    }


if __name__ == "__main__":
    main()
