"""Secrets on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kernaut.errors import InputError
from kernaut.sealed.places import VARIABLE, home, key_path, read_secret, token_path, write_secret


def test_places_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert key_path("ab") == tmp_path / "keys" / "ab.key"
    assert token_path("ab", "owner") == tmp_path / "tokens" / "ab.owner"
    monkeypatch.delenv(VARIABLE)
    assert home() == Path.home() / ".config" / "kernaut" / "sealed"


def test_a_secret_is_its_owners_alone_and_not_written_over_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "secret"
    write_secret(path, "one\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(InputError, match="new file"):
        write_secret(path, "two")
    write_secret(path, "three", replace=True)
    assert read_secret(path, "it", "hint") == "three"
    assert list(path.parent.iterdir()) == [path]
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600") as caught:
        read_secret(path, "it", "hint")
    assert "three" not in str(caught.value)
