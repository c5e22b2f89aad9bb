"""Keys: where they come from, and that no error shows one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernaut.authors.chat import ModelSettings
from kernaut.authors.keys import NO_KEY, key_of, key_variable, read_dotenv
from kernaut.errors import InputError


def settings(name: str | None) -> ModelSettings:
    return ModelSettings("compatible", "m", base_url="http://h/v1", api_key_env=name)


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", " k-123456789 ")
    assert key_of(settings("MODEL_API_KEY")) == "k-123456789"
    assert key_of(settings("")) == key_of(settings(None)) == NO_KEY
    assert key_variable(ModelSettings("openai", "m")) == "OPENAI_API_KEY"
    with pytest.raises(InputError, match=r"environment variable OTHER_KEY\. Got none"):
        key_of(settings("OTHER_KEY"))


@pytest.mark.parametrize("value", ["short", "k-1234 56789", 'k-"123456789', "k-123456789é", "k-123\\456789"])
def test_what_cannot_be_a_key_is_refused_unseen(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MODEL_API_KEY", value)
    with pytest.raises(InputError) as caught:
        key_of(settings("MODEL_API_KEY"))
    assert value not in str(caught.value)


@pytest.mark.parametrize("name", ["sk-proj-123456", "abc123def456", "CREDENTIAL"])
def test_a_key_in_place_of_a_name_is_refused_unseen(name: str) -> None:
    with pytest.raises(InputError, match="ends in KEY, TOKEN") as caught:
        key_variable(settings(name))
    assert name not in str(caught.value)


def test_only_wanted_variables_are_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("A_KEY", "B_KEY", "D_KEY"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("C_KEY", "from-environment")
    path = tmp_path / ".env"
    path.write_text("# keys\nexport A_KEY='a-123456'\nB_KEY=b-123456 # mine\nC_KEY=c\nX_KEY=x\nnonsense\nD_KEY=\n")
    assert read_dotenv(["A_KEY", "B_KEY", "C_KEY", "D_KEY"], path) == ["A_KEY", "B_KEY"]
    assert (os.environ["A_KEY"], os.environ["B_KEY"]) == ("a-123456", "b-123456")
    assert os.environ["C_KEY"] == "from-environment"
    assert "X_KEY" not in os.environ
    assert read_dotenv(["E_KEY"], tmp_path / "none") == []
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="readable file of variables"):
        read_dotenv(["E_KEY"], path)
