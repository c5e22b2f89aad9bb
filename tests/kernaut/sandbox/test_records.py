"""What goes into the sandbox is of a known calling and backend."""

from __future__ import annotations

from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.sandbox.records import SandboxProgram


@pytest.mark.parametrize(("values", "named"), [(("lines", "numpy"), "lines"), (("point", "jax"), "jax")])
def test_an_unknown_calling_or_backend_is_refused(values: tuple[Any, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        SandboxProgram("", "f", *values)
    assert SandboxProgram("", "f", "point", "numpy").calling == "point"


@pytest.mark.parametrize(("calling", "backend"), [("json", "numpy"), ("point", "python")])
def test_json_and_python_belong_together(calling: Any, backend: Any) -> None:
    with pytest.raises(InputError, match="python for calling json alone"):
        SandboxProgram("", "f", calling, backend)
    assert SandboxProgram("", "f", "json", "python").backend == "python"
