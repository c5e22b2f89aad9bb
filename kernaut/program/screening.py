"""Source screening: an allow-list on the parsed text of a kernel program, before any process starts.

It is the first of two layers.  It makes programs small, deterministic and blind to everything but their arguments, which is also what vectorization by vmap relies
on; the operating system's limits (:mod:`kernaut.sandbox`) hold where it is fooled.  Nothing here executes a source.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NoReturn

from kernaut.errors import ProgramRefused
from kernaut.program.contracts import Contract
from kernaut.program.vocabulary import ANNOTATION_ATTRIBUTES, ATTRIBUTES, BUILTINS, HINTS, KEYWORDS_REFUSED, MODULES

Backend = Literal["torch", "numpy"]

MAX_NODES = 20_000
MAX_DEPTH = 60

_STATEMENTS = (
    ast.Return,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Match,
    ast.match_case,
    ast.Raise,
    ast.Assert,
    ast.Expr,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.FunctionDef,
)
_PATTERNS = (ast.MatchValue, ast.MatchSingleton, ast.MatchSequence, ast.MatchAs, ast.MatchOr)
_EXPRESSIONS = (
    ast.BoolOp,
    ast.NamedExpr,
    ast.BinOp,
    ast.UnaryOp,
    ast.Lambda,
    ast.IfExp,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Compare,
    ast.Call,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Starred,
    ast.Name,
    ast.List,
    ast.Tuple,
    ast.Slice,
)
_PARTS = (
    ast.boolop,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.expr_context,
    ast.comprehension,
    ast.arguments,
    ast.arg,
    ast.keyword,
)
_ALLOWED = _STATEMENTS + _PATTERNS + _EXPRESSIONS + _PARTS
_LITERALS = (
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.UnaryOp,
    ast.USub,
    ast.UAdd,
    ast.Load,
    ast.BinOp,
    ast.operator,
)
_KIND_HINTS = {
    "ClassDef": "write functions",
    "AsyncFunctionDef": "write a plain function",
    "Try": "let the error out: it is reported with its reason",
    "TryStar": "let the error out: it is reported with its reason",
    "With": "leave the context out",
    "Global": "pass the value as an argument",
    "Nonlocal": "pass the value as an argument",
    "Yield": "build and return a list",
    "YieldFrom": "build and return a list",
    "Delete": "leave it out",
    "MatchClass": "compare with == instead",
    "MatchMapping": "compare with == instead",
    "MatchStar": "index the sequence instead",
}


@dataclass(frozen=True)
class Screened:
    """What screening learned of a source.

    Args:
        backend: ``torch`` when it imports torch, else ``numpy``.
        entry_point: the contract's function.
    """

    backend: Backend
    entry_point: str


@lru_cache(maxsize=512)
def screen(source: str, contract: Contract) -> Screened:
    """Check a source against the allow-list and its contract.

    Args:
        source: Python text.
        contract: names the entry point and its exact arguments.

    Raises:
        ProgramRefused: naming the line, what was found there, and what to write instead.
    """
    tree = _parse(source)
    _require_size(tree)
    torch = False
    functions: dict[str, ast.FunctionDef] = {}
    for place, statement in enumerate(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            torch |= _imports_torch(statement)
        elif isinstance(statement, ast.FunctionDef):
            if statement.name in functions:
                _refuse(statement, f"a second function {statement.name}", "give each function its own name")
            functions[statement.name] = statement
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            _require_constant(statement)
        elif not (place == 0 and _is_text(statement)):
            kind = type(statement).__name__
            _refuse(statement, f"{kind} at module level", _KIND_HINTS.get(kind, "put it into a function"))
    _require_entry(functions.get(contract.entry_point), contract)
    annotations = set(_annotations(tree))
    _require_bound(tree, annotations)
    permitted = annotations.union(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in permitted:
            _refuse(node, "an import inside a function", "import at the top")
        if node not in annotations:
            _require_allowed(node)
    return Screened("torch" if torch else "numpy", contract.entry_point)


def normalized_source(source: str) -> str:
    """The parsed source written out again, without comments and docstrings: equal for programs that compute the same in the same words.

    Raises:
        ProgramRefused: when it cannot be parsed.
    """
    tree = _parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [statement for statement in body if not _is_text(statement)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(tree))


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise ProgramRefused(
            f"Expected Python source. Got a syntax error at line {error.lineno}: {error.msg}."
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nested too deeply"
        raise ProgramRefused(f"Expected Python source that can be parsed. Got: {reason}.") from error


def _require_size(tree: ast.Module) -> None:
    count, level = 0, list(ast.iter_child_nodes(tree))
    for depth in range(1, MAX_DEPTH + 2):
        if not level:
            return
        count += len(level)
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise ProgramRefused(
                f"Expected source of at most {MAX_NODES} syntax nodes, nested at most {MAX_DEPTH} deep. Got more.",
                hint="Write loops instead of repeated or nested expressions.",
            )
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _imports_torch(statement: ast.Import | ast.ImportFrom) -> bool:
    hint = f"import only {', '.join(MODULES)}"
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            root, *rest = alias.name.split(".")
            if root not in MODULES or any(part not in ATTRIBUTES for part in rest):
                _refuse(statement, f"import {alias.name}", hint)
            _require_name(statement, alias.asname or root)
        return any(alias.name.split(".")[0] == "torch" for alias in statement.names)
    module = statement.module or ""
    root, *rest = module.split(".")
    if (
        statement.level == 0
        and module == "__future__"
        and all(alias.name == "annotations" for alias in statement.names)
    ):
        return False
    if statement.level or root not in MODULES or any(part not in ATTRIBUTES for part in rest):
        _refuse(statement, f"from {'.' * statement.level}{module} import ...", hint)
    for alias in statement.names:
        if alias.name == "*":
            _refuse(statement, f"from {module} import *", "name what you import")
        if alias.name not in ATTRIBUTES:
            _refuse(statement, f"from {module} import {alias.name}", HINTS.get(alias.name, "use another function"))
        _require_name(statement, alias.asname or alias.name)
    return root == "torch"


def _require_constant(statement: ast.Assign | ast.AnnAssign) -> None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    value = statement.value
    if not all(isinstance(target, ast.Name) for target in targets):
        _refuse(statement, "an assignment to something other than a name", "assign constants to plain names")
    nodes = list(ast.walk(value)) if value is not None else []
    if value is None or not all(isinstance(node, _LITERALS) for node in nodes):
        _refuse(statement, "a module-level value that is not a literal", "compute it inside the function")
    if any(isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift, ast.Mult)) for node in nodes):
        _refuse(statement, "module-level arithmetic", "write the number itself, or compute it inside the function")


def _require_entry(function: ast.FunctionDef | None, contract: Contract) -> None:
    signature = f"def {contract.entry_point}({', '.join(contract.arguments)})"
    if function is None:
        raise ProgramRefused(
            f"Expected {signature} at module level for the contract {contract.name}. Got no such function.",
            hint="Define it, without decorators, defaults or further arguments.",
        )
    found = tuple(argument.arg for argument in (*function.args.posonlyargs, *function.args.args))
    extra = function.args.vararg or function.args.kwarg or function.args.kwonlyargs or function.args.posonlyargs
    if found != contract.arguments or extra:
        _refuse(function, f"def {function.name}({', '.join(found)}{', ...' if extra else ''})", f"write {signature}")


def _annotations(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes inside annotations, checked here: names, dotted names, subscripts, unions and constants only."""
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if not isinstance(annotation, ast.expr):
                continue
            for part in ast.walk(annotation):
                plain = isinstance(
                    part, (ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr)
                )
                dotted = isinstance(part, ast.Attribute) and part.attr in ANNOTATION_ATTRIBUTES
                if not (plain or dotted or isinstance(part, ast.Load)):
                    _refuse(annotation, "a type hint that is more than a type", "write a plain type, or none")
                if isinstance(part, ast.Name) and part.id.startswith("__"):
                    _refuse(annotation, part.id, "write a plain type, or none")
                yield part


def _require_bound(tree: ast.Module, annotations: set[ast.AST]) -> None:
    """Each name that is read is a permitted builtin, or bound in this source under a name that no other builtin has."""
    bound = set(BUILTINS)
    for node in ast.walk(tree):
        for name in _binds(node):
            _require_name(node, name)
            bound.add(name)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id in bound:
            continue
        if node in annotations and hasattr(builtins, node.id):
            continue
        _refuse(node, f"the name {node.id}", HINTS.get(node.id, "define it, or use what math, numpy and torch offer"))


def _binds(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.arg(arg=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.MatchAs(name=str(name)):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.split(".")[0] for alias in names]
    return []


def _require_name(node: ast.AST, name: str) -> None:
    if name.startswith("__"):
        _refuse(node, f"the name {name}", "choose a name without leading underscores")
    if hasattr(builtins, name) and name not in BUILTINS:
        _refuse(node, f"the name {name} bound anew", "choose a name that Python does not use itself")


def _require_allowed(node: ast.AST) -> None:
    if isinstance(node, (ast.Module, ast.Import, ast.ImportFrom, ast.alias)):
        return
    kind = type(node).__name__
    if not isinstance(node, _ALLOWED):
        _refuse(node, f"{kind}", _KIND_HINTS.get(kind, "write it in plain functions and expressions"))
    match node:
        case ast.Attribute(attr=name, ctx=context):
            if not isinstance(context, ast.Load):
                _refuse(node, f"an assignment to the attribute {name}", "assign to a name")
            if name not in ATTRIBUTES:
                hint = HINTS.get(name) or _random_hint(name) or "use another function of math, numpy or torch"
                _refuse(node, f"the attribute {name}", hint)
        case ast.FunctionDef() if node.decorator_list:
            _refuse(node, f"a decorator on {node.name}", "call the function instead")
        case ast.arguments() if node.defaults or any(default is not None for default in node.kw_defaults):
            first = next(default for default in (*node.defaults, *node.kw_defaults) if default is not None)
            _refuse(first, "a default value", "pass every argument")
        case ast.keyword(arg=None):
            _refuse(node.value, "** in a call", "pass arguments by name")
        case ast.keyword(arg=str(name)) if name in KEYWORDS_REFUSED:
            _refuse(node.value, f"the argument {name}=", KEYWORDS_REFUSED[name])
        case ast.comprehension(is_async=1):
            _refuse(node.iter, "an async comprehension", "write a plain one")
        case ast.FormattedValue(format_spec=ast.JoinedStr() as spec) if any(
            not isinstance(part, ast.Constant) for part in spec.values
        ):
            _refuse(node, "a computed format", "write a constant format")
        case ast.Constant(value=bytes()):
            _refuse(node, "a bytes literal", "write numbers or text")


def _random_hint(name: str) -> str | None:
    random = name.startswith("rand") or name in ("normal", "uniform", "bernoulli", "multinomial", "choice", "poisson")
    return HINTS["rand"] if random else "assign the result to a name instead" if name.endswith("_") else None


def _is_text(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _refuse(node: ast.AST, found: str, hint: str) -> NoReturn:
    line = getattr(node, "lineno", None)
    place = f" at line {line}" if line is not None else ""
    raise ProgramRefused(
        f"Expected only what a kernel program may contain. Got {found}{place}.", hint=f"{hint[0].upper()}{hint[1:]}."
    )
