"""Symptoms of Python candidates: level 1 reads the parsed source, level 2 runs candidate and peers on generated inputs."""

from __future__ import annotations

from kernaut.operators.symptoms import Symptom

_PEERS = '    peers = [p for p in ctx.peers if p["place"] != candidate["place"]][:16]\n'


def _count(name: str, words: str, condition: str) -> Symptom:
    """The number of nodes of the parsed source that meet a condition."""
    source = f"""
def {name}(task, candidate):
    tree = ast.parse(candidate["source"])
    return sum(1 for node in ast.walk(tree) if {condition})
"""
    return Symptom(name, words, 1, source, ("ast",))


def _share(name: str, words: str, condition: str) -> Symptom:
    """The share of generated inputs on which the candidate's outcome meets a condition."""
    source = f"""
def {name}(task, candidate, ctx):
    outcomes = [ctx.run(candidate, args) for args in ctx.inputs(40)]
    if len(outcomes) < 5:
        return None
    return sum(1 for outcome in outcomes if {condition}) / len(outcomes)
"""
    return Symptom(name, words, 2, source)


INSPECTING = (
    _count(
        "constant_tests",
        "number of conditions that are constants",
        "isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(node.test, ast.Constant)",
    ),
    _count(
        "negated_tests",
        "number of negated conditions",
        "isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)",
    ),
    _count("comparisons", "number of comparisons", "isinstance(node, ast.Compare)"),
    _count("branches", "number of branches", "isinstance(node, (ast.If, ast.IfExp))"),
    _count("loops", "number of loops", "isinstance(node, (ast.For, ast.While, ast.comprehension))"),
    _count("returns", "number of returns", "isinstance(node, ast.Return)"),
    _count(
        "plus_one",
        "number of additions or subtractions of one",
        "isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant) and node.right.value == 1",
    ),
    _count(
        "nested_sums",
        "number of additions of one to a sum",
        "isinstance(node, ast.BinOp) and isinstance(node.left, ast.BinOp) and isinstance(node.right, ast.Constant)",
    ),
    _count("calls", "number of calls", "isinstance(node, ast.Call)"),
    _count(
        "large_constants",
        "number of whole constants beyond two",
        "isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) > 2",
    ),
    _count("passes", "number of empty statements", "isinstance(node, ast.Pass)"),
    _count("operations", "number of arithmetic operations", "isinstance(node, (ast.BinOp, ast.AugAssign))"),
    Symptom(
        "unread_names",
        "number of names that are assigned and never read",
        1,
        """
def unread_names(task, candidate):
    nodes = [node for node in ast.walk(ast.parse(candidate["source"])) if isinstance(node, ast.Name)]
    read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    return len({node.id for node in nodes if isinstance(node.ctx, ast.Store)} - read)
""",
        ("ast",),
    ),
    Symptom(
        "unread_arguments",
        "number of arguments that are never read",
        1,
        """
def unread_arguments(task, candidate):
    tree = ast.parse(candidate["source"])
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return len({node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} - read)
""",
        ("ast",),
    ),
)

EXECUTING = (
    _share("raises", "share of generated inputs on which it raises", 'not outcome["ok"]'),
    _share("endless", "share of generated inputs on which it does not end", 'outcome["error"] == "Endless"'),
    _share("mutates", "share of generated inputs that it changes", 'outcome["changed"]'),
    _share("nothing", "share of generated inputs on which it returns None", 'outcome["kind"] == "NoneType"'),
    Symptom(
        "variety",
        "number of different outcomes a generated input",
        2,
        """
def variety(task, candidate, ctx):
    texts = [ctx.run(candidate, args)["text"] for args in ctx.inputs(40)]
    return len(set(texts)) / len(texts) if len(texts) > 4 else None
""",
    ),
    Symptom(
        "foreign_kinds",
        "share of results of another type than on the visible checks",
        2,
        """
def foreign_kinds(task, candidate, ctx):
    known = {ctx.run(candidate, check["args"])["kind"] for check in ctx.checks}
    kinds = [o["kind"] for o in [ctx.run(candidate, args) for args in ctx.inputs(40)] if o["ok"]]
    return sum(1 for kind in kinds if kind not in known) / len(kinds) if kinds else None
""",
    ),
    Symptom(
        "dissent",
        "share of generated inputs on which it differs from the most frequent answer of its peers",
        2,
        f"""
def dissent(task, candidate, ctx):
{_PEERS}    inputs, differing = ctx.inputs(30), 0
    for args in inputs:
        texts = collections.Counter(o["text"] for o in [ctx.run(p, args) for p in peers] if o["ok"])
        if texts and ctx.run(candidate, args)["text"] != min(texts, key=lambda text: (-texts[text], text)):
            differing += 1
    return differing / len(inputs) if len(inputs) > 4 else None
""",
        ("collections",),
    ),
    Symptom(
        "support",
        "mean share of peers that give its answer",
        2,
        f"""
def support(task, candidate, ctx):
{_PEERS}    inputs, shares = ctx.inputs(30), []
    for args in inputs:
        own = ctx.run(candidate, args)["text"]
        shares.append(sum(ctx.run(p, args)["text"] == own for p in peers) / max(1, len(peers)))
    return sum(shares) / len(shares) if len(shares) > 4 else None
""",
    ),
    Symptom(
        "least_support",
        "smallest share of peers that give its answer",
        2,
        f"""
def least_support(task, candidate, ctx):
{_PEERS}    shares = []
    for args in ctx.inputs(30):
        own = ctx.run(candidate, args)["text"]
        shares.append(sum(ctx.run(p, args)["text"] == own for p in peers) / max(1, len(peers)))
    return min(shares) if len(shares) > 4 else None
""",
    ),
    Symptom(
        "dissent_from_passing",
        "share of generated inputs on which it differs from most peers that pass the visible checks",
        2,
        f"""
def dissent_from_passing(task, candidate, ctx):
{_PEERS}    able = [p for p in peers if all(c["expected"] in (None, ctx.run(p, c["args"])["text"]) for c in ctx.checks)]
    inputs, differing = ctx.inputs(28), 0
    for args in inputs:
        texts = collections.Counter(ctx.run(p, args)["text"] for p in able)
        if texts and ctx.run(candidate, args)["text"] != min(texts, key=lambda text: (-texts[text], text)):
            differing += 1
    return differing / len(inputs) if len(inputs) > 4 and able else None
""",
        ("collections",),
    ),
    Symptom(
        "support_of_passing",
        "mean share of peers that pass the visible checks and give its answer",
        2,
        f"""
def support_of_passing(task, candidate, ctx):
{_PEERS}    able = [p for p in peers if all(c["expected"] in (None, ctx.run(p, c["args"])["text"]) for c in ctx.checks)]
    shares = []
    for args in ctx.inputs(28):
        own = ctx.run(candidate, args)["text"]
        shares.append(sum(ctx.run(p, args)["text"] == own for p in able) / max(1, len(able)))
    return sum(shares) / len(shares) if len(shares) > 4 and able else None
""",
    ),
    Symptom(
        "lonely_failures",
        "share of generated inputs on which it raises and most peers do not",
        2,
        f"""
def lonely_failures(task, candidate, ctx):
{_PEERS}    inputs, lonely = ctx.inputs(30), 0
    for args in inputs:
        fine = sum(ctx.run(p, args)["ok"] for p in peers)
        lonely += not ctx.run(candidate, args)["ok"] and 2 * fine > len(peers)
    return lonely / len(inputs) if len(inputs) > 4 else None
""",
    ),
    Symptom(
        "extra_steps",
        "steps on generated inputs as a multiple of its peers' median",
        2,
        f"""
def extra_steps(task, candidate, ctx):
{_PEERS}    inputs = ctx.inputs(30)
    own = sum(ctx.run(candidate, args)["steps"] for args in inputs)
    others = [sum(ctx.run(p, args)["steps"] for args in inputs) for p in peers]
    return (own + 1) / (statistics.median(others) + 1) if len(inputs) > 4 and others else None
""",
        ("statistics",),
    ),
)
SYMPTOMS = INSPECTING + EXECUTING
