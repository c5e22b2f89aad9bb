"""The kinds of Python syntax a kernel program may consist of, and what to write instead of the others."""

from __future__ import annotations

import ast

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
    ast.FormattedValue,
    ast.JoinedStr,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Starred,
    ast.Name,
    ast.List,
    ast.Tuple,
    ast.Slice,
)
_STATEMENTS = (
    ast.FunctionDef,
    ast.Return,
    ast.Delete,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.With,
    ast.Match,
    ast.Raise,
    ast.Assert,
    ast.Import,
    ast.ImportFrom,
    ast.Nonlocal,
    ast.Expr,
    ast.Pass,
    ast.Break,
    ast.Continue,
)
_PARTS = (
    ast.Module,
    ast.comprehension,
    ast.arguments,
    ast.arg,
    ast.keyword,
    ast.alias,
    ast.withitem,
    ast.match_case,
    ast.MatchValue,
    ast.MatchSingleton,
    ast.MatchSequence,
    ast.MatchMapping,
    ast.MatchStar,
    ast.MatchAs,
    ast.MatchOr,
)
_FAMILIES = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
OPERATORS = frozenset(kind for family in _FAMILIES for kind in family.__subclasses__())
"""Node types without content: operators and contexts."""

ALLOWED_NODES = frozenset((*_EXPRESSIONS, *_STATEMENTS, *_PARTS)) | OPERATORS
"""Node types a program may consist of."""

HINT_NODES = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.BitOr,
    ast.expr_context,
)
"""Node types of a type hint."""

REFUSED_NODES: dict[str, tuple[str, str]] = {
    "ClassDef": ("a class", "Use functions and dictionaries."),
    "AsyncFunctionDef": ("an async function", "Use def."),
    "Await": ("await", "Call the function."),
    "AsyncFor": ("async for", "Use for."),
    "AsyncWith": ("async with", "Leave it out."),
    "Yield": ("yield", "Build and return a list."),
    "YieldFrom": ("yield", "Build and return a list."),
    "Global": ("global", "Pass values as arguments and return them."),
    "Try": ("try", "Guard the operation instead, for example with clip, clamp or where."),
    "TryStar": ("try", "Guard the operation instead, for example with clip, clamp or where."),
    "MatchClass": ("a class pattern", "Compare values, or use if and isinstance."),
}
"""What a refused node is called, and what to write instead."""
