"""The template process: shared, long-lived, deaf to Ctrl-C, gone with its owner, and merciless to what its children leave."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from kernaut.errors import SandboxFailure
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import VARIABLE, OwnedTemplate, start_template
from kernaut.sandbox.pool import SandboxPool
from tests.kernaut.sandbox.conftest import gone, program

ROOT = Path(__file__).resolve().parents[3]

READING = "import torch\ndef feature_point(x, parameters):\n    return [len(torch.sys.modules['os'].listdir('/'))]\n"
ONE = "def feature_point(x, parameters):\n    return [1.0]\n"

CLIENT = """
import json, os, sys, threading, time
import numpy as np
from kernaut.sandbox import link
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.pool import SandboxPool
from kernaut.sandbox.records import SandboxProgram

ENDLESS = "def feature_point(x, parameters):\\n    while parameters['n']:\\n        pass\\n    return [2.5]\\n"
pool = SandboxPool(Limits(request_seconds=60.0))
children = [pool.child(SandboxProgram(ENDLESS, "feature_point", "point", "numpy")) for _ in range(2)]
value = float(children[0].evaluate(np.zeros((1, 1)), {"n": 0})[0][0, 0])
busy = threading.Thread(target=children[1].evaluate, args=(np.zeros((1, 1)), {"n": 1}), daemon=True)
busy.start()
owned = link.owned_template()
print(json.dumps({
    "value": value,
    "children": [child.pid for child in children],
    "template": owned.process.pid if owned else None,
    "directory": str(owned.directory) if owned else None,
    "variable": os.environ.get(link.VARIABLE),
}), flush=True)
sys.stdin.readline()
"""


@contextmanager
def client(path: str | None) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A process that uses the sandbox: one idle child, one that is busy for ever."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | ({VARIABLE: path} if path else {})
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_two_processes_share_a_template_and_a_killed_one_takes_its_children_along(template: OwnedTemplate) -> None:
    with client(template.path) as (first, one), client(template.path) as (_, two):
        for said in (one, two):
            assert (said["value"], said["template"], said["variable"]) == (2.5, None, template.path)
            assert all(psutil.Process(pid).ppid() == template.process.pid for pid in said["children"])
        first.send_signal(signal.SIGKILL)
        assert all(gone(pid) for pid in one["children"])
        assert all(psutil.pid_exists(pid) for pid in two["children"])
    assert all(gone(pid) for pid in two["children"])
    assert template.process.poll() is None


@pytest.mark.parametrize("end", ["killed", "ended"])
def test_a_template_goes_with_its_owner(end: str) -> None:
    with client(None) as (process, said):
        assert said["value"] == 2.5
        assert said["variable"] == str(Path(said["directory"]) / "control")
        assert Path(said["directory"]).stat().st_mode & 0o777 == 0o700
        if end == "killed":
            process.send_signal(signal.SIGKILL)
        else:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.wait(20) == 0
        assert all(gone(pid) for pid in [*said["children"], said["template"]])
        assert not Path(said["directory"]).exists()


def test_it_is_deaf_to_interrupts(template: OwnedTemplate, pool: SandboxPool) -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(template.process.pid, number)
        time.sleep(0.1)
        assert template.process.poll() is None
    child = pool.child(program(ONE))
    np.testing.assert_array_equal(child.evaluate(np.zeros((1, 1)), {})[0], [[1.0]])
    assert os.getsid(template.process.pid) != os.getsid(0)
    child.close()


def test_it_survives_clients_that_talk_nonsense(template: OwnedTemplate, pool: SandboxPool) -> None:
    for data in (b"", b"x", b"KNT1" + b"\0" * 200):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            stranger.connect(template.path)
            stranger.sendall(data)
            if data:
                stranger.settimeout(5)
                with contextlib.suppress(ConnectionResetError):
                    assert stranger.recv(1) == b""
    child = pool.child(program(ONE))
    np.testing.assert_array_equal(child.evaluate(np.zeros((1, 1)), {})[0], [[1.0]])
    child.close()


def children_in_turn(template: OwnedTemplate, count: int) -> None:
    parent = psutil.Process(template.process.pid)
    before = len(parent.children(recursive=True))
    files = parent.num_fds()
    source = "def feature_point(x, parameters):\n    return x * parameters['k']\n"
    with SandboxPool(Limits(request_seconds=10.0, load_seconds=10.0), socket=template.path) as pool:
        for index in range(count):
            child = pool.child(program(source))
            np.testing.assert_array_equal(child.evaluate(np.ones((1, 1)), {"k": index})[0], [[index]])
            child.close()
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline and len(parent.children(recursive=True)) > before + 1:
        time.sleep(0.02)
    assert len(parent.children(recursive=True)) <= before + 1
    assert parent.num_fds() <= files + 2


def test_many_children_leave_no_trace(template: OwnedTemplate) -> None:
    children_in_turn(template, 40)


@pytest.mark.slow
def test_hundreds_of_children_leave_no_trace(template: OwnedTemplate) -> None:
    children_in_turn(template, 800)


def test_many_children_at_once(template: OwnedTemplate) -> None:
    source = "def feature_point(x, parameters):\n    return x * parameters['k']\n"
    with SandboxPool(Limits(request_seconds=10.0, load_seconds=10.0), socket=template.path) as pool:
        children = [pool.child(program(source)) for _ in range(20)]
        for index, child in enumerate(children):
            np.testing.assert_array_equal(child.evaluate(np.ones((1, 1)), {"k": index})[0], [[index]])
        pids = [child.pid for child in children]
        assert len(set(pids)) == 20
    assert all(gone(pid) for pid in pids)


def test_without_a_filter_the_evidence_says_so_and_a_killed_template_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = start_template(seccomp=False)
    monkeypatch.setenv(VARIABLE, bare.path)
    with SandboxPool(Limits(request_seconds=20.0)) as pool:
        child = pool.child(program(READING))
        assert child.protections["seccomp"] is False
        assert any("switched off" in sentence for sentence in child.protections["not_enforced"])
        if child.protections["no_files"]:
            with pytest.raises(SandboxFailure, match="operating system refused") as failure:
                child.evaluate(np.zeros((1, 1)), {})
            assert failure.value.state == "refused"
        child.close()
        assert gone(child.pid)

        child = pool.child(program(ONE))
        assert psutil.Process(child.pid).ppid() == bare.process.pid
        bare.process.kill()
        assert gone(child.pid)
        with pytest.raises(SandboxFailure, match="template process is gone") as failure:
            child.evaluate(np.zeros((1, 1)), {})
        assert failure.value.state == "crashed"
        bare.stop()
        assert not bare.directory.exists()
        np.testing.assert_array_equal(pool.child(program(ONE)).evaluate(np.zeros((1, 1)), {})[0], [[1.0]])
        assert os.environ[VARIABLE] != bare.path


ORPHANS = """
import os, signal, socket, sys, time
from pathlib import Path
from kernaut.sandbox import linux
from kernaut.sandbox.template import Template, _children

assert linux.adopt_orphans()
read, write = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        os.write(write, str(os.getpid()).encode())
        time.sleep(20)
    time.sleep(0.1)
    os._exit(0)
orphan = int(os.read(read, 20))
lifeline, _ = socket.socketpair()
template = Template(Path("/nonexistent"), lifeline.detach(), os.getpid(), seccomp=False)
os.wait()
assert _children(os.getpid()) == [orphan]
assert template._sweep() == 1
assert os.wait()[1] == signal.SIGKILL
assert _children(os.getpid()) == []
os._exit(0)
"""


def test_what_a_child_leaves_behind_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", ORPHANS], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
