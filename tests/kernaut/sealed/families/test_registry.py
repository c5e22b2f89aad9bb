"""Families by name."""

from __future__ import annotations

import pytest

from kernaut.errors import InputError
from kernaut.sealed.families.registry import family_named, family_names


def test_the_three_families_stand_first() -> None:
    assert family_names()[:3] == ("haar_encode", "attention_2d", "fm_kernel_loss")
    assert [family_named(name).horizon_budget for name in family_names()[:3]] == [10, 10, 5]
    with pytest.raises(InputError, match="haar_encode, attention_2d, fm_kernel_loss"):
        family_named("haar")


def test_added_families(extension_folder: object) -> None:
    assert family_named("halve").objective_direction == "minimize"
    assert family_named("fences").objective_direction == "satisfy"
    assert set(family_names()[3:]) >= {"halve", "fences"}


def test_a_name_cannot_be_taken_twice(extension_folder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    import kernaut.sealed.families.registry as registry

    monkeypatch.setattr(registry, "extensions", lambda group: {"haar_encode": None})
    with pytest.raises(InputError, match="built-in haar_encode"):
        family_names()
    monkeypatch.setattr(registry, "extensions", lambda group: {"other": None})
    monkeypatch.setattr(registry, "load_extension", lambda group, name: int)
    with pytest.raises(InputError, match="Family called other"):
        family_named("other")
