"""A small task set, the service that serves it, and the policies' template: each made once a session."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from kernaut.sealed.book import Book
from kernaut.sealed.client import EpisodeTicket, RunningService, SealedClient, connect, serve
from kernaut.sealed.episode import Ending, PolicySpec, play
from kernaut.sealed.generation import Generation, generate
from kernaut.sealed.journal import Journal
from kernaut.sealed.ledger import Ledger
from kernaut.sealed.manifest import Manifest, PublicTask, read_manifest
from kernaut.sealed.places import VARIABLE
from kernaut.sealed.policy_host import PolicyHost
from kernaut.sealed.runs import Episode, Run
from kernaut.sealed.sealing import KEY_BYTES, SealedKey, read_key, write_key

COUNTS = {"haar_encode": 3, "attention_2d": 3, "fm_kernel_loss": 3}


KEY = SealedKey(bytes([1]) * KEY_BYTES)
"""Hidden draws of a new key leave an instance uncalibrated now and then; those of this one do not."""


@dataclass(frozen=True)
class TaskSet:
    """A generated set.

    Args:
        out: public folder.
        ledger: sealed folder.
        key_file: the key.
    """

    out: Path
    ledger: Path
    key_file: Path

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.out)

    @property
    def key(self) -> SealedKey:
        return read_key(self.key_file)

    def copy(self, folder: Path) -> TaskSet:
        """A set of its own, without records."""
        shutil.copytree(self.out, folder / "public")
        shutil.copytree(self.ledger, folder / "ledger", ignore=shutil.ignore_patterns("*.jsonl"))
        shutil.copy(self.key_file, folder / "a.key")
        return TaskSet(folder / "public", folder / "ledger", folder / "a.key")


@pytest.fixture(scope="session")
def sealed_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kernaut-sealed-home-"))
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder)
    yield folder
    if before is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = before
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def task_set(sealed_home: Path) -> Iterator[TaskSet]:
    """Three tasks a family, in folders that any user may enter as far as modes go (the ledger's own mode stays 700)."""
    base = Path(tempfile.mkdtemp(prefix="kernaut-sealed-"))
    base.chmod(base.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    made = TaskSet(base / "public", base / "ledger", base / "sealed.key")
    write_key(KEY, made.key_file)
    generate(Generation(COUNTS, seed=5, probed=40), made.out, made.ledger, made.key_file)
    yield made
    shutil.rmtree(base)


@pytest.fixture(scope="session")
def light_task_set(sealed_home: Path) -> Iterator[TaskSet]:
    """A set that needs no torch, so that a service of it starts fast."""
    base = Path(tempfile.mkdtemp(prefix="kernaut-sealed-light-"))
    made = TaskSet(base / "public", base / "ledger", base / "sealed.key")
    counts = {"haar_encode": 3, "attention_2d": 3}
    write_key(KEY, made.key_file)
    generate(Generation(counts, seed=6, rollouts=100, probed=40), made.out, made.ledger, made.key_file)
    yield made
    shutil.rmtree(base)


@pytest.fixture
def light_set(light_task_set: TaskSet, tmp_path: Path) -> TaskSet:
    return light_task_set.copy(tmp_path)


@pytest.fixture
def own_set(task_set: TaskSet, tmp_path: Path) -> TaskSet:
    return task_set.copy(tmp_path)


@dataclass(frozen=True)
class Desk:
    """A book of its own, without a service around it."""

    book: Book
    journal: Journal
    manifest: Manifest
    key: SealedKey

    def register(
        self, policy: str = "mine", split: str = "test", seeds: Sequence[int] = (0,), *, owner: bool = False
    ) -> Run:
        return self.book.register(policy, split, list(seeds), {}, f"request-{len(self.book.runs)}", owner=owner)

    def first(self, run: Run, family: str) -> tuple[Episode, str, PublicTask]:
        episode = next(e for (task, _), e in run.episodes.items() if family in task)
        return episode, self.book.token(run, episode), self.manifest.tasks[episode.task_id]


@pytest.fixture
def desk(own_set: TaskSet) -> Iterator[Desk]:
    key = own_set.key
    journal = Journal(own_set.ledger, key)
    yield Desk(Book(Ledger(own_set.ledger, key), journal, key), journal, own_set.manifest, key)
    journal.close()


@pytest.fixture(scope="session")
def service(task_set: TaskSet) -> Iterator[RunningService]:
    with serve(task_set.ledger, key_file=task_set.key_file) as running:
        yield running


@pytest.fixture(scope="session")
def client(service: RunningService) -> Iterator[SealedClient]:
    with connect(service.url, patience=5.0) as connected:
        yield connected


@pytest.fixture(scope="session")
def host(sealed_home: Path) -> Iterator[PolicyHost]:
    with PolicyHost() as running:
        yield running


@dataclass(frozen=True)
class Table:
    """Plays one episode of a policy given by its source text."""

    client: SealedClient
    host: PolicyHost
    manifest: Manifest

    def ticket(self, family: str, policy: str = "source") -> tuple[EpisodeTicket, PublicTask]:
        run = self.client.register(policy, "test", [0])
        ticket = next(t for t in run.episodes if family in t.task_id)
        return ticket, self.manifest.tasks[ticket.task_id]

    def play(self, source: str, family: str = "haar_encode", **replaced: object) -> Ending:
        ticket, task = self.ticket(family)
        task = PublicTask(**{**vars_of(task), **replaced}) if replaced else task
        spec = {"kind": "source", "name": "Cheat", "file": "cheat.py", "source": source}
        return play(self.client, self.host, ticket, task, PolicySpec("cheat", spec))


def vars_of(task: PublicTask) -> dict[str, object]:
    names = ("task_id", "family", "input", "p_i", "objective_direction", "horizon_budget", "compute_budget", "seed")
    return {name: getattr(task, name) for name in names}


@pytest.fixture(scope="session")
def table(client: SealedClient, host: PolicyHost, task_set: TaskSet) -> Table:
    return Table(client, host, task_set.manifest)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(12)


ENTRY_POINTS = """[kernaut.families]
halve = kernaut_added_tasks:Halve
fences = kernaut_added_tasks:Fences

[kernaut.policies]
still = kernaut_added_policy:Still
"""


@pytest.fixture
def extension_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package that adds two families and a policy, in a folder that any user may read."""
    folder = Path(tempfile.mkdtemp(prefix="kernaut-added-"))
    folder.chmod(0o755)
    for name in ("tasks", "policy"):
        shutil.copy(Path(__file__).parent / f"added_{name}.py", folder / f"kernaut_added_{name}.py")
    info = folder / "kernaut_added_tasks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kernaut-added-tasks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield folder
    shutil.rmtree(folder)
