"""Prompt files and what a model is shown of a candidate."""

from __future__ import annotations

import pytest

from kernaut.operators.prompting import AUTHOR, JUDGE, MOST_SHOWN, filled, prompt, prompts_digest, shown


def test_every_prompt_is_there_and_has_its_own_names() -> None:
    assert all(prompt(name) for name in {*AUTHOR, *JUDGE, "code", "kernels"})
    assert filled("nudge", reason="It was cut off.").startswith("It was cut off.")
    with pytest.raises(KeyError):
        filled("nudge")
    assert prompts_digest(AUTHOR, "a") != prompts_digest(AUTHOR, "b")
    assert prompts_digest(AUTHOR, "a") != prompts_digest(JUDGE, "a")


def test_a_candidate_is_shown_whole_but_for_long_fields() -> None:
    text = shown(
        {"task": "t1", "long": list(range(2000)), "values": (1.23456789, 2), "source": "def f():\n    return 1\n"}
    )
    assert text.startswith("task: t1\nlong: [0, 1, 2")
    assert "characters more]\nvalues: [1.2346, 2]\nsource:\ndef f():\n    return 1" in text
    assert len(text) < MOST_SHOWN + 150
