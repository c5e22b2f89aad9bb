"""Screening of a program's source before anything runs it: an allow-list on the parsed text.

It says what conforms to a contract (exact entry point; imports of math, numpy and torch; no state, randomness or uninitialized
memory) and keeps ``torch._C``, frames and other points out of reach.  It is part of the guarantee that a torch program cannot see other
points, but not the border: that is the sandbox's process.  Takes about 0.3 ms; verdicts are remembered.  Every refusal names the line,
what was found there and what to write instead.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kernaut.errors import ProgramRefused
from kernaut.program.contracts import Contract
from kernaut.program.program import MAX_SOURCE
from kernaut.program.scan import Scan, is_text, refuse

MAX_NESTING = 60
Backend = Literal["torch", "numpy"]
_BRACKETS = re.compile(r"[(\[{]|[)\]}]")


@dataclass(frozen=True)
class Screened:
    """A source that passed.

    Args:
        backend: ``torch`` when the source imports torch, else ``numpy``.
        entry_point: the function to call.
    """

    backend: Backend
    entry_point: str


@lru_cache(maxsize=512)
def screen(source: str, contract: Contract) -> Screened:
    """Check a source against the rules of its contract.

    Args:
        source: Python text.
        contract: the contract it is written to.

    Raises:
        ProgramRefused: at the first breach: the line, what was found, and as hint what to write instead.
    """
    tree = _parse(source)
    scan = Scan()
    scan.module(tree)
    scan.finish()
    _require_entry_point(tree, contract)
    return Screened("torch" if scan.imports_torch else "numpy", contract.entry_point)


def normalized_source(source: str) -> str:
    """The source without comments, docstrings and layout: equal texts mean equal programs, whatever was said about them.

    Raises:
        ProgramRefused: when the source is not Python.
    """
    tree = _parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            node.body = [statement for statement in node.body if not is_text(statement)]
            if not node.body and not isinstance(node, ast.Module):
                node.body = [ast.Pass()]
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (RecursionError, ValueError) as error:
        raise ProgramRefused(f"Expected source of moderate depth. Got {type(error).__name__}: {error}.") from error


def _parse(source: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise ProgramRefused(
            f"Expected source of at most {MAX_SOURCE} characters. Got {len(source)}.", hint="Write a shorter program."
        )
    depth = 0
    for bracket in _BRACKETS.finditer(source):
        depth += 1 if bracket.group() in "([{" else -1
        if depth > MAX_NESTING:
            line = source.count("\n", 0, bracket.start()) + 1
            refuse(line, f"brackets nested more than {MAX_NESTING} deep", "Name the inner expressions.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the parser thinks of "\d" is no verdict
            return ast.parse(source)
    except SyntaxError as error:
        raise ProgramRefused(
            f"Expected Python source. Got a syntax error at line {error.lineno or 1}: {error.msg}.",
            hint="Correct the syntax.",
        ) from error
    except (RecursionError, MemoryError) as error:
        raise ProgramRefused(
            "Expected source of moderate depth. Got one the parser cannot hold.",
            hint="Split long expressions and elif chains.",
        ) from error
    except ValueError as error:
        raise ProgramRefused(f"Expected Python source. Got: {error}.", hint="Write plain UTF-8 text.") from error


def _require_entry_point(tree: ast.Module, contract: Contract) -> None:
    """Exactly one module-level def of the contract's name, with the contract's arguments."""
    wanted = f"def {contract.entry_point}({', '.join(contract.arguments)})"
    functions = [statement for statement in tree.body if isinstance(statement, ast.FunctionDef)]
    names = [function.name for function in functions]
    for function in functions:
        if names.count(function.name) > 1:
            refuse(function.lineno, f"a second definition of {function.name}", "Define every function once.")
    entry = next((function for function in functions if function.name == contract.entry_point), None)
    if entry is None:
        raise ProgramRefused(
            f"Expected the contract {contract.name} to define {contract.entry_point} at module level. "
            f"Got {', '.join(names) or 'no function'}.",
            hint=f"Write '{wanted}:'.",
        )
    spec = entry.args
    exact = not (spec.posonlyargs or spec.kwonlyargs or spec.vararg or spec.kwarg)
    if not exact or tuple(argument.arg for argument in spec.args) != contract.arguments:
        refuse(
            entry.lineno,
            f"def {entry.name}({', '.join(argument.arg for argument in spec.args)}{'' if exact else ', ...'})",
            f"Write '{wanted}:'.",
        )
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id in names for target in targets):
            refuse(statement.lineno, "an assignment to the name of a function", "Choose another name.")
