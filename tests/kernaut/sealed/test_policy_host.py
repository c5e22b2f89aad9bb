"""The policies' template."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kernaut.errors import SandboxFailure
from kernaut.sandbox.limits import Limits
from kernaut.sealed import policy_host
from kernaut.sealed.policy_host import PolicyHost


def test_it_ends_with_its_processes_and_its_folder() -> None:
    host = PolicyHost()
    template = host._template
    link = host.process(Limits())
    children = psutil.Process(template.process.pid).children()
    assert link.pid in [child.pid for child in children]
    host.close()
    assert template.process.poll() is not None
    assert not template.directory.exists()
    gone, alive = psutil.wait_procs(children, timeout=10)
    assert not alive and gone
    link.close()
    with pytest.raises(SandboxFailure):
        host.process(Limits())


def test_its_environment_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNAUT_SECRET_THING", "x")
    with PolicyHost() as host:
        before = psutil.Process(host._template.process.pid).environ()
        assert "KERNAUT_SECRET_THING" not in before and "HOME" not in before


def test_a_template_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho a complaint >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(policy_host.sys, "executable", str(script))
    with pytest.raises(SandboxFailure, match="a complaint"):
        PolicyHost()


def test_a_template_with_a_trusted_module_does_not_start() -> None:
    script = (
        "import sys, kernaut.sealed.ledger\nfrom kernaut.sealed import policy_template as t\n"
        "t.warm_up = lambda: None\nt.PRELOADED = ''\n"
        "assert t.trusted_modules() == ['calibration', 'families', 'ledger', 'sealing'], t.trusted_modules()\n"
        "sys.exit(t.main(['/tmp', '0', '0', '']))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 71, done.stderr
