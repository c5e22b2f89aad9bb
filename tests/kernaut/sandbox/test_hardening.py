"""Hostile programs that no screening has seen: the operating system's layer holds, each ends in a named state, nothing is left.

The sources reach the interpreter through ``torch.sys``, which the screening refuses; here they run all the same.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from kernaut.errors import SandboxFailure
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import OwnedTemplate
from kernaut.sandbox.pool import SandboxPool
from tests.kernaut.sandbox.conftest import Load, gone, program

PRELUDE = """
import math
import torch

modules = torch.sys.modules

def module(name):
    return modules[name]

def own_socket():
    kind = module("socket").socket
    return [thing for thing in module("gc").get_objects() if isinstance(thing, kind) and thing.fileno() == 3][0]

"""

REFUSED, FAILED, CRASHED, TIMED_OUT = "refused", "failed", "crashed", "timed out"

HOSTILE: dict[str, tuple[str, str, str]] = {
    # processes and programs
    "fork": ("module('os').fork()", REFUSED, "system call"),
    "forkpty": ("module('os').forkpty()", REFUSED, ""),
    "exec": ("module('os').execv('/bin/true', ['true'])", REFUSED, "system call"),
    "system": ("module('os').system('true')", REFUSED, "system call"),
    "posix_spawn": ("module('os').posix_spawn('/bin/true', ['true'], {})", REFUSED, ""),
    "subprocess": ("module('subprocess').Popen(['/bin/true'])", REFUSED, ""),
    "thread": ("module('_thread').start_new_thread(print, ())", REFUSED, "system call"),
    "threads of torch": (
        "torch.set_num_threads(4)\n    torch.mm(torch.ones(900, 900), torch.ones(900, 900))",
        REFUSED,
        "system call",
    ),
    "kill the template": ("module('os').kill(module('os').getppid(), 9)", REFUSED, ""),
    "kill everything": ("module('os').kill(-1, 9)", REFUSED, "system call"),
    "kill by ctypes": ("module('ctypes').CDLL(None).kill(1, 9)", REFUSED, "system call"),
    "ptrace": ("module('ctypes').CDLL(None).ptrace(16, 1, 0, 0)", REFUSED, "system call"),
    "read another's memory": ("module('ctypes').CDLL(None).syscall(310, 1, 0, 0, 0, 0, 0)", REFUSED, "system call"),
    "a raw system call": ("module('ctypes').CDLL(None).syscall(165, 0, 0, 0, 0, 0)", REFUSED, "system call"),
    "priority": ("module('os').nice(5)", REFUSED, ""),
    "become root": ("module('os').setuid(0)", REFUSED, "system call"),
    # network
    "socket": ("module('socket').socket()", REFUSED, "system call"),
    "unix socket": ("module('socket').socket(1, 1)", REFUSED, "system call"),
    "connect by the data socket": ("own_socket().connect('/tmp/x')", REFUSED, ""),
    "pass a descriptor": ("own_socket().sendmsg([b'x'], [(1, 1, b'\\3\\0\\0\\0')])", REFUSED, "system call"),
    # files
    "read a file": ("open('/etc/passwd').read()", REFUSED, "operating system refused"),
    "read by os": ("module('os').open('/etc/passwd', 0)", REFUSED, "operating system refused"),
    "read its environment": ("open('/proc/self/environ').read()", REFUSED, "operating system refused"),
    "read its parent": ("open('/proc/1/environ').read()", REFUSED, "operating system refused"),
    "write a file": ("open('{scratch}', 'w').write('x')", REFUSED, "operating system refused"),
    "save by torch": ("torch.save(x, '{scratch}')", REFUSED + "|" + FAILED, ""),
    "load by torch": ("torch.load('{scratch}')", REFUSED + "|" + FAILED, ""),
    "load by numpy": ("module('numpy').load('/etc/passwd')", REFUSED, ""),
    "remove a file": ("module('os').unlink('/tmp/no-such-file')", REFUSED, "operating system refused"),
    "make a directory": ("module('os').mkdir('{scratch}')", REFUSED, "operating system refused"),
    "list a directory": ("module('os').listdir('/')", REFUSED, "operating system refused"),
    "change mode": ("module('os').chmod('/tmp', 0o777)", REFUSED, "operating system refused"),
    "anonymous file": ("module('os').memfd_create('x')", REFUSED, "system call"),
    "import a file": ("module('importlib').import_module('this')", REFUSED + "|" + FAILED, ""),
    "write to the data socket": ("module('os').write(3, b'KRN1')", REFUSED, "system call"),
    "entropy": ("module('os').urandom(8)", REFUSED, "operating system refused"),
    "fresh generator": ("module('numpy').random.default_rng().normal()", REFUSED + "|" + FAILED, ""),
    # resources
    "endless loop": ("while True:\n        pass", TIMED_OUT, "0.6 s"),
    "endless loop in C": ("sum(range(10**12))", TIMED_OUT, "0.6 s"),
    "sleep": ("module('time').sleep(60)", TIMED_OUT, "0.6 s"),
    "huge power": ("len(str(7 ** (10 ** 9)))", TIMED_OUT + "|" + FAILED, ""),
    "regular expression": ("module('re').match('(a+)+$', 'a' * 60 + 'b')", TIMED_OUT, "0.6 s"),
    "catch everything": (
        "while True:\n        try:\n            pass\n        except BaseException:\n            pass",
        TIMED_OUT,
        "",
    ),
    "memory in torch": ("torch.ones(2**29)", FAILED, "memory limit"),
    "memory in numpy": ("module('numpy').ones(2**29)", FAILED, "memory limit"),
    "memory in Python": ("[0] * 2**29", FAILED, "memory limit"),
    "memory by growing": ("s = [1]\n    while True:\n        s = s + s", FAILED + "|" + TIMED_OUT, ""),
    "memory by mmap": ("module('mmap').mmap(-1, 2**32)", FAILED + "|" + REFUSED, ""),
    "recursion": ("def f(n):\n        return f(n + 1)\n    f(0)", FAILED, "RecursionError"),
    "recursion without bound": (
        "torch.sys.setrecursionlimit(10**9)\n    def f(n):\n        return [f(n + 1)]\n    f(0)",
        "|".join((CRASHED, FAILED, TIMED_OUT)),
        "",
    ),
    "a reply too large": ("return torch.ones(200_000)", FAILED, "output limit"),
    "print without end": ("while True:\n        torch.sys.stdout.write('x' * 10_000)", TIMED_OUT, "0.6 s"),
    "flood the data socket": ("s = own_socket()\n    while True:\n        s.send(b'x' * 10_000)", CRASHED, "no frame"),
    "announce a huge reply": (
        "own_socket().send(b'KRN1' + bytes([17, 0]) + (1).to_bytes(2, 'little') + bytes(4) + "
        "b''.join(n.to_bytes(8, 'little') for n in [2, 1 << 40, 1 << 40] + [0] * 9))\n    module('time').sleep(9)",
        CRASHED,
        "array of 2 dimensions",
    ),
    "drip": (
        "s = own_socket()\n    for byte in b'KRN1' + bytes(100):\n        s.send(bytes([byte]))\n        module('time').sleep(0.05)",
        TIMED_OUT,
        "0.6 s",
    ),
    "raise a limit": ("module('resource').setrlimit(0, (-1, -1))", REFUSED + "|" + FAILED, ""),
    # the process itself
    "exit": ("module('os')._exit(0)", CRASHED, "exit code 0"),
    "exit politely": ("torch.sys.exit(3)", FAILED, "asked to exit"),
    "interrupt": ("raise KeyboardInterrupt", FAILED, "KeyboardInterrupt"),
    "abort": ("module('os').abort()", CRASHED, "SIG"),
    "segmentation fault": ("module('ctypes').string_at(0)", CRASHED, "SIGSEGV"),
    "signal handler": ("module('signal').signal(15, 1)", REFUSED, "operating system refused"),
    "alarm": ("module('signal').setitimer(0, 0.01)", REFUSED, "system call"),
    "raise a signal": ("module('signal').raise_signal(15)", REFUSED + "|" + FAILED, ""),
    "close the data socket": ("module('os').close(3)", REFUSED, "operating system refused"),
    "an error that cannot be told": (
        "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
        CRASHED + "|" + FAILED,
        "",
    ),
    "a pickle instead of numbers": (
        "return type('P', (), {'__reduce__': lambda self: (print, ('x',))})()",
        FAILED,
        "expected a tensor",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_operating_system_holds(name: str, strict_pool: SandboxPool, tmp_path: Path, nothing_left: None) -> None:
    body, states, reason = HOSTILE[name]
    scratch = tmp_path / "scratch"
    body = body.replace("{scratch}", str(scratch))
    hidden = "    open = modules['builtins'].open\n    print = modules['builtins'].print\n    type = modules['builtins'].type\n"
    source = (
        PRELUDE
        + "bytes = modules['builtins'].bytes\n"
        + f"def feature_point(x, parameters):\n{hidden}    if float(x[0]) > 0:\n        pass\n    {body}\n    return x\n"
    )
    child = strict_pool.child(program(source))
    if not child.protections[
        "seccomp"
    ]:  # where the machine has no filter, nothing hostile is let loose: the evidence says so
        assert child.protections["not_enforced"]
        return
    start = time.monotonic()
    with pytest.raises(SandboxFailure) as failure:
        child.evaluate(np.array([[0.5, 1.5]]), {})
    assert time.monotonic() - start < 5.0
    assert failure.value.state in states.split("|"), str(failure.value)
    assert reason in str(failure.value)
    assert not scratch.exists()
    if failure.value.state in (CRASHED, TIMED_OUT) or "system call" in str(failure.value):
        with pytest.raises(SandboxFailure) as again:
            child.evaluate(np.array([[0.5, 1.5]]), {})
        assert (again.value.state, str(again.value)) == (failure.value.state, str(failure.value))
        assert gone(child.pid)
    child.close()
    assert gone(child.pid)


AT_LOADING = {
    "endless loop": ("while True:\n    pass\n", TIMED_OUT),
    "fork": ("import torch\ntorch.sys.modules['os'].fork()\n", REFUSED),
    "exit": ("import torch\ntorch.sys.modules['os']._exit(0)\n", CRASHED),
    "huge constant": ("x = 10 ** 10 ** 10\n", TIMED_OUT),
    "memory": ("x = [0] * 2 ** 40\n", FAILED),
}


@pytest.mark.parametrize("name", AT_LOADING)
def test_a_source_is_confined_while_it_loads(name: str, template: OwnedTemplate, nothing_left: None) -> None:
    source, state = AT_LOADING[name]
    with SandboxPool(Limits(load_seconds=0.8), socket=template.path) as pool, pytest.raises(SandboxFailure) as failure:
        pool.child(program(source))
    assert failure.value.state == state, str(failure.value)


def test_processor_seconds_are_counted_over_all_requests(template: OwnedTemplate, nothing_left: None) -> None:
    source = "def feature_point(x, parameters):\n    n = 0\n    while True:\n        n += 1\n    return [n]\n"
    limits = Limits(request_seconds=20.0, cpu_seconds=1.0)
    with SandboxPool(limits, socket=template.path) as pool:
        child = pool.child(program(source))
        with pytest.raises(SandboxFailure, match="1 processor seconds") as failure:
            child.evaluate(np.zeros((1, 1)), {})
    assert failure.value.state == TIMED_OUT


def test_data_sent_before_it_is_asked_for_is_no_answer(strict_pool: SandboxPool, nothing_left: None) -> None:
    source = PRELUDE + (
        "def feature_point(x, parameters):\n"
        "    s = own_socket()\n"
        "    frame = torch.sys.modules['kernaut.sandbox.messages']\n"
        "    frame.send(s, frame.Frame(17, 0, (module('numpy').ones((1, 2)),)))\n"
        "    module('time').sleep(0.2)\n"
        "    return x\n"
    )
    child = strict_pool.child(program(source, backend="torch"))
    (forged,) = child.evaluate(np.array([[0.5, 1.5]]), {})  # a program can lie about itself only
    np.testing.assert_array_equal(forged, [[1.0, 1.0]])
    time.sleep(0.5)
    with pytest.raises(SandboxFailure, match="nobody asked for") as failure:
        child.evaluate(np.array([[0.5, 1.5]]), {})
    assert failure.value.state == CRASHED
    assert gone(child.pid)


def test_the_environment_of_the_client_is_not_there(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNAUT_TEST_VALUE", "unseen")
    source = (
        PRELUDE
        + "def feature_point(x, parameters):\n    return [len(module('os').environ), len(module('os').environb)]\n"
    )
    (values,) = load(source).evaluate(np.zeros((1, 1)), {})
    np.testing.assert_array_equal(values, [[0.0, 0.0]])


def test_the_template_was_started_without_secrets(template: OwnedTemplate) -> None:
    block = Path(f"/proc/{template.process.pid}/environ")
    if block.exists():
        names = {entry.partition(b"=")[0] for entry in block.read_bytes().split(b"\0") if entry}
        assert names <= {
            b"PATH",
            b"LD_LIBRARY_PATH",
            b"TMPDIR",
            b"PYTHONPATH",
            b"PYTHONHASHSEED",
            b"PYTHONNOUSERSITE",
            b"LC_ALL",
            b"OMP_NUM_THREADS",
            b"OPENBLAS_NUM_THREADS",
            b"MKL_NUM_THREADS",
            b"VECLIB_MAXIMUM_THREADS",
        }
        assert b"PATH" in names


def test_one_program_changes_nothing_for_the_next(load: Load) -> None:
    patching = "import torch\ntorch.sin = torch.cos\nmath = torch.sys.modules['math']\nmath.pi = 3\ndef feature_point(x, parameters):\n    return torch.sin(x)\n"
    plain = "import math\nimport torch\ndef feature_point(x, parameters):\n    return torch.sin(x) * math.pi\n"
    points = np.array([[0.5]])
    np.testing.assert_allclose(load(patching).evaluate(points, {})[0], np.cos(points))
    np.testing.assert_allclose(load(plain).evaluate(points, {})[0], np.sin(points) * np.pi)
