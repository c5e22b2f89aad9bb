"""Feature maps that join the features of several functions: ``return torch.cat((f(x, ..), g(x, ..)))``.

The kernel of joined features is the sum of the kernels of each; this finds the pieces in the source text, without running it, so that a fit can be told apart by them.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter

JOINING = ("cat", "concat", "concatenate", "hstack")


def joined_features(source: str, entry_point: str) -> list[tuple[str, str]]:
    """The pieces of a feature map, each as a source text of its own whose entry point answers with that piece alone.

    Args:
        source: of a feature map program.
        entry_point: its entry point.

    Returns:
        Names, made of the functions', and sources; nothing unless the entry point ends by joining what two or more functions answer.
    """
    tree = ast.parse(source)
    joined = _pieces(tree, entry_point)
    called = (
        [e.func.id for e in joined.elts if isinstance(e, ast.Call) and isinstance(e.func, ast.Name)] if joined else []
    )
    if joined is None or len(called) < max(2, len(joined.elts)):
        return []
    names = [name.strip("_").replace("_", " ") for name in called]
    count = Counter(names)
    found = []
    for place, name in enumerate(names):
        own = copy.deepcopy(tree)
        pieces = _pieces(own, entry_point)
        assert pieces is not None
        pieces.elts = [pieces.elts[place]]
        found.append((name if count[name] == 1 else f"{name} {place + 1}", ast.unparse(own) + "\n"))
    return found


def _pieces(tree: ast.Module, entry_point: str) -> ast.Tuple | ast.List | None:
    """What the entry point's last statement, its only return, joins."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == entry_point:
            last = function.body[-1]
            returns = sum(isinstance(node, ast.Return) for node in ast.walk(function))
            if returns != 1 or not isinstance(last, ast.Return) or not isinstance(last.value, ast.Call):
                return None
            call = last.value
            is_join = isinstance(call.func, ast.Attribute) and call.func.attr in JOINING
            pieces = call.args[0] if len(call.args) == 1 and not call.keywords else None
            return pieces if is_join and isinstance(pieces, ast.Tuple | ast.List) else None
    return None
