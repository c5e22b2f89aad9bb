"""Child side, trusted: run one operator on one candidate, within bounds, and turn whatever happens into a verdict or an abstention.

This text runs inside the sandbox: :func:`kernaut.operators.trusted.trusted_source` joins it with a domain's own text and sends both as one program, so it imports the standard
library only.  Untrusted sources get few builtins, modules without their inner modules, and a tick in every loop and function, which ends endless ones after a number of
steps that does not depend on the machine.  The border is the process; this is the second line behind it.
"""

from __future__ import annotations

import ast
import copy
import math
import types
from typing import Any

OPERATOR_STEPS = 200_000
MOST_OBSERVATIONS = 600
MOST_PEERS = 16
REASON_LENGTH = 200

VERDICTS = ("flag", "pass", "abstain")

_OPERATOR_BUILTINS = (
    "abs all any bool dict divmod enumerate filter float frozenset int isinstance iter len list map max min next ord chr pow range repr reversed round set"
    " slice sorted str sum tuple zip ArithmeticError AssertionError Exception IndexError KeyError OverflowError RecursionError RuntimeError StopIteration"
    " SyntaxError TypeError ValueError ZeroDivisionError True False None"
)


class StepsSpent(BaseException):
    """The source has taken more steps than it may."""


class ObservationsSpent(BaseException):
    """An operator has asked for more runs, or more peers, than it may."""


class Steps:
    """Counts loop turns and calls of instrumented sources; shared by all sources of one measurement."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def tick(self) -> None:
        """One step.

        Raises:
            StepsSpent: when there are no more.
        """
        self.taken += 1
        if self.taken > self.most:
            raise StepsSpent


class Caught:
    """Catches whatever untrusted code raises, ``SystemExit`` and a full stack included.

    Attributes:
        error: what was caught, or None.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Caught:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        self.error = error
        return True

    def reason(self, steps: Steps) -> str:
        """In words; empty when nothing was raised."""
        error = self.error
        if error is None:
            return ""
        if isinstance(error, StepsSpent):
            return f"more than {steps.most} steps were taken"
        if isinstance(error, ObservationsSpent):
            return str(error)
        if isinstance(error, MemoryError):
            return "the memory limit was reached"
        return f"{type(error).__name__}: {str(error)[:REASON_LENGTH]}"


class _Ticks(ast.NodeTransformer):
    """Puts a tick at the start of every loop body and function body."""

    def _with_tick(self, node: Any) -> Any:
        self.generic_visit(node)
        call = ast.Expr(ast.Call(ast.Name("_tick_", ast.Load()), [], []))
        first = node.body[0] if node.body else None
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        node.body.insert(1 if documented and isinstance(node, ast.FunctionDef) else 0, ast.copy_location(call, node))
        return node

    def visit_For(self, node: ast.For) -> Any:
        return self._with_tick(node)

    def visit_While(self, node: ast.While) -> Any:
        return self._with_tick(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._with_tick(node)


def instrumented(source: str, name: str) -> types.CodeType:
    """Compile a source with ticks.

    Raises:
        SyntaxError: for a source that does not parse, or nests too deep.
    """
    try:
        tree = ast.fix_missing_locations(_Ticks().visit(ast.parse(source)))
        return compile(tree, name, "exec", dont_inherit=True)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from error


def facade(module: Any) -> Any:
    """A module's public names without the modules it imported, in a new module that may be changed at will."""
    made = types.ModuleType(module.__name__)
    for name in dir(module):
        value = getattr(module, name)
        if not name.startswith("_") and not isinstance(value, types.ModuleType):
            setattr(made, name, value)
    return made


def namespace(allowed: Any, builtin_names: Any, modules: Any, steps: Steps) -> dict[str, Any]:
    """Fresh globals for an untrusted source.

    Args:
        allowed: the builtins module's dictionary.
        builtin_names: which of it the source sees.
        modules: modules by the name it may import them by.
        steps: where its ticks are counted.
    """
    shown = {name: allowed[name] for name in builtin_names if name in allowed}
    made: dict[str, Any] = {}

    def import_module(name: str, _globals: Any = None, _locals: Any = None, wanted: Any = (), level: int = 0) -> Any:
        if level or name not in modules:
            raise ImportError(f"import of {name!r} is refused")
        if name not in made:
            made[name] = facade(modules[name])
        return made[name]

    shown["__import__"] = import_module
    return {"__builtins__": shown, "__name__": "operator", "_tick_": steps.tick}


def run_operator(code: types.CodeType, globals_: dict[str, Any], steps: Steps, arguments: list[Any], ctx: Any) -> Any:
    """Call ``op`` and return what it returned, or ``(None, reason)`` for an abstention.

    Args:
        code: the instrumented operator.
        globals_: fresh globals.
        steps: its steps.
        arguments: task and candidate (copied here).
        ctx: the context of a level-2 operator, or None.

    Returns:
        ``(value, "")``, or ``(None, reason)``.
    """
    value = None
    with Caught() as caught:
        exec(code, globals_)
        function = globals_.get("op")
        if not callable(function):
            raise NameError("the source defines no function op")
        value = function(*copy.deepcopy(arguments), *([] if ctx is None else [ctx]))
        if steps.taken > steps.most:
            raise StepsSpent
    globals_.clear()
    if caught.error is not None:
        return None, caught.reason(steps)
    spent = getattr(ctx, "spent", None)
    if spent:
        return None, str(spent)
    return value, ""


def verdict_of(value: Any, reason: str) -> list[str]:
    """``[verdict, reason]``: anything but a verdict is an abstention that says what came."""
    if reason:
        return ["abstain", reason]
    if type(value) is str and value in VERDICTS:
        return [value, "the operator abstained" if value == "abstain" else ""]
    got = type(value).__name__ if type(value) is not str else f"a text of {len(value)} characters"
    return ["abstain", f"expected flag, pass or abstain; got {got}"]


def number_of(value: Any, reason: str) -> float | None:
    """A measured symptom as a finite number; None for an abstention or anything else."""
    if reason or isinstance(value, str) or not isinstance(value, (int, float)):
        return None
    number = float(value) if abs(value) < 1e300 else None
    return number if number is not None and math.isfinite(number) else None


def judge(request: Any, contexts: Any) -> list[Any]:
    """Run operators (or symptoms) on the wanted candidates of one task.

    Args:
        request: ``operators`` (each ``source``, ``level``), ``task``, ``shown`` (the candidates as operators see them), ``wanted`` (positions), ``measure``.
        contexts: makes the context of a level-2 call from a candidate's position and its steps.

    Returns:
        For each wanted candidate a list with, for each operator, ``[verdict, reason]`` or a number.
    """
    allowed = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    names = _OPERATOR_BUILTINS.split()
    answers: list[Any] = [[] for _ in request["wanted"]]
    for operator in request["operators"]:
        try:
            code, refusal = instrumented(operator["source"], "<operator>"), ""
        except SyntaxError as error:
            code, refusal = None, f"the source does not compile: {error}"
        for row, place in enumerate(request["wanted"]):
            steps = Steps(OPERATOR_STEPS)
            value, reason = None, refusal
            if code is not None:
                ctx = contexts(place) if operator["level"] == 2 else None
                globals_ = namespace(allowed, names, operator_modules(), steps)
                value, reason = run_operator(code, globals_, steps, [request["task"], request["shown"][place]], ctx)
            convert: Any = number_of if request["measure"] else verdict_of
            answers[row].append(convert(value, reason))
    return answers


_REACHING = ("Formatter", "Template", "main", "contextmanager")
"""Names of modules that an operator may import, but not these: they reach attributes by a text, or read streams."""


def operator_modules() -> dict[str, Any]:
    """Modules an operator may import."""
    import collections
    import itertools
    import re
    import statistics
    import string

    found: dict[str, Any] = {}
    for module in (ast, collections, itertools, math, re, statistics, string):
        found[module.__name__] = facade(module)
        for name in _REACHING:
            vars(found[module.__name__]).pop(name, None)
    return found
