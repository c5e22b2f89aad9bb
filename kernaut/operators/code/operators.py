"""Fifteen operators written by hand (ten inspect syntax, five execute) and the plurality comparator: baselines for Python candidates."""

from __future__ import annotations

from kernaut.operators.records import Operator

_READ = 'import ast\n\n\ndef op(task, candidate):\n    tree = ast.parse(candidate["source"])\n'


def _inspecting(defect: str, body: str) -> Operator:
    return Operator(_READ + body.strip("\n") + "\n", 1, defect, "hand")


def _any(defect: str, condition: str) -> Operator:
    return _inspecting(
        defect, f'    found = any({condition} for node in ast.walk(tree))\n    return "flag" if found else "pass"'
    )


def _executing(defect: str, body: str, imports: str = "") -> Operator:
    return Operator(f"{imports}def op(task, candidate, ctx):\n" + body.strip("\n") + "\n", 2, defect, "hand")


_PEERS = """
    peers = [p for p in ctx.peers if p["place"] != candidate["place"]][:16]
    inputs = ctx.inputs(30)
    if len(inputs) < 5 or not peers:
        return "abstain"
"""

INSPECTING = (
    _any(
        "a condition that is a constant",
        "isinstance(node, (ast.If, ast.IfExp)) and isinstance(node.test, ast.Constant)",
    ),
    _any("an empty statement instead of work", "isinstance(node, ast.Pass)"),
    _any(
        "a value compared with itself",
        "isinstance(node, ast.Compare) and ast.dump(node.left) == ast.dump(node.comparators[0])",
    ),
    _any(
        "a loop that ends after its first turn",
        "isinstance(node, (ast.For, ast.While)) and isinstance(node.body[-1], (ast.Break, ast.Return))",
    ),
    _any("a bare except", "isinstance(node, ast.ExceptHandler) and node.type is None"),
    _any(
        "a changeable default",
        "isinstance(node, ast.FunctionDef) and any(isinstance(d, (ast.List, ast.Dict, ast.Set)) for d in node.args.defaults)",
    ),
    _inspecting(
        "code after a return",
        """
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = block_of(node, name)
            if any(isinstance(inner, (ast.Return, ast.Raise)) for inner in block[:-1]):
                return "flag"
    return "pass"


def block_of(node, name):
    return next((value for field, value in ast.iter_fields(node) if field == name and isinstance(value, list)), [])
""",
    ),
    _inspecting(
        "an argument that is never read",
        """
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return "flag" if arguments - read else "pass"
""",
    ),
    _inspecting(
        "a variable that is never read",
        """
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return "flag" if {node.id for node in names if isinstance(node.ctx, ast.Store)} - read else "pass"
""",
    ),
    _inspecting(
        "no value returned",
        """
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]
    return "pass" if found else "flag"
""",
    ),
)

EXECUTING = (
    _executing(
        "raises where most peers do not",
        _PEERS
        + """
    lonely = 0
    for args in inputs:
        if not ctx.run(candidate, args)["ok"]:
            lonely += 2 * sum(ctx.run(p, args)["ok"] for p in peers) > len(peers)
    return "flag" if lonely > 1 else "pass"
""",
    ),
    _executing(
        "does not end on inputs near the visible ones",
        """
    return "flag" if any(ctx.run(candidate, args)["error"] == "Endless" for args in ctx.inputs(40)) else "pass"
""",
    ),
    _executing(
        "the same answer to every input",
        """
    texts = {ctx.run(candidate, args)["text"] for args in ctx.inputs(40)}
    return "flag" if len(texts) == 1 and len(ctx.inputs(40)) > 10 else "pass"
""",
    ),
    _executing(
        "a result of another type than on the visible checks",
        """
    known = {ctx.run(candidate, check["args"])["kind"] for check in ctx.checks}
    kinds = {outcome["kind"] for outcome in [ctx.run(candidate, args) for args in ctx.inputs(40)] if outcome["ok"]}
    return "flag" if kinds - known else "pass"
""",
    ),
    _executing(
        "differs from most peers on a third of the inputs",
        _PEERS
        + """
    differing = 0
    for args in inputs:
        own = ctx.run(candidate, args)["text"]
        differing += 2 * sum(ctx.run(p, args)["text"] != own for p in peers) > len(peers)
    return "flag" if 3 * differing > len(inputs) else "pass"
""",
    ),
)

HAND_WRITTEN = INSPECTING + EXECUTING

COMPARATOR = Operator(
    """import collections


def op(task, candidate, ctx):
    peers = [p for p in ctx.peers if p["place"] != candidate["place"]][:16]
    inputs = ctx.inputs(30)
    if not inputs or not peers:
        return "abstain"
    for args in inputs:
        texts = collections.Counter(ctx.run(p, args)["text"] for p in [*peers, candidate])
        if ctx.run(candidate, args)["text"] != min(texts, key=lambda text: (-texts[text], text)):
            return "flag"
    return "pass"
""",
    2,
    "an answer that is not the most frequent one",
    "comparator",
)
"""The plurality comparator: 30 inputs, at most 16 peers, 540 observations."""
