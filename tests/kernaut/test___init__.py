from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernaut

ROOT = Path(__file__).resolve().parents[2]


def test_every_public_name_is_there_and_described() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    stub = (ROOT / "kernaut" / "__init__.pyi").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `(\w+)", page, re.MULTILINE))
    typed = set(re.findall(r" as (\w+)$", stub, re.MULTILINE))
    assert described == set(kernaut.__all__) == typed | {"__version__"}
    for name in kernaut.__all__:
        assert getattr(kernaut, name) is not None
    assert set(kernaut.__all__) <= set(dir(kernaut))
    assert 20 <= len(kernaut.__all__) <= 30


def test_importing_kernaut_imports_nothing_else() -> None:
    script = "import sys, kernaut; print([name for name in ('torch', 'numpy', 'gpytorch') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_other_names_are_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'kernel'"):
        _ = kernaut.kernel  # type: ignore[attr-defined]
