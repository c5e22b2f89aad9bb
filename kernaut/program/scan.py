"""One pass over a parsed program: every node, name, attribute, call and import against the allow-list.

Used by :mod:`kernaut.program.screening`; the names themselves stand in :mod:`kernaut.program.vocabulary`.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from kernaut.errors import ProgramRefused
from kernaut.program.syntax import ALLOWED_NODES, HINT_NODES, OPERATORS, REFUSED_NODES
from kernaut.program.vocabulary import (
    ATTRIBUTES,
    BUILTINS,
    FORBIDDEN_KEYWORDS,
    HINTS,
    MODULES,
    MUTATORS,
    RESERVED,
    TYPES,
)

MAX_NODES = 20_000
MAX_CONSTANT_DEPTH = 30
_CONSTANTS = frozenset({"pi", "e", "tau", "inf", "nan", "euler_gamma"})


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring or other text that does nothing."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def refuse(line: int, found: str, hint: str) -> NoReturn:
    """Refuse a program.

    Args:
        line: where.
        found: what stands there, in words.
        hint: what to write instead, a sentence.

    Raises:
        ProgramRefused: always.
    """
    raise ProgramRefused(f"Expected only what a kernel program may do. Got {found} at line {line}.", hint=hint)


class Scan:
    """One pass over the tree; names are resolved once all bindings are known."""

    def __init__(self) -> None:
        self.imports_torch = False
        self._bound: set[str] = set()
        self._constants: set[str] = set()
        self._types: set[str] = set()
        self._loads: list[tuple[str, int]] = []
        self._count = 0
        self._checks: dict[type[ast.AST], Callable[[Any, int], Iterable[ast.AST]]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
            ast.Constant: self._value,
            ast.FunctionDef: self._function,
            ast.arg: self._argument,
            ast.AnnAssign: self._annotated,
            ast.With: self._with,
            ast.comprehension: self._comprehension,
            ast.MatchAs: self._pattern,
            ast.MatchStar: self._pattern,
            ast.MatchMapping: self._pattern,
            ast.Import: self._nested_import,
            ast.ImportFrom: self._nested_import,
        }

    def module(self, tree: ast.Module) -> None:
        """Scan the statements of a module."""
        for statement in tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                self._constant(statement)
            elif not isinstance(statement, (ast.FunctionDef, ast.Import, ast.ImportFrom)) and not is_text(statement):
                found, hint = REFUSED_NODES.get(
                    type(statement).__name__,
                    ("a statement at module level", "Move it into a function, or write a constant."),
                )
                refuse(statement.lineno, found, hint)
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                self._import(statement)
            elif isinstance(statement, ast.ImportFrom):
                self._import_from(statement)
            else:
                self._scan(statement)

    def finish(self) -> None:
        """Check that every name that is read is bound somewhere or a permitted builtin."""
        for name, line in self._loads:
            if name not in self._bound and name not in BUILTINS:
                refuse(line, f"the name {name!r}", HINTS.get(name) or _suggestion(name, BUILTINS | self._bound))

    def _scan(self, root: ast.AST) -> None:
        """Check a statement and all below it, without recursion; ``line`` follows the nodes that know theirs."""
        stack: list[tuple[ast.AST, int]] = [(root, 1)]
        while stack:
            node, line = stack.pop()
            kind = type(node)
            if kind in OPERATORS:
                continue
            line = getattr(node, "lineno", line)
            self._count += 1
            if self._count > MAX_NODES:
                refuse(line, f"a program of more than {MAX_NODES} parts", "Write a shorter program.")
            if kind not in ALLOWED_NODES:
                refuse(line, *REFUSED_NODES.get(kind.__name__, (kind.__name__, "Leave it out.")))
            for child in self._checks.get(kind, _pass)(node, line):
                stack.append((child, line))

    def _constant(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """A module-level assignment must give plain names a literal value."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if not isinstance(target, ast.Name):
                refuse(
                    statement.lineno,
                    "an assignment to something other than a name at module level",
                    "Move it into a function.",
                )
        if isinstance(statement.value, ast.Lambda):
            refuse(statement.lineno, "a lambda at module level", "Write def.")
        if statement.value is not None and not self._is_constant(statement.value):
            refuse(
                statement.lineno,
                "module-level state",
                "Only numbers, strings and literal lists may stand at module level; compute other values inside the function.",
            )
        self._constants.update(target.id for target in targets if isinstance(target, ast.Name))

    def _is_constant(self, node: ast.expr, depth: int = 0) -> bool:
        """Numbers, strings, arithmetic on them and on earlier constants, math.pi, math.sqrt(2); non-empty lists of those."""
        if depth > MAX_CONSTANT_DEPTH:
            return False
        match node:
            case ast.Constant():
                return not isinstance(node.value, bytes)
            case ast.UnaryOp():
                return self._is_constant(node.operand, depth + 1)
            case ast.BinOp():
                sides = (node.left, node.right)
                return not any(isinstance(side, (ast.List, ast.Tuple)) for side in sides) and all(
                    self._is_constant(side, depth + 1) for side in sides
                )
            case ast.List() | ast.Tuple():
                return bool(node.elts) and all(self._is_constant(item, depth + 1) for item in node.elts)
            case ast.Name():
                return node.id in self._constants
            case ast.Attribute(value=ast.Name()):
                return node.attr in _CONSTANTS
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math")), keywords=[]):
                return all(self._is_constant(argument, depth + 1) for argument in node.args)
        return False

    def _bind(self, name: str, line: int) -> None:
        if name in RESERVED:
            refuse(line, f"a value named {name}", "Choose a name that is no builtin function.")
        if name.startswith("__"):
            refuse(line, f"the name {name!r}", "Names that begin with two underscores are refused; choose another.")
        self._bound.add(name)

    def _name(self, node: ast.Name, line: int) -> Iterable[ast.AST]:
        if isinstance(node.ctx, ast.Load):
            if node.id in self._types:
                refuse(line, f"the type {node.id} as a value", HINTS[node.id])
            self._loads.append((node.id, line))
        else:
            self._bind(node.id, line)
        return ()

    def _attribute(self, node: ast.Attribute, line: int) -> Iterable[ast.AST]:
        if not isinstance(node.ctx, ast.Load):
            refuse(line, f"an assignment to the attribute .{node.attr}", "Assign to a name or an element.")
        if node.attr not in ATTRIBUTES:
            base = node
            while isinstance(base.value, ast.Attribute):
                base = base.value
                if base.attr not in ATTRIBUTES:  # name the first name of a chain that is refused
                    node = base
            self._require_attribute(node.attr, line)
        return (node.value,)

    def _require_attribute(self, name: str, line: int) -> None:
        if name in ATTRIBUTES:
            return
        if name.startswith("_"):
            refuse(line, f"the private attribute .{name}", "Attributes that begin with an underscore are out of reach.")
        refuse(line, f"the attribute .{name}", HINTS.get(name) or _suggestion(name, ATTRIBUTES))

    def _subscript(self, node: ast.Subscript, line: int) -> Iterable[ast.AST]:
        if not isinstance(node.ctx, ast.Load):
            self._require_local(node.value, line)
        return (node.value, node.slice)

    def _require_local(self, node: ast.expr, line: int) -> None:
        """What a program changes in place must not outlive the call."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id in self._constants:
            refuse(
                line,
                f"a change of the module-level constant {node.id!r}",
                "Copy it inside the function and change the copy.",
            )

    def _call(self, node: ast.Call, line: int) -> Iterable[ast.AST]:
        for keyword in node.keywords:
            if keyword.arg is None:
                refuse(line, "** in a call", "Write the arguments by name.")
            if keyword.arg in FORBIDDEN_KEYWORDS:
                refuse(line, f"the argument {keyword.arg}=", FORBIDDEN_KEYWORDS[keyword.arg])
        arguments: list[ast.AST] = [*node.args, *node.keywords]
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            self._require_local(node.func.value, line)
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2:
            arguments = [node.args[0], *self._without_types(node.args[1])]
        return (node.func, *arguments)

    def _without_types(self, node: ast.expr) -> Iterator[ast.AST]:
        """The second argument of isinstance, less the tensor types, which nothing else may load."""
        for item in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(item, ast.Attribute) and item.attr in TYPES:
                yield item.value
            elif not (isinstance(item, ast.Name) and item.id in self._types):
                yield item

    def _function(self, node: ast.FunctionDef, line: int) -> Iterable[ast.AST]:
        self._bind(node.name, line)
        if node.decorator_list:
            refuse(node.decorator_list[0].lineno, "a decorator", "Call the function explicitly.")
        if node.args.defaults or any(default is not None for default in node.args.kw_defaults):
            refuse(line, f"a default value in {node.name}()", "Pass every argument.")
        self._annotation(node.returns, line)
        return (node.args, *node.body)

    def _argument(self, node: ast.arg, line: int) -> Iterable[ast.AST]:
        self._bind(node.arg, line)
        self._annotation(node.annotation, line)
        return ()

    def _annotated(self, node: ast.AnnAssign, line: int) -> Iterable[ast.AST]:
        self._annotation(node.annotation, line)
        return (node.target,) if node.value is None else (node.target, node.value)

    def _annotation(self, node: ast.expr | None, line: int) -> None:
        """Type hints are never evaluated; they may name anything but do nothing."""
        for part in ast.walk(node) if node is not None else ():
            if not isinstance(part, HINT_NODES):
                refuse(
                    line,
                    f"a {type(part).__name__} in a type hint",
                    "Write a plain type such as float, dict or torch.Tensor.",
                )

    def _comprehension(self, node: ast.comprehension, line: int) -> Iterable[ast.AST]:
        if node.is_async:
            refuse(line, "async for", "Use for.")
        return ast.iter_child_nodes(node)

    def _pattern(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping, line: int) -> Iterable[ast.AST]:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self._bind(name, line)
        return ast.iter_child_nodes(node)

    def _nested_import(self, node: ast.Import | ast.ImportFrom, line: int) -> NoReturn:
        refuse(line, "an import inside a function", "Import at the top.")

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module_name(alias.name, node.lineno)
            self._bind(alias.asname or alias.name.partition(".")[0], node.lineno)

    def _import_from(self, node: ast.ImportFrom) -> None:
        line, module = node.lineno, node.module or ""
        if node.level:
            refuse(line, "a relative import", "Programs import math, numpy and torch.")
        if module == "__future__" and all(alias.name == "annotations" for alias in node.names):
            return
        self._module_name(module, line)
        for alias in node.names:
            if alias.name == "*":
                refuse(line, "a star import", f"Write 'import {module}' or import the names you use.")
            if alias.name in TYPES:
                self._types.add(alias.asname or alias.name)
            else:
                self._require_attribute(alias.name, line)
            self._bind(alias.asname or alias.name, line)

    def _module_name(self, name: str, line: int) -> None:
        if name not in MODULES:
            refuse(
                line, f"an import of {name}", "Programs import math, numpy and torch; leave type hints without imports."
            )
        if name.partition(".")[0] == "torch":
            self.imports_torch = True

    def _with(self, node: ast.With, line: int) -> Iterable[ast.AST]:
        for item in node.items:
            call = item.context_expr
            if item.optional_vars is not None or not (
                isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "errstate"
            ):
                refuse(line, "a with statement", "Only 'with np.errstate(...):' is permitted; leave it out.")
        return ast.iter_child_nodes(node)

    def _value(self, node: ast.Constant, line: int) -> Iterable[ast.AST]:
        if isinstance(node.value, bytes):
            refuse(line, "a bytes literal", "Use numbers or text.")
        if node.value == "empty" and isinstance(node.value, str):
            refuse(line, "the mode 'empty'", HINTS["empty"])
        return ()


def _pass(node: ast.AST, line: int) -> Iterable[ast.AST]:
    """A node that needs no check of its own."""
    return ast.iter_child_nodes(node)


def _suggestion(name: str, names: frozenset[str] | set[str]) -> str:
    close = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.75)
    if close:
        return f"Did you mean {', '.join(close)}?"
    return "Use arithmetic and the common functions of torch, numpy and math."
