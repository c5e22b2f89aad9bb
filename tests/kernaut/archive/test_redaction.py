import pytest

from kernaut.archive.redaction import redact, refuse_secrets, secret_values
from kernaut.errors import ArchiveError


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "my_token", "APP_SECRET", "DB_PASSWORD"])
def test_secrets_are_refused_by_name_of_their_variable_and_redacted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "sk-abcdef-123456")
    with pytest.raises(ArchiveError, match=name) as caught:
        refuse_secrets("Bearer sk-abcdef-123456 sent", "a transcript")
    assert "sk-abcdef" not in str(caught.value)
    assert redact("Bearer sk-abcdef-123456 sent") == f"Bearer [{name}] sent"


def test_short_values_and_other_variables_are_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORT_KEY", "name")
    monkeypatch.setenv("KEYBOARD", "a long ordinary value")
    assert secret_values() == {}
    refuse_secrets("name; a long ordinary value", "a text")


def test_a_secret_that_holds_another_is_redacted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "abcdefgh")
    monkeypatch.setenv("B_KEY", "abcdefgh-and-more")
    assert redact("<abcdefgh-and-more> <abcdefgh>") == "<[B_KEY]> <[A_KEY]>"
