"""Families by name: the built-in three and those that installed packages add."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from kernaut.errors import InputError
from kernaut.plugins import extensions, load_extension
from kernaut.sealed.families.family import Family

GROUP = "kernaut.families"
BUILT_IN: Mapping[str, str] = {
    "haar_encode": "kernaut.sealed.families.haar_encode:HaarEncode",
    "attention_2d": "kernaut.sealed.families.attention_2d:Attention2D",
    "fm_kernel_loss": "kernaut.sealed.families.fm_kernel_loss:FMKernelLoss",
}
"""Each is imported when it is first asked for: one of them needs torch, which takes seconds."""


def family_names() -> tuple[str, ...]:
    """All names, the built-in ones first; their order fixes each family's seed range.

    Raises:
        InputError: when a package claims a built-in name.
    """
    own = tuple(BUILT_IN)
    added = tuple(extensions(GROUP))
    if taken := set(own) & set(added):
        raise InputError(f"Expected new names for added families. Got the built-in {', '.join(sorted(taken))}.")
    return own + added


def family_named(name: str) -> Family:
    """A family.

    Raises:
        InputError: for an unknown name, or an entry point that is no family of that name.
    """
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        family: type[Family] = getattr(importlib.import_module(module), kind)
        return family()
    if name not in family_names():
        raise InputError(f"Expected a task family of {', '.join(family_names())}. Got {name!r}.")
    added = load_extension(GROUP, name)
    if not (isinstance(added, type) and issubclass(added, Family) and added.name == name):
        raise InputError(f"Expected entry point {name} of {GROUP} to name a Family called {name}. Got something else.")
    return added()
