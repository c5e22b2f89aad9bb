"""Policies written to cheat, each run as any policy is; none gets anything.

A cheat that obtains what it is after raises "GOT ..."; one that fails goes on and names a legal output, or is killed.  The controls run some of
them unconfined, where they do get it.
"""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernaut.sealed
from kernaut.sealed.client import RunningService
from kernaut.sealed.confinement import UNTRUSTED, readable_paths
from kernaut.sealed.places import home

PACKAGE = Path(kernaut.sealed.__file__).parent

HEAD = """
import ctypes, gc, glob, importlib, json, os, pickle, signal, socket, struct, subprocess, sys, threading, time
import numpy as np
from kernaut.errors import BudgetSpent
from kernaut.sealed.policy import Policy

PLACES = json.loads('''@PLACES@''')

def got(what):
    raise RuntimeError("GOT " + str(what)[:200])

class Cheat(Policy):
    def act(self, task, evaluate, rng):
        try:
            self.cheat(task, evaluate, rng)
        except (OSError, ImportError, ValueError, AttributeError, MemoryError) as error:
            self.trouble = error
        return task.space.centre()

    def cheat(self, task, evaluate, rng):
"""

READING = {
    "a ledger row": "        got(open(PLACES['row'], 'rb').read())",
    "the ledger's folder": "        got(os.listdir(PLACES['ledger']))",
    "the ledger by descriptor tricks": "        got(os.listdir(os.open(PLACES['ledger'], os.O_RDONLY | os.O_DIRECTORY)))",
    "the record of evaluations": "        got(open(PLACES['ledger'] + '/evaluations.jsonl').read())",
    "the sealed key": "        got(open(PLACES['key']).read())",
    "the runner's token": "        got([open(p).read() for p in glob.glob(PLACES['home'] + '/tokens/*') or [PLACES['token']]])",
    "another task of the manifest": "        got(open(PLACES['public']).read())",
    "the source of the families": "        got(open(PLACES['package'] + '/families/haar_encode.py').read())",
    "the source of the ledger": "        got(open(PLACES['package'] + '/ledger.py').read())",
    "compiled sources of the trusted side": "        got(os.listdir(PLACES['package'] + '/__pycache__'))",
    "users of the machine": "        got(open('/etc/passwd').read())",
    "the runner's environment": "        got(open('/proc/%d/environ' % PLACES['runner'], 'rb').read())",
    "the service's command line": "        got(open('/proc/%d/cmdline' % PLACES['service'], 'rb').read())",
    "its own environment": "        got(dict(os.environ)) if os.environ else None",
    "its own memory by file": "        f = open('/proc/%d/mem' % os.getpid(), 'rb'); got(f)",
    "the memory of its parent": "        f = open('/proc/%d/mem' % int(open('/proc/self/stat').read().split()[3]), 'rb'); got(f)",
    "the memory of the runner": "        f = open('/proc/%d/mem' % PLACES['runner'], 'rb'); f.seek(PLACES['address']); got(f.read(8))",
    "the memory map of the service": "        got(open('/proc/%d/maps' % PLACES['service']).read())",
    "other processes": "        got(os.listdir('/proc'))",
    "the family module": "        import kernaut.sealed.families.haar_encode as m; got(m)",
    "the ledger module": "        got(importlib.import_module('kernaut.sealed.ledger'))",
    "the key module": "        got(importlib.import_module('kernaut.sealed.sealing'))",
    "the generator module": "        got(importlib.import_module('kernaut.sealed.generation'))",
    "the families after clearing import hooks": (
        "        sys.meta_path[:] = [importlib.machinery.PathFinder]; sys.path_importer_cache.clear(); importlib.invalidate_caches()\\n"
        "        got(importlib.import_module('kernaut.sealed.families.registry'))"
    ),
}
WRITING = {
    "the ledger": "        got(open(PLACES['row'], 'r+b').write(b'x'))",
    "the record": "        got(open(PLACES['ledger'] + '/evaluations.jsonl', 'a').write('x'))",
    "a new ledger row": "        got(open(PLACES['ledger'] + '/rows/new.json', 'w').write('{}'))",
    "a file for the next episode": "        got(open('/tmp/kernaut-memory', 'w').write('x'))",
    "shared memory": "        got(open('/dev/shm/kernaut-memory', 'w').write('x'))",
    "the policies' own code": "        got(open(PLACES['package'] + '/policy.py', 'a').write('x'))",
    "the ledger's absence": "        os.unlink(PLACES['row']); got('unlinked')",
    "the ledger under another name": "        os.rename(PLACES['row'], PLACES['row'] + '.old'); got('renamed')",
    "the ledger's mode": "        os.chmod(PLACES['ledger'], 0o777); got('changed')",
}
KILLED = {
    "probes the port": "        s = socket.create_connection(('127.0.0.1', PLACES['port']), 2); got(s)",
    "asks the service by HTTP": (
        "        import urllib.request; got(urllib.request.urlopen('http://127.0.0.1:%d/health' % PLACES['port']).read())"
    ),
    "connects to the template": "        s = socket.socket(socket.AF_UNIX); s.connect(glob.glob('/tmp/kernaut-policies-*/control')[0]); got(s)",
    "opens a raw socket": "        got(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))",
    "starts a program": "        got(os.posix_spawn('/bin/cat', ['cat', PLACES['row']], {}))",
    "starts a shell": "        got(os.system('true'))",
    "forks": "        pid = os.fork(); got(pid)",
    "kills the runner": "        os.kill(PLACES['runner'], 0); got('signalled')",
    "kills the service": "        os.kill(PLACES['service'], signal.SIGKILL); got('killed')",
    "reads the memory of the service": (
        "        libc = ctypes.CDLL(None, use_errno=True); data = ctypes.create_string_buffer(64)\\n"
        "        local = (ctypes.c_void_p * 2)(ctypes.addressof(data), 64); remote = (ctypes.c_void_p * 2)(PLACES['address'], 64)\\n"
        "        n = libc.process_vm_readv(PLACES['runner'], local, 1, remote, 1, 0); got(n)"
    ),
    "traces the runner": "        got(ctypes.CDLL(None).ptrace(16, PLACES['runner'], 0, 0))",
    "becomes root again": "        got(ctypes.CDLL(None).setuid(0))",
    "maps memory shared with others": "        got(os.memfd_create('x'))",
    "leaves its namespace": "        got(ctypes.CDLL(None).unshare(0x10000000))",
}


def body(lines: str) -> str:
    return HEAD + lines.replace("\\n", "\n") + "\n"


@pytest.fixture(scope="module")
def places(task_set: Any, service: RunningService) -> dict[str, Any]:
    key_id = task_set.key.id
    return {
        "row": str(task_set.ledger / "rows" / "v41-haar_encode-0002.json"),
        "ledger": str(task_set.ledger),
        "key": str(task_set.key_file),
        "home": str(home()),
        "token": str(home() / "tokens" / f"{key_id}.runner"),
        "public": str(task_set.out / "manifest" / "v41-haar_encode-0000.json"),
        "package": str(PACKAGE),
        "runner": os.getpid(),
        "service": service.process.pid,
        "port": int(service.url.rpartition(":")[2]),
        "address": id(task_set),
    }


def source(lines: str, places: dict[str, Any]) -> str:
    import json

    return body(lines).replace("@PLACES@", json.dumps(places))


@pytest.mark.parametrize("what", READING)
def test_nothing_can_be_read(table: Any, places: dict[str, Any], what: str) -> None:
    ending = table.play(source(READING[what], places))
    assert "GOT" not in ending.reason
    assert ending.outcome == "returned", ending.reason


@pytest.mark.parametrize("what", WRITING)
def test_nothing_can_be_changed(table: Any, places: dict[str, Any], task_set: Any, what: str) -> None:
    row = Path(places["row"]).read_bytes()
    ending = table.play(source(WRITING[what], places))
    assert "GOT" not in ending.reason
    assert ending.outcome == "returned", ending.reason
    assert Path(places["row"]).read_bytes() == row
    assert not Path("/tmp/kernaut-memory").exists() and not Path("/dev/shm/kernaut-memory").exists()


@pytest.mark.parametrize("what", KILLED)
def test_what_needs_a_forbidden_call_is_killed(
    table: Any, places: dict[str, Any], service: RunningService, what: str
) -> None:
    ending = table.play(source(KILLED[what], places))
    assert "GOT" not in ending.reason
    assert ending.outcome == "crash", ending
    assert "forbidden system call" in ending.reason
    assert service.process.poll() is None


CONTROLS = [
    "a ledger row",
    "the sealed key",
    "the family module",
    "users of the machine",
    "other processes",
    "the source of the ledger",
    "the memory of the runner",
    "the memory map of the service",
    "the runner's environment",
]


@pytest.mark.parametrize("what", CONTROLS)
def test_the_same_cheats_do_get_it_unconfined(places: dict[str, Any], what: str) -> None:
    script = source(READING[what], places) + "\nCheat({}).cheat(None, None, None)\n"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False)
    assert "GOT" in done.stderr


def test_a_control_for_ports_and_programs(places: dict[str, Any]) -> None:
    with socket.create_connection(("127.0.0.1", places["port"]), 2):
        pass
    for what in ("starts a program", "forks", "opens a raw socket"):
        script = source(KILLED[what], places) + "\nCheat({}).cheat(None, None, None)\n"
        done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False)
        assert "GOT" in done.stderr, what


MEMORY = """
        needles = [PLACES['secret'], PLACES['bearer']]
        texts = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))]
        for holder in texts:
            if holder is needles:
                continue
            for item in (holder.values() if isinstance(holder, dict) else holder):
                if isinstance(item, (str, bytes)) and str(item) in needles:
                    got(item)
        for name in list(sys.modules):
            if name.startswith("kernaut.sealed.") and name.split(".")[2] in ("families", "ledger", "sealing", "generation", "book", "service"):
                got(name)
        for number in range(256):
            if number > 3:
                try:
                    os.fstat(number)
                except OSError:
                    continue
                got("descriptor %d" % number)
"""


def test_the_template_leaves_nothing_in_memory_or_open(table: Any, places: dict[str, Any], task_set: Any) -> None:
    known = places | {"secret": "x" * 64, "bearer": "y" * 64}
    text = source(MEMORY, known)
    # the needles are looked up in what the process had before this source came
    ending = table.play(text.replace("needles = [PLACES['secret'], PLACES['bearer']]", "needles = []"))
    assert ending.outcome == "returned", ending.reason
    token = Path(places["token"]).read_text().strip()
    for needle in (token, task_set.key_file.read_text().strip()):
        split = f"needles = [''.join(reversed({needle[::-1]!r}))]"
        ending = table.play(text.replace("needles = [PLACES['secret'], PLACES['bearer']]", split))
        assert "GOT" not in ending.reason and ending.outcome == "returned", ending.reason


STATE = """
        import builtins, kernaut.sealed.policy as module
        if hasattr(builtins, "remembered") or hasattr(module, "remembered") or hasattr(np, "remembered"):
            got("a memory")
        builtins.remembered = module.remembered = np.remembered = True
        np.random.seed(1)
        os.environ["REMEMBERED"] = "1"
"""


def test_an_episode_starts_with_no_memory(table: Any, places: dict[str, Any]) -> None:
    for _ in range(3):
        ending = table.play(source(STATE, places))
        assert ending.outcome == "returned", ending.reason


PUBLIC_SEED = """
        from kernaut.seeds import generator
        stream = generator("sealed", "public", "attention_2d", "1", task.seed)
        count, width = int(stream.integers(4, 9)), int(stream.integers(2, 4))
        tokens = 1.5 * stream.standard_normal((count, width))
        assert np.array_equal(tokens, task.input["tokens"])  # the public draws are repeated exactly
        stream.uniform(0.25, 0.75)
        scale = round(float(stream.uniform(0.4, 1.0)), 3)
        from kernaut.sealed.mechanisms import attention
        guesses = [scale * stream.standard_normal((width, width)) for _ in range(4)]
        for seed in (task.seed, 0, int(task.task_id[-4:])):
            guesses.append(scale * np.random.default_rng(seed).standard_normal((width, width)))
        for guess in guesses:
            value = evaluate(attention(tokens, guess, task.p_i["temperature"])).value
            if value > -1e-6:
                got("the target by the public seed, J = %r" % value)
"""


def test_the_public_generator_with_the_public_seed_gives_no_target(table: Any, places: dict[str, Any]) -> None:
    ending = table.play(source(PUBLIC_SEED, places), "attention_2d")
    assert ending.outcome == "returned" and ending.queries == 8, ending.reason


CHECK_LANDLOCK = "        got(sorted(os.listdir(PLACES['package'])))"


def test_no_trusted_file_is_granted(table: Any, places: dict[str, Any]) -> None:
    granted = {path.resolve() for path in readable_paths(None)}
    trusted = {path for path in PACKAGE.iterdir() if path.name.removesuffix(".py") not in UNTRUSTED}
    assert {path.name for path in trusted} >= {
        "ledger.py",
        "sealing.py",
        "families",
        "generation.py",
        "book.py",
        "service.py",
    }
    for path in [*trusted, PACKAGE / "families" / "haar_encode.py"]:
        assert path.resolve() not in granted
        assert not any(parent in granted for parent in path.resolve().parents), path
    assert "GOT" not in table.play(source(CHECK_LANDLOCK, places)).reason


def imports_of(path: Path) -> set[str]:
    """Modules of the sealed package that a file imports, function-level ones too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found |= {m.group(1) for name in names if (m := re.match(r"kernaut\.sealed\.(\w+)", name))}
    return {name for name in found if (PACKAGE / f"{name}.py").exists() or (PACKAGE / name).is_dir()}


def test_the_untrusted_side_imports_neither_families_nor_ledger() -> None:
    sides = {path: path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert set(UNTRUSTED) <= set(sides.values())
    for path, side in sides.items():
        if side in UNTRUSTED:
            assert imports_of(path) <= set(UNTRUSTED), path
    trusted = set(sides.values()) - set(UNTRUSTED)
    assert {"families", "ledger", "sealing", "journal", "book", "service", "aggregation", "generation"} <= trusted
    assert any("ledger" in imports_of(path) for path, side in sides.items() if side in trusted)


def test_the_whole_rest_of_the_project_imports_client_and_manifest_only() -> None:
    root = PACKAGE.parent.parent
    for folder in ("kernaut", "widgets", "notebooks"):
        for path in (root / folder).rglob("*.py"):
            if PACKAGE not in path.parents:
                assert imports_of(path) <= {"client", "manifest"}, path


def test_a_huge_space_is_not_needed_to_be_refused(rng: np.random.Generator) -> None:
    assert len(readable_paths("kernaut")) == len(readable_paths(None))
    assert len(readable_paths("yaml")) >= len(readable_paths(None))
