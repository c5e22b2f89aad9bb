"""Extensions by entry point, and where bundled files are.

Entry points are listed without importing them; two packages that claim one name are an error, not a race.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from kernaut.errors import InputError

GROUPS = (
    "kernaut.tasks",
    "kernaut.models",
    "kernaut.baselines",
    "kernaut.policies",
    "kernaut.families",
    "kernaut.domains",
)


def extensions(group: str) -> dict[str, EntryPoint]:
    """The installed extensions of a group by name, none of them imported.

    Raises:
        InputError: for an unknown group, or two packages with one name.
    """
    if group not in GROUPS:
        raise InputError(f"Expected an extension group of {', '.join(GROUPS)}. Got {group!r}.")
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda p: (p.name, p.value)):
        if point.name in found and found[point.name].value != point.value:
            raise InputError(
                f"Expected one {group} extension called {point.name!r}. Got {found[point.name].value} and {point.value}.",
                hint="Uninstall one of the two packages.",
            )
        found[point.name] = point
    return found


def load_extension(group: str, name: str) -> Any:
    """Import one extension.

    Raises:
        InputError: when no extension of that name is installed.
    """
    found = extensions(group)
    if name not in found:
        raise InputError(f"Expected a {group} extension of {', '.join(found) or '(none installed)'}. Got {name!r}.")
    return found[name].load()


def bundled(*parts: str) -> Path:
    """The path of a bundled file or folder (``data``, ``notebooks``, ``configs``, ``examples``).

    Looks into an installed wheel first (``kernaut/_bundled``), then into the checkout around the package.

    Raises:
        InputError: when it is in neither.
    """
    package = Path(__file__).resolve().parent
    for root in (package / "_bundled", package.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise InputError(f"Expected a bundled file {'/'.join(parts)}. Got nothing of that name beside {package}.")
