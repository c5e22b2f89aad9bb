"""Whole runs: policies against a service, added families and policies, and going on after a break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.sealed import runner
from kernaut.sealed.client import RunningService, SealedClient, connect, serve
from kernaut.sealed.episode import Ending
from kernaut.sealed.generation import Generation, generate
from kernaut.sealed.manifest import read_manifest
from kernaut.sealed.runner import Plan, policy_spec, run_plan


def plan(*names: str, **changed: Any) -> Plan:
    options = changed.pop("options", {})
    specs = tuple(policy_spec(name, options.get(name, {})) for name in names)
    return Plan(specs, changed.pop("split", "test"), tuple(range(changed.pop("seeds", 1))), **changed)


def test_every_built_in_policy_plays_fair_and_the_ceiling_is_well_below_the_floor(
    service: RunningService, client: SealedClient, task_set: Any
) -> None:
    names = (*runner.BUILT_IN, "oracle")
    events: list[Any] = []
    runs = run_plan(service.url, task_set.manifest, plan(*names, seeds=2), events.append)
    report = client.report(list(runs.values()), times=True)
    by_policy = {entry["policy"]: entry for entry in report["runs"]}
    for name in names:
        assert by_policy[name]["outcomes"]["returned"] == 6, name
        assert by_policy[name]["auc_seconds"]["macro"] is not None
    means = {name: by_policy[name]["raw"]["macro"]["mean"] for name in names}
    assert means["oracle"] == 0.0
    assert means["ceiling"] < 0.1
    assert 0.6 < means["random"] < 1.4
    assert all(
        means["ceiling"] < means[name] < means["random"]
        for name in names
        if name not in ("random", "ceiling", "oracle")
    )
    assert report["rankings"]["raw"]["macro"][0]["policy"] == "oracle"
    assert {event["event"] for event in events} == {"begun", "confined", "progress", "closed"}


def test_the_same_run_again_gives_the_same_report_byte_for_byte(
    service: RunningService, client: SealedClient, task_set: Any
) -> None:
    texts = []
    for workers in (1, 3):
        runs = run_plan(service.url, task_set.manifest, plan("cma_es", seeds=2, workers=workers))
        report = client.report(list(runs.values()))
        del report["registered"]  # counts every registration at this service, these two too
        texts.append(json.dumps(report))
    assert texts[0] == texts[1]


def test_the_same_seed_and_key_give_the_same_reports_byte_for_byte(sealed_home: Path, tmp_path: Path) -> None:
    """Generated, served and played twice, with nothing in common but seed and key file."""
    texts = []
    for place in ("one", "two"):
        what = Generation({"haar_encode": 3, "attention_2d": 3}, seed=8, rollouts=100, probed=40)
        made = generate(what, tmp_path / place, tmp_path / f"{place}-ledger", tmp_path / "key")
        with serve(made.ledger, key_file=made.key_file) as service, connect(service.url, role="owner") as owner:
            names = ("random", "gradient", "cma_es", "bayesian_optimization")
            run_plan(service.url, read_manifest(made.out), plan(*names, workers=3 if place == "two" else 1))
            texts.append(json.dumps(owner.report(details=True)))
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["registered"] == dict.fromkeys(
        ("bayesian_optimization", "cma_es", "gradient", "random"), 1
    )


CANDIDATE = {
    "name": "waves",
    "contract": "feature_map",
    "source": (
        "import torch\n\ndef feature_point(x, parameters):\n"
        "    return torch.cat([x, parameters['b'] * torch.sin(3.0 * x), torch.ones_like(x[:1])])\n"
    ),
    "parameters": {"b": 0.5},
}


@pytest.mark.parametrize("kernel", [{"kind": "rbf", "lengthscale": 0.7}, CANDIDATE])
def test_any_kernel_may_be_the_surrogate(
    service: RunningService, client: SealedClient, task_set: Any, kernel: dict[str, Any]
) -> None:
    options = {"bayesian_optimization": {"kernel": kernel}}
    runs = run_plan(service.url, task_set.manifest, plan("bayesian_optimization", options=options))
    (entry,) = client.report(list(runs.values()))["runs"]
    assert entry["outcomes"]["returned"] == 3 and entry["raw"]["macro"]["mean"] < 1.0
    assert entry["options"] == {"kernel": kernel}


def test_families_and_policies_of_an_installed_package(
    extension_folder: Path, sealed_home: Path, tmp_path: Path
) -> None:
    what = Generation({"halve": 3, "fences": 3}, seed=1, rollouts=100, probed=30)
    made = generate(what, tmp_path / "out", tmp_path / "ledger", tmp_path / "key")
    manifest = read_manifest(made.out)
    source = tmp_path / "cheats.py"
    source.write_text(
        "from kernaut.sealed.policy import Policy\n"
        "class Broken(Policy):\n    def act(self, task, evaluate, rng):\n        return task.space.centre() + 5\n"
        "class Zero(Policy):\n    def act(self, task, evaluate, rng):\n        return task.space.centre() * 0\n"
    )
    names = ("still", "random_search", "ceiling", f"{source}:Broken", f"{source}:Zero")
    with serve(made.ledger, key_file=made.key_file) as service, connect(service.url, role="owner") as owner:
        runs = run_plan(service.url, manifest, plan(*names))
        report = owner.report(list(runs.values()), details=True)
    entries = {entry["policy"]: entry for entry in report["runs"]}
    assert entries["still"]["outcomes"]["returned"] == 2, entries["still"]["episodes"]
    assert entries["Broken"]["outcomes"]["malformed"] == 2
    for entry in entries["Broken"]["episodes"]:  # minimizing and satisfying alike
        assert entry["raw_regret"] == 2.0
        assert entry["j"] == entry["j_worst"]
    halve = next(e for e in entries["still"]["episodes"] if "halve" in e["task_id"])
    assert halve["j_worst"] == 2.0 * (halve["j_random"] + 1e-9) - 1.0
    assert halve["raw_regret"] == pytest.approx((halve["j"] - 1.0) / (halve["j_random"] - 1.0 + 1e-9), rel=1e-12)
    fences = next(e for e in entries["Zero"]["episodes"] if "fences" in e["task_id"])
    assert (fences["j"], fences["raw_regret"]) == (1.0, 0.0)
    missed = next(e for e in entries["still"]["episodes"] if "fences" in e["task_id"])
    assert missed["j"] in (1.0, -0.25, -0.5, -0.75, -1.0)
    best = {n: entries[n]["raw"]["families"]["halve"]["mean"] for n in ("random_search", "ceiling")}
    assert min(best.values()) < 1.0


def test_a_broken_off_run_goes_on_where_it_was(
    service: RunningService, client: SealedClient, task_set: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_play, played = runner.play, []

    class Breaks(Exception):
        pass

    def play(asked: SealedClient, host: Any, ticket: Any, task: Any, policy: Any) -> Ending:
        if len(played) == 2:
            # the runner is broken off in the middle of an episode, after some of its queries
            true_evaluate = asked.evaluate

            def evaluate(*arguments: Any) -> Any:
                if arguments[-1] == 2:
                    raise Breaks
                return true_evaluate(*arguments)

            monkeypatch.setattr(asked, "evaluate", evaluate)
        ending = true_play(asked, host, ticket, task, policy)
        played.append(ticket)
        return ending

    wanted = plan("random_search", seeds=2, workers=1, state=tmp_path / "state")
    monkeypatch.setattr(runner, "play", play)
    with pytest.raises(Breaks):
        run_plan(service.url, task_set.manifest, wanted)
    (notes,) = (tmp_path / "state").iterdir()
    assert notes.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(runner, "play", true_play)
    before = sum(client.report(None, split="test")["registered"].values())
    events: list[Any] = []
    runs = run_plan(service.url, task_set.manifest, wanted, events.append)
    assert events[0]["episodes"] == 4
    report = client.report(list(runs.values()))
    assert sum(report["registered"].values()) == before
    assert report["runs"][0]["outcomes"]["returned"] == 6
    assert report["runs"][0]["queries"] == 2 * 25
    assert not list((tmp_path / "state").iterdir())


def test_what_a_runner_missed_when_it_was_broken_off_is_made_good(
    service: RunningService, client: SealedClient, task_set: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off after the service noted an episode's end and before the runner did, in the middle of a note, and with a policy
    that plays otherwise the second time."""
    source = tmp_path / "moody.py"
    source.write_text(
        "import numpy as np\nfrom kernaut.sealed.policy import Policy\n"
        "class Moody(Policy):\n    def act(self, task, evaluate, rng):\n"
        "        evaluate(task.space.sample(np.random.default_rng()))\n        return task.space.centre()\n"
    )
    wanted = plan(f"{source}:Moody", workers=1, state=tmp_path / "state")
    true_finish, ended = SealedClient.finish, []

    class Breaks(Exception):
        pass

    def finish(asked: SealedClient, ticket: Any, *rest: Any, **keywords: Any) -> None:
        if len(ended) == 2:
            raise Breaks  # the third episode has queried, and has no outcome yet
        true_finish(asked, ticket, *rest, **keywords)
        ended.append(ticket)

    monkeypatch.setattr(SealedClient, "finish", finish)
    with pytest.raises(Breaks):
        run_plan(service.url, task_set.manifest, wanted)
    monkeypatch.undo()
    (notes,) = (tmp_path / "state").iterdir()
    lines = notes.read_text().splitlines(keepends=True)
    assert len(lines) == 3
    notes.write_text("".join(lines[:2]) + lines[2][:-9])  # the second end was being noted
    events: list[Any] = []
    runs = run_plan(service.url, task_set.manifest, wanted, events.append)
    assert events[0]["episodes"] == 2
    assert events[-1]["outcomes"] == {"over": 1, "crash": 1}
    assert next(e["reason"] for e in events if e["event"] == "failed").startswith("the policy did not repeat")
    (entry,) = client.report(list(runs.values()))["runs"]
    assert entry["outcomes"] == {"returned": 2, "malformed": 0, "timeout": 0, "crash": 1, "no_final": 0}
    assert entry["begun_again"] == 1


def test_another_services_tasks_are_refused(service: RunningService, light_set: Any) -> None:
    with pytest.raises(InputError, match="generated with the ledger"):
        run_plan(service.url, light_set.manifest, plan("random"))


def test_policies_are_named_without_importing_them(extension_folder: Path, tmp_path: Path) -> None:
    assert policy_spec("still", {}).spec == {"kind": "module", "name": "kernaut_added_policy:Still"}
    assert policy_spec("still", {}).extension == "kernaut_added_policy"
    with pytest.raises(InputError, match="random, random_search"):
        policy_spec("none", {})
    with pytest.raises(InputError, match="policy's source"):
        policy_spec(str(tmp_path / "none.py:X"), {})
    with pytest.raises(InputError, match="no options"):
        policy_spec("oracle", {"a": 1})


def test_a_class_that_is_no_policy_crashes_its_episodes(
    service: RunningService, client: SealedClient, task_set: Any, tmp_path: Path
) -> None:
    path = tmp_path / "p.py"
    path.write_text("class Other: pass\n")
    runs = run_plan(service.url, task_set.manifest, plan(f"{path}:Other"))
    assert client.report(list(runs.values()))["runs"][0]["outcomes"]["crash"] == 3
    runs = run_plan(service.url, task_set.manifest, plan("gradient", options={"gradient": {"step": 1}}))
    assert client.report(list(runs.values()))["runs"][0]["outcomes"]["crash"] == 3


def test_a_policy_twice_is_refused(service: RunningService, task_set: Any) -> None:
    with pytest.raises(InputError, match="each policy once"):
        run_plan(service.url, task_set.manifest, plan("random", "random"))
