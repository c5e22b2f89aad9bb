"""What an operator's source may say: a first line of defence that names the offending line before anything runs.

Only definitions, imports of a few modules and literal constants at module level; no double underscores, no text formatting methods that reach attributes, no names that run
text or touch files.  The border is the sandbox's process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernaut.errors import ProgramRefused
from kernaut.operators.records import Operator

MODULES = ("ast", "collections", "itertools", "math", "re", "statistics", "string")
_REFUSED_NAMES = frozenset(
    [
        "breakpoint",
        "compile",
        "delattr",
        "eval",
        "exec",
        "exit",
        "getattr",
        "globals",
        "help",
        "hasattr",
        "hash",
        "id",
        "input",
        "locals",
        "memoryview",
        "object",
        "open",
        "print",
        "quit",
        "setattr",
        "super",
        "type",
        "vars",
        "classmethod",
        "staticmethod",
        "property",
    ]
)
_REFUSED_ATTRIBUTES = frozenset(
    [
        "format",
        "format_map",
        "Formatter",
        "Template",
        "gi_frame",
        "gi_code",
        "cr_frame",
        "f_globals",
        "f_locals",
        "f_builtins",
        "tb_frame",
        "func_globals",
    ]
)
_REFUSED_NODES = (
    ast.ClassDef,
    ast.AsyncFunctionDef,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
    ast.With,
    ast.AsyncWith,
    ast.AsyncFor,
    ast.Delete,
    ast.Yield,
    ast.YieldFrom,
    ast.Match,
)


def require_operator_source(operator: Operator) -> ast.Module:
    """Parse an operator's source and check it.

    Raises:
        ProgramRefused: naming the line, and what to write instead.
    """
    try:
        tree = ast.parse(operator.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ProgramRefused(f"Expected an operator that parses as Python. Got: {error}.") from error
    for line, found, instead in _violations(tree):
        raise ProgramRefused(f"Line {line} of the operator: {found} is refused.", hint=instead)
    names = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    wanted = ["task", "candidate", "ctx"][: operator.level + 1]
    if "op" not in names or [argument.arg for argument in names["op"].args.args] != wanted:
        raise ProgramRefused(
            f"Expected a function op({', '.join(wanted)}) at level {operator.level}. Got no such function."
        )
    return tree


def _violations(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for statement in tree.body:
        simple = isinstance(statement, (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assign, ast.Expr))
        if not simple or (isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)):
            found = f"{type(statement).__name__} at module level"
            yield statement.lineno, found, "Write functions, imports and constants."
        if isinstance(statement, ast.Assign) and not _literal(statement.value):
            yield statement.lineno, "a computed module constant", "Compute it inside op."
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, _REFUSED_NODES):
            yield line, type(node).__name__, "Write plain functions and loops."
        if isinstance(node, ast.FunctionDef) and (node.decorator_list or node.name.startswith("_tick_")):
            yield line, "a decorator or reserved name", "Write a plain function."
        if isinstance(node, ast.Import) and any(alias.name not in MODULES for alias in node.names):
            yield line, f"import of {node.names[0].name}", f"Import of {', '.join(MODULES)} is allowed."
        if isinstance(node, ast.ImportFrom) and (node.module not in (*MODULES, "__future__") or node.level):
            yield line, f"import of {node.module}", f"Import of {', '.join(MODULES)} is allowed."
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if "*" in names:
                yield line, f"import of everything from {node.module}", "Name what you import."
            for name in sorted(names & _REFUSED_ATTRIBUTES):
                yield line, f"import of {name}", "Use f-strings and public names."
        if isinstance(node, ast.Name) and (
            node.id in _REFUSED_NAMES or node.id.startswith("__") or node.id == "_tick_"
        ):
            yield line, f"the name {node.id}", "Operators read values, nothing else."
        if isinstance(node, ast.Attribute):
            if node.attr.startswith("_") or node.attr in _REFUSED_ATTRIBUTES:
                yield line, f"the attribute {node.attr}", "Use f-strings and public names."
            if not isinstance(node.ctx, ast.Load):
                yield line, "assignment to an attribute", "Keep results in local variables."


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
