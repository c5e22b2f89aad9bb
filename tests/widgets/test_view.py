from __future__ import annotations

import pytest

from kernaut.errors import InputError
from widgets.view import View, follow, set_options


def test_an_error_becomes_a_message_with_folded_details_and_the_next_success_clears_it() -> None:
    view = View()
    with view.working():
        assert view.busy
        assert "working" in view.status.value
        assert view.status.layout.min_height == "28px"  # it moves nothing when it comes and goes
        raise InputError("Expected <this>. Got that.", hint="Do so.")
    assert not view.busy
    assert view.message == "Expected <this>. Got that."
    assert "Do so." in view.details and "Traceback" in view.details
    assert "<details>" in view.status.value and "&lt;this&gt;" in view.status.value
    with view.working():
        pass
    assert view.message == "" and view.status.value == ""


def test_a_fault_is_shown_and_raised() -> None:
    view = View()
    with pytest.raises(ZeroDivisionError), view.working():
        raise ZeroDivisionError
    assert view.message.startswith("Unexpected ZeroDivisionError")
    assert not view.busy


def test_without_a_front_end_the_output_is_the_static_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNAUT_LIVE", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    view = View()
    assert set(view._repr_mimebundle_()) == {"text/plain", "text/html"}
    monkeypatch.setenv("JPY_SESSION_NAME", "/notebooks/a.ipynb")
    assert "application/vnd.jupyter.widget-view+json" in view._repr_mimebundle_()
    monkeypatch.setenv("KERNAUT_RUN_DIRECTORY", "/tmp")
    assert "text/html" in view._repr_mimebundle_()


def test_only_a_readers_choice_is_followed() -> None:
    import ipywidgets

    control, heard = ipywidgets.Dropdown(options=["a", "b"]), list[str]()
    follow(control, heard.append)
    set_options(control, ["c", "d"], "d")
    assert heard == [] and control.value == "d"
    control.value = "c"
    assert heard == ["c"]
