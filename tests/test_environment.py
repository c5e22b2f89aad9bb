"""pyproject.toml, constraints.txt and environment.yml describe one environment."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
"""Names that conda-forge spells differently."""

CONDA_ONLY = {"python", "pip"}
ELSEWHERE = {"appnope", "colorama", "pywinpty", "pywin32", "pyobjc-framework-cocoa"}
"""Requirements of requirements on other operating systems."""


def project_requirements() -> dict[str, Requirement]:
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def pins() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert len({canonicalize_name(pin.name) for pin in found}) == len(found), "a name is pinned twice"
    return {canonicalize_name(pin.name): pin for pin in found}


def conda_requirements() -> dict[str, Requirement]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    found: dict[str, Requirement] = {}
    for entry in entries:
        for line in entry["pip"] if isinstance(entry, dict) else [entry]:
            if line == "--editable .":
                continue
            requirement = Requirement(line)
            requirement.name = CONDA_NAMES.get(requirement.name, requirement.name)
            assert canonicalize_name(requirement.name) not in found, f"{requirement.name} is listed twice"
            found[canonicalize_name(requirement.name)] = requirement
    return found


def test_every_pin_is_one_exact_version_without_a_local_part() -> None:
    for pin in pins().values():
        (specifier,) = pin.specifier
        assert specifier.operator == "==", pin
        assert Version(specifier.version).local is None, pin
        assert pin.marker is None, pin


@pytest.mark.parametrize("name", sorted(project_requirements()))
def test_every_requirement_is_pinned_within_its_range(name: str) -> None:
    (pin,) = pins()[name].specifier
    assert project_requirements()[name].specifier.contains(pin.version), (
        f"{pin} is outside {project_requirements()[name]}"
    )


def test_torch_is_pinned_to_the_release_the_numbers_were_checked_with() -> None:
    assert str(pins()["torch"].specifier) == "==2.13.0"


def test_conda_lists_the_same_names_and_ranges() -> None:
    conda = conda_requirements()
    assert str(conda.pop("python").specifier) == PROJECT["requires-python"]
    for name in CONDA_ONLY - {"python"}:
        del conda[name]
    project = project_requirements()
    assert sorted(conda) == sorted(project)
    for name, requirement in project.items():
        assert conda[name].specifier == requirement.specifier, name
        if conda[name].marker is not None:
            assert conda[name].marker == requirement.marker, name


def test_what_requirements_require_is_pinned_too() -> None:
    """Walk the installed requirements of requirements; environments of other systems may have a few more."""
    pinned, seen = pins(), set()
    queue = [(name, requirement.extras) for name, requirement in project_requirements().items()]
    while queue:
        name, extras = queue.pop()
        if (name, frozenset(extras)) in seen:
            continue
        seen.add((name, frozenset(extras)))
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # another operating system's
        assert name in pinned or name in ELSEWHERE, f"{name} is installed for Kernaut and not pinned"
        for line in lines:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
                queue.append((canonicalize_name(requirement.name), requirement.extras))


def test_every_imported_package_is_a_declared_requirement() -> None:
    runtime = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    known = packages_distributions()
    undeclared: dict[str, str] = {}
    for path in sorted([*ROOT.glob("kernaut/**/*.py"), *ROOT.glob("widgets/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                modules = [node.module]
            for top in {module.split(".")[0] for module in modules}:
                own = top in sys.stdlib_module_names or top in ("kernaut", "widgets")
                if not own and not {canonicalize_name(name) for name in known.get(top, [top])} & runtime:
                    undeclared[top] = str(path.relative_to(ROOT))
    assert undeclared == {}


def test_the_python_that_is_asked_for_is_one_everywhere() -> None:
    lowest = PROJECT["requires-python"].removeprefix(">=")
    major, minor = lowest.split(".")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"sys\.version_info < \((\d+), (\d+)\)", makefile) == [(major, minor)] * 2
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["ruff"]["target-version"] == f"py{major}{minor}"
    assert tools["mypy"]["python_version"] == lowest
