"""Errors: one line of message, a hint, and the way home from a worker process."""

from __future__ import annotations

import copy
import pickle

import pytest

from kernaut.errors import ArchiveError, FitError, InputError, KernautError, ProgramRefused, SandboxFailure


@pytest.mark.parametrize("kind", [InputError, ProgramRefused, FitError, ArchiveError])
def test_errors_carry_message_and_hint(kind: type[KernautError]) -> None:
    error = kind("Expected this. Got that.", hint="Do so.")
    assert (error.message, error.hint, str(error)) == (
        "Expected this. Got that.",
        "Do so.",
        "Expected this. Got that. Do so.",
    )
    assert str(kind("Expected this.")) == "Expected this."
    assert isinstance(error, KernautError)


def test_a_refused_program_is_bad_input_and_a_sandbox_failure_is_not() -> None:
    assert issubclass(ProgramRefused, InputError)
    assert not issubclass(SandboxFailure, InputError)


@pytest.mark.parametrize(
    "error", [InputError("Expected a.", hint="Do b."), SandboxFailure("timed out", "Expected c.", hint="Do d.")]
)
def test_errors_survive_pickling_and_copying(error: KernautError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
    assert getattr(pickle.loads(pickle.dumps(error)), "state", None) == getattr(error, "state", None)
