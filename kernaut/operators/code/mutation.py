"""Faults and styles: mutants of a correct source, and rewritings that keep its meaning.

A mutation kind changes one place of the parsed source; two banks use disjoint kinds, so that rules frozen on one can be tried on the other.  Styles (renaming,
re-formatting, other spellings of the same operation) are applied to correct and faulty candidates alike, so that spelling alone says nothing about correctness.
"""

from __future__ import annotations

import ast
import builtins
import copy
import random
from collections.abc import Callable, Iterator

FIRST_KINDS = ("compare", "arithmetic", "constant", "boundary", "branch")
SECOND_KINDS = ("logic", "statement", "call", "order", "exit")

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.LtE),
    ast.NotEq: (ast.Eq, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
_CALLS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "sorted": "list",
    "set": "list",
    "upper": "lower",
    "lower": "upper",
    "append": "remove",
    "strip": "lstrip",
    "abs": "int",
    "sum": "max",
    "isupper": "islower",
    "islower": "isupper",
    "count": "find",
    "int": "float",
    "round": "int",
    "startswith": "endswith",
    "endswith": "startswith",
}

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}

Edit = Callable[[ast.AST], None]


def mutants(source: str, kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    """All sources that differ from a source by one mutation.

    Args:
        source: a source that parses.
        kinds: mutation kinds.

    Returns:
        Pairs of kind and source, distinct, none equal to the given one.
    """
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    found = []
    nodes = list(ast.walk(tree))
    for place, node in enumerate(nodes):
        for kind, edit in _edits(node):
            if kind not in kinds:
                continue
            changed = ast.parse(source)
            edit(list(ast.walk(changed))[place])
            text = _text(changed)
            if text is not None and text not in seen:
                seen.add(text)
                found.append((kind, text))
    return found


def one_mutant(source: str, kinds: tuple[str, ...], rng: random.Random) -> tuple[str, str] | None:
    """One of :func:`mutants`, drawn without making the others; None when the draw does not compile or changes nothing."""
    tree = ast.parse(source)
    sites = [
        (place, kind, edit) for place, node in enumerate(ast.walk(tree)) for kind, edit in _edits(node) if kind in kinds
    ]
    if not sites:
        return None
    place, kind, edit = rng.choice(sites)
    before = ast.unparse(tree)
    edit(list(ast.walk(tree))[place])
    text = _text(tree)
    return None if text is None or text == before else (kind, text)


def _edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    """What can be done to one node; an edit changes the node it is given in place."""
    if isinstance(node, ast.Compare):
        for new in _COMPARISONS.get(type(node.ops[0]), ()):
            yield "compare", _setting("ops", [new()])
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        for operation in _ARITHMETIC.get(type(node.op), ()):
            yield "arithmetic", _setting("op", operation())
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.Mod, ast.Add)):
        yield "order", _swapping
    if isinstance(node, ast.Constant):
        yield from _constants(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        for step in (1, -1):
            yield "boundary", _shifting("args", len(node.args[:2]) - 1, step)
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper"):
            if getattr(node, name) is not None:
                for step in (1, -1):
                    yield "boundary", _shifting(name, None, step)
                yield "boundary", _setting(name, None)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "branch", _negating
        if not isinstance(node, ast.While):
            yield "branch", _setting("test", ast.Constant(False))
            yield "branch", _setting("test", ast.Constant(True))
    if isinstance(node, ast.If) and node.orelse:
        yield "branch", _setting("orelse", [])
    if isinstance(node, ast.comprehension) and node.ifs:
        yield "branch", _setting("ifs", [])
    if isinstance(node, ast.BoolOp):
        yield "logic", _setting("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for number in range(len(node.values)):
            yield "logic", _dropping_value(number)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "logic", _setting("op", ast.UAdd())
    if isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If)):
        for number, inner in enumerate(node.body):
            if isinstance(inner, (ast.Assign, ast.AugAssign, ast.Expr)) and not _is_text(inner):
                yield "statement", _dropping(number)
    if isinstance(node, ast.Name) and node.id in _CALLS and isinstance(node.ctx, ast.Load):
        yield "call", _setting("id", _CALLS[node.id])
    if isinstance(node, ast.Attribute) and node.attr in _CALLS:
        yield "call", _setting("attr", _CALLS[node.attr])
    if isinstance(node, ast.keyword) and node.arg in ("reverse", "key"):
        yield "call", _setting("value", ast.Constant(None if node.arg == "key" else False))
    if isinstance(node, (ast.For, ast.While)):
        yield "exit", _breaking
    if isinstance(node, (ast.Break, ast.Continue)):
        yield "exit", _passing


def _constants(node: ast.Constant) -> Iterator[tuple[str, Edit]]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", _setting("value", not value)
    elif isinstance(value, int):
        for other in (value + 1, value - 1, -value if value > 1 else value + 2):
            yield "constant", _setting("value", other)
    elif isinstance(value, float):
        yield "constant", _setting("value", value + 1.0)
    elif isinstance(value, str) and len(value) < 40 and "\n" not in value:
        yield "constant", _setting("value", value[:-1] if value else " ")
        if len(value) > 1:
            yield "constant", _setting("value", value[1:])


def _setting(name: str, value: object) -> Edit:
    def edit(node: ast.AST) -> None:
        setattr(node, name, copy.deepcopy(value))

    return edit


def _shifting(name: str, place: int | None, step: int) -> Edit:
    def edit(node: ast.AST) -> None:
        old = getattr(node, name) if place is None else getattr(node, name)[place]
        new = ast.BinOp(old, ast.Add() if step > 0 else ast.Sub(), ast.Constant(1))
        if place is None:
            setattr(node, name, new)
        else:
            getattr(node, name)[place] = new

    return edit


def _dropping(number: int) -> Edit:
    def edit(node: ast.AST) -> None:
        assert isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If))
        node.body[number] = ast.Pass()

    return edit


def _dropping_value(number: int) -> Edit:
    def edit(node: ast.AST) -> None:
        assert isinstance(node, ast.BoolOp)
        kept = [value for place, value in enumerate(node.values) if place != number]
        node.values = kept if len(kept) > 1 else [kept[0], kept[0]]

    return edit


def _swapping(node: ast.AST) -> None:
    assert isinstance(node, ast.BinOp)
    node.left, node.right = node.right, node.left


def _negating(node: ast.AST) -> None:
    assert isinstance(node, (ast.If, ast.IfExp, ast.While))
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _breaking(node: ast.AST) -> None:
    assert isinstance(node, (ast.For, ast.While))
    node.body.append(ast.Break())


def _passing(node: ast.AST) -> None:
    node.__class__ = ast.Pass


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _text(tree: ast.Module) -> str | None:
    """A tree as source that compiles, or None."""
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        compile(text, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return text


def restyled(source: str, rng: random.Random) -> str:
    """The same program in other words: some of renaming, other spellings and a dropped docstring, then re-formatting."""
    tree = ast.parse(source)
    if rng.random() < 0.7:
        tree = _Spelling(rng).visit(tree)
    if rng.random() < 0.5:
        _drop_docstrings(tree)
    text = _text(ast.fix_missing_locations(tree)) or ast.unparse(ast.parse(source))
    return renamed(text, rng) if rng.random() < 0.6 else text


class _Spelling(ast.NodeTransformer):
    """Other spellings of comparisons, augmented assignments and conditions, that keep every value."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        flipped = _FLIPPED.get(type(node.ops[0]))
        pure = not any(isinstance(inner, ast.Call) for inner in ast.walk(node))
        if len(node.ops) == 1 and flipped is not None and pure and self._rng.random() < 0.4:
            return ast.Compare(node.comparators[0], [flipped()], [node.left])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant) and self._rng.random() < 0.5:
            read = ast.Name(node.target.id, ast.Load())
            return ast.Assign([node.target], ast.BinOp(read, node.op, node.value), lineno=node.lineno)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node.orelse and self._rng.random() < 0.3:
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = node.orelse, node.body
        return node


def renamed(source: str, rng: random.Random) -> str:
    """The same program with its arguments and local variables renamed, function names kept.

    Names that are also used as keywords of calls, or declared global, are left alone.
    """
    tree = ast.parse(source)
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    kept = (
        functions
        | set(dir(builtins))
        | {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    )
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            kept |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            kept |= set(node.names)
    bound = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    names = sorted(set(bound) - kept)
    stem = rng.choice(("v", "x", "item_", "val", "arg_", "tmp"))
    numbers = list(range(len(names)))
    rng.shuffle(numbers)
    new = {name: f"{stem}{number}" for name, number in zip(names, numbers, strict=True)}
    if set(new.values()) & (set(bound) | kept):
        return ast.unparse(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in new:
            node.id = new[node.id]
        elif isinstance(node, ast.arg) and node.arg in new:
            node.arg = new[node.arg]
        elif isinstance(node, ast.ExceptHandler) and node.name in new:
            node.name = new[node.name]
    return ast.unparse(tree)


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and len(node.body) > 1 and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
