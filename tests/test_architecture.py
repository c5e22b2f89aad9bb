"""The shape of the code: floors, no cycles, what is imported where, sizes, docstrings, and tests that mirror modules."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import kernaut

ROOT = Path(__file__).resolve().parent.parent
FLOORS = (
    ("errors", "seeds", "digest", "plugins"),
    ("scoring", "program", "sandbox"),
    ("kernels", "episodes"),
    ("fitting", "export"),
    ("verification", "evaluation"),
    ("archive", "sealed"),
    ("authors",),
    ("search", "operators"),
    ("report", "runs"),
    ("cli",),
)
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
SEALED_PUBLIC = {"kernaut.sealed.client", "kernaut.sealed.manifest"}
APART = {("search", "operators"), ("operators", "search"), ("episodes", "kernels"), ("kernels", "episodes")}
"""Packages of equal or lower floors that must not import each other all the same."""

MAX_LINES = 400
SHARED_SUITES = {"tests/kernaut/kernels/test_base_suite.py", "tests/kernaut/kernels/test_properties.py"}
"""Suites that every implementation of one interface passes; they mirror no single module."""

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b|\bnoqa\b|type: ignore(?!\[)")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(ROOT.glob("kernaut/**/*.py"))}
WIDGETS = {module_name(path): path for path in sorted(ROOT.glob("widgets/**/*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in {**SOURCES, **WIDGETS}.items()}


def imports_of(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Full names of what a module imports, inside functions too; ``from package import module`` names the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import at line {node.lineno}"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def imports() -> dict[str, set[str]]:
    return {name: set(imports_of(tree, set(TREES))) for name, tree in TREES.items()}


def floor_violations(graph: dict[str, set[str]]) -> list[str]:
    found = []
    for name, targets in graph.items():
        if not name.startswith("kernaut."):
            continue
        own = name.split(".")[1]
        for target in sorted(targets):
            if not target.startswith("kernaut.") or target.split(".")[1] == own:
                continue
            other = target.split(".")[1]
            if FLOOR[own] == 0 and FLOOR[other] == 0:
                continue
            if FLOOR[other] >= FLOOR[own] or (own, other) in APART or (own == "sandbox" and FLOOR[other] != 0):
                found.append(f"{name} (floor {FLOOR[own]}) imports {target} (floor {FLOOR[other]})")
            if other == "sealed" and target not in SEALED_PUBLIC:
                found.append(f"{name} imports {target}, which stays inside sealed")
    return found


def test_every_package_has_a_floor() -> None:
    tops = {name.split(".")[1] for name in SOURCES if "." in name}
    assert tops <= set(FLOOR), f"give a floor to {tops - set(FLOOR)}"


def test_imports_go_down() -> None:
    assert floor_violations(imports()) == []


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("kernaut.kernels.x", "kernaut.search.y"),
        ("kernaut.sandbox.x", "kernaut.program.y"),
        ("kernaut.kernels.x", "kernaut.episodes.y"),
        ("kernaut.search.x", "kernaut.operators.y"),
        ("kernaut.seeds", "kernaut.scoring.y"),
        ("kernaut.runs.x", "kernaut.sealed.service"),
    ],
)
def test_an_import_that_goes_up_is_seen(name: str, target: str) -> None:
    assert floor_violations({name: {target}}) != []
    assert floor_violations({name: {"kernaut.errors", "numpy", name}}) == []


def test_there_are_no_cycles() -> None:
    graph = {name: targets & set(TREES) - {name} for name, targets in imports().items()}
    assert list(TopologicalSorter(graph).static_order())
    name, target = next((name, sorted(targets)[0]) for name, targets in graph.items() if targets)
    graph[target] = graph[target] | {name}
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph).static_order())


def test_function_level_imports_count() -> None:
    tree = ast.parse("def f():\n    from kernaut.search import campaign\n    import openai.types\n")
    assert set(imports_of(tree, {"kernaut.search.campaign"})) == {"kernaut.search.campaign", "openai.types"}


def importers(package: str) -> set[str]:
    return {
        name for name, targets in imports().items() if any(t == package or t.startswith(package + ".") for t in targets)
    }


def test_one_module_talks_to_models_and_none_to_notebook_front_ends() -> None:
    assert importers("openai") <= {"kernaut.authors.llm"}
    for package in ("IPython", "ipywidgets", "anywidget", "widgets"):
        assert {name for name in importers(package) if name.startswith("kernaut")} == set(), package
    assert importers("numpy")


def test_nothing_embeds_vega_beside_the_front_ends_own() -> None:
    paths = [*SOURCES.values(), *WIDGETS.values(), *sorted(ROOT.glob("notebooks/*.ipynb"))]
    embedding = re.compile(r"JupyterChart|vegaEmbed|enable\(.html.\)|\.to_html\(")
    assert [str(path.relative_to(ROOT)) for path in paths if embedding.search(path.read_text(encoding="utf-8"))] == []
    assert embedding.search("alt.JupyterChart(chart)") and embedding.search("alt.renderers.enable('html')")


def test_the_library_does_not_print() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in TREES.items()
        if not name.startswith("kernaut.cli")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "pprint")
    ]
    assert found == []


def test_package_files_hold_a_docstring_only() -> None:
    for name, path in {**SOURCES, **WIDGETS}.items():
        if path.name != "__init__.py" or name == "kernaut":
            continue
        body = TREES[name].body
        future = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
        assert len(body) == 1 + len(future), f"{name} holds more than a docstring"


@pytest.mark.parametrize("name", sorted(TREES))
def test_modules_are_documented_and_of_readable_size(name: str) -> None:
    path = {**SOURCES, **WIDGETS}[name]
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(TREES[name]), f"{name} has no docstring"
    assert "from __future__ import annotations" in text, name
    assert len(text.splitlines()) <= MAX_LINES, f"{name} has {len(text.splitlines())} lines"
    assert not {"manager", "helper", "helpers", "util", "utils"} & set(path.stem.split("_")), (
        f"{name}: name it by its noun"
    )


def test_tests_mirror_modules() -> None:
    stray = []
    for path in sorted([*ROOT.glob("tests/kernaut/**/test_*.py"), *ROOT.glob("tests/widgets/**/test_*.py")]):
        relative = path.relative_to(ROOT / "tests")
        module = ROOT / relative.with_name(relative.name.removeprefix("test_"))
        if not module.is_file() and str(path.relative_to(ROOT)) not in SHARED_SUITES:
            stray.append(f"{relative} has no {module.relative_to(ROOT)}")
    assert stray == []


def left_for_later(source: str) -> list[str]:
    """Unfinished code, silenced checks and skipped tests, by line."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and UNFINISHED.search(token.string):
            found.append(f"{token.start[0]}: {token.string}")
    for node in ast.walk(ast.parse(source)):
        unwritten = (
            isinstance(node, ast.Raise) and node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)
        )
        skipped = isinstance(node, ast.Attribute) and node.attr in ("skip", "skipif", "xfail", "importorskip")
        if unwritten or skipped:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_nothing_is_left_for_later() -> None:
    paths = [
        path
        for folder in ("kernaut", "widgets", "tests", "benchmarks")
        for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
    ]
    found = {str(path.relative_to(ROOT)): left_for_later(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # {}: finish".format("TO" + "DO"),
        "x = 1  # {}".format("no" + "qa: E501"),
        "x = 1  # {}".format("type: " + "ignore"),
        "def f():\n    raise NotImplementedError\n",
        "@pytest.mark.xfail\ndef test_f():\n    assert 0\n",
    ],
)
def test_what_is_left_for_later_is_seen(source: str) -> None:
    assert left_for_later(source)
    assert not left_for_later(
        "x: int = None  # {}  # why\nnames = 'NotImplementedError'\n".format("type: " + "ignore[code]")
    )


ROW = re.compile(r"^\| (module|package) `(kernaut[\w.]+)` \| ([^|]+) \| ", re.MULTILINE)
PUBLIC = {
    where: set(re.findall(r"`(\w+)`", names))
    for _, where, names in ROW.findall((ROOT / "docs" / "python-api.md").read_text(encoding="utf-8"))
}
"""Public names of modules, of which no name stands for all, and of packages with every module below."""


def is_public(module: str, name: str) -> bool:
    if module == "kernaut":
        return name in kernaut.__all__
    package = ".".join(module.split(".")[:2])
    names = PUBLIC.get(module, PUBLIC.get(package, {""}))
    return not name.startswith("_") and (not names or name in names)


def hidden_names(tree: ast.AST, *, homes: bool) -> list[str]:
    """What is imported from ``kernaut`` and is not public; also what stands in ``kernaut`` itself and is taken from its home, where ``homes`` is false."""
    stray = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            stray += [f"import {a.name}" for a in node.names if a.name.startswith("kernaut.")]
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "kernaut":
            for alias in node.names:
                home = kernaut._HOMES.get(alias.name) == node.module and node.module != "kernaut.plugins"
                if not (homes if home else is_public(str(node.module), alias.name)):
                    stray.append(f"from {node.module} import {alias.name}")
    return stray


def test_notebooks_import_public_names_only() -> None:
    stray = []
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                found = hidden_names(ast.parse("".join(cell["source"])), homes=False)
                stray += [f"{path.name}: {line}" for line in found]
    assert stray == [], "use names of docs/python-api.md, or make one public there"


def test_widgets_import_public_names_only() -> None:
    stray = [f"{name}: {line}" for name in WIDGETS for line in hidden_names(TREES[name], homes=True)]
    assert stray == [], "use names of docs/python-api.md, or make one public there"


@pytest.mark.parametrize(
    "source",
    [
        "import kernaut.digest",
        "from kernaut import Outcome",
        "from kernaut.archive.store import Archive",
        "from kernaut.evaluation.outcome import penalized",
        "from kernaut.report.table import _text",
        "from kernaut.operators import collisions",
    ],
)
def test_hidden_names_are_seen(source: str) -> None:
    assert hidden_names(ast.parse(source), homes=False)
    assert not hidden_names(ast.parse("import kernaut\nfrom kernaut.evaluation.outcome import mean_crps"), homes=False)


def test_public_names_of_modules_are_there() -> None:
    assert len(PUBLIC) > 20
    for where, names in PUBLIC.items():
        module = import_module(where)
        assert [name for name in names if not hasattr(module, name)] == [], where
