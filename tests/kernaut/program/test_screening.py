"""Screening: what it must stop, each with a line and a hint, and what authors write by habit, which it must let pass."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import ProgramRefused
from kernaut.program.contracts import CONTRACTS
from kernaut.program.screening import Screened, normalized_source, screen
from kernaut.program.vocabulary import ATTRIBUTES, BUILTINS, HINTS, MODULES, TYPES
from kernaut.sandbox.execution import ALLOWED_BUILTINS, ALLOWED_MODULES

FEATURE_MAP = CONTRACTS["feature_map"]


def within(statement: str, *, imports: str = "import numpy as np\nimport torch\nimport math\n") -> str:
    lines = statement.split("\n")
    return (
        imports + "def feature_point(x, parameters):\n" + "".join(f"    {line}\n" for line in lines) + "    return x\n"
    )


def beside(statement: str) -> str:
    return (
        f"import numpy as np\nimport torch\nimport math\n{statement}\ndef feature_point(x, parameters):\n    return x\n"
    )


HOSTILE: dict[str, tuple[str, str, str]] = {
    # imports
    "os": (beside("import os"), "import of os", "math, numpy and torch"),
    "os from": (beside("from os import system"), "import of os", ""),
    "ctypes": (beside("import ctypes"), "import of ctypes", ""),
    "star": (beside("from math import *"), "star import", "import math"),
    "relative": (beside("from . import x"), "relative import", ""),
    "torch.jit": (beside("import torch.jit"), "import of torch.jit", ""),
    "torch._C": (beside("import torch._C as c"), "import of torch._C", ""),
    "np.ctypeslib": (beside("from numpy import ctypeslib"), ".ctypeslib", "out of reach"),
    "np.random from": (beside("from numpy.random import normal"), "import of numpy.random", ""),
    "torch.sys": (within("torch.sys.exit()"), ".sys", "out of reach"),
    "alias to dunder": (beside("import math as __builtins__"), "__builtins__", "underscores"),
    "import inside": (within("import os"), "import inside a function", "top"),
    "import call": (within("__import__('os')"), "'__import__'", "Reflection"),
    "importlib": (within("importlib.import_module('os')"), ".import_module", ""),
    # code and reflection
    "eval": (within("eval('1')"), "'eval'", "Reflection"),
    "exec": (within("exec('1')"), "'exec'", ""),
    "compile": (within("compile('1', '', 'eval')"), "'compile'", ""),
    "getattr": (within("getattr(torch, 'sys')"), "'getattr'", ""),
    "setattr": (within("setattr(torch, 'sin', torch.cos)"), "'setattr'", ""),
    "globals": (within("globals()['x'] = 1"), "'globals'", ""),
    "vars": (within("vars(torch)"), "'vars'", ""),
    "type": (within("type('T', (), {})"), "'type'", ""),
    "open": (within("open('/etc/passwd')"), "'open'", ""),
    "open as a name": (within("open = 3"), "named open", ""),
    "print": (within("print(x)"), "'print'", "print nothing"),
    "input": (within("input()"), "'input'", ""),
    "breakpoint": (within("breakpoint()"), "'breakpoint'", ""),
    "dunder walk": (within("().__class__.__base__.__subclasses__()"), ".__class__", "underscore"),
    "dunder name": (within("y = __builtins__"), "'__builtins__'", ""),
    "dunder on a function": (within("feature_point.__globals__"), "__globals__", ""),
    "dunder in an f-string": (within("y = f'{x.__class__}'"), "__class__", ""),
    "dunder in a format": (within("y = f'{1:{x.__class__}}'"), "__class__", ""),
    "str.format": (within("'{0.__class__}'.format(x)"), ".format", "f-string"),
    "format_map": (within("'{x}'.format_map({})"), ".format_map", "f-string"),
    "traceback": (within("e.with_traceback(None)", imports="e = 1\n"), ".with_traceback", ""),
    "tb_frame": (within("x.tb_frame"), ".tb_frame", ""),
    "generator frame": (within("(y for y in x).gi_frame.f_back"), ".gi_frame", ""),
    "function code": (within("(lambda: 0).__code__"), "__code__", ""),
    "mro": (within("x.mro()"), ".mro", ""),
    "attrgetter": (within("operator.attrgetter('a')"), ".attrgetter", ""),
    # assignments that reach further
    "attribute": (within("torch.sin = torch.cos"), "assignment to the attribute .sin", ""),
    "augmented attribute": (within("x.data += 1"), "assignment to the attribute .data", ""),
    "annotated attribute": (within("x.a: int = 3"), "assignment to the attribute .a", ""),
    "for target": (within("for torch.sin in [1]:\n    pass"), "assignment to the attribute .sin", ""),
    "with target": (within("with np.errstate(all='ignore') as np.sin:\n    pass"), "with statement", ""),
    "comprehension target": (within("[0 for torch.sin in [1]]"), "assignment to the attribute .sin", ""),
    "unpacked target": (within("a, torch.sin = 1, 2"), "assignment to the attribute .sin", ""),
    "deleted attribute": (within("del torch.sin"), "assignment to the attribute .sin", ""),
    "with": (within("with torch.no_grad():\n    pass"), "with statement", ""),
    "global": (within("global y"), "global", "arguments"),
    "class pattern": (within("match x:\n    case object(__class__=y):\n        pass"), "class pattern", ""),
    "module state": (beside("STATE = {}"), "module-level state", ""),
    "module dictionary": (beside("STATE = {'n': 0}"), "module-level state", ""),
    "module empty list": (beside("SEEN = []"), "module-level state", ""),
    "module array": (beside("BUFFER = np.zeros(3)"), "module-level state", "inside the function"),
    "module comprehension": (beside("T = [i for i in range(3)]"), "module-level state", ""),
    "module product": (beside("T = [0.0] * 100"), "module-level state", ""),
    "module lambda": (beside("f = lambda x: x"), "lambda at module level", "def"),
    "module call": (beside("feature_point(1, 2)"), "statement at module level", ""),
    "module loop": (beside("for i in range(3):\n    pass"), "statement at module level", ""),
    "module element": (beside("T = [1]\nT[0] = 2"), "name at module level", ""),
    "changed constant": (beside("SEEN = [0]\ndef f():\n    SEEN[0] += 1"), "module-level constant 'SEEN'", "copy"),
    "appended constant": (beside("SEEN = [0]\ndef f():\n    SEEN.append(1)"), "module-level constant 'SEEN'", ""),
    "nested constant": (beside("SEEN = [[0]]\ndef f():\n    SEEN[0][0] = 1"), "module-level constant 'SEEN'", ""),
    "default": (beside("def f(a, seen=[]):\n    return a"), "default value", "every argument"),
    "keyword default": (beside("def f(a, *, seen=0):\n    return a"), "default value", ""),
    "decorator": (beside("@torch.no_grad\ndef f(a):\n    return a"), "decorator", ""),
    "class": (beside("class A:\n    pass"), "a class", ""),
    "class inside": (within("class A:\n    pass"), "a class", ""),
    "async def": (beside("async def f():\n    pass"), "async function", ""),
    "yield": (within("yield x"), "yield", "list"),
    "yield from": (within("yield from x"), "yield", ""),
    "await": (within("await x"), "await", ""),
    "try": (within("try:\n    pass\nexcept ValueError:\n    pass"), "try", "clip"),
    "duplicate": (beside("def f():\n    pass\ndef f():\n    pass"), "second definition", ""),
    # torch and numpy
    "torch.load": (within("torch.load('f')"), ".load", "read and write nothing"),
    "torch.save": (within("torch.save(x, 'f')"), ".save", "read and write nothing"),
    "torch.hub": (within("torch.hub.load('a', 'b')"), ".hub", ""),
    "torch.jit.script": (within("torch.jit.script(x)"), ".jit", ""),
    "torch.ops": (within("torch.ops.aten"), ".ops", ""),
    "torch.ops itself": (within("torch.ops"), ".ops", ""),
    "torch._C itself": (within("torch._C"), "._C", ""),
    "torch.compile": (within("torch.compile(x)"), ".compile", ""),
    "torch.utils": (within("torch.utils"), ".utils", ""),
    "np.lib": (within("np.lib"), ".lib", ""),
    "np.os": (within("np.os"), ".os", ""),
    "np.load": (within("np.load('f')"), ".load", ""),
    "np.save": (within("np.savetxt('f', x)"), ".savetxt", ""),
    "tofile": (within("x.tofile('f')"), ".tofile", ""),
    "fromfile": (within("np.fromfile('f')"), ".fromfile", ""),
    "memmap": (within("np.memmap('f')"), ".memmap", ""),
    "array.ctypes": (within("x.ctypes"), ".ctypes", ""),
    "array.base": (within("x.base"), ".base", ""),
    "as_strided": (within("x.as_strided((9,), (1,))"), ".as_strided", ""),
    "storage": (within("x.untyped_storage()"), ".untyped_storage", ""),
    "data pointer": (within("x.data_ptr()"), ".data_ptr", ""),
    "apply_": (within("x.apply_(f)", imports="f = 1\n"), ".apply_", ""),
    "hooks": (within("x.register_hook(f)", imports="f = 1\n"), ".register_hook", ""),
    "vmap": (within("torch.vmap(f)", imports="import torch\nf = 1\n"), ".vmap", "vectorizes"),
    "frompyfunc": (within("np.frompyfunc(f, 1, 1)", imports="import numpy as np\nf = 1\n"), ".frompyfunc", ""),
    "out": (within("torch.sin(x, out=x)"), "argument out=", "Assign"),
    "out as ** ": (within("torch.sin(x, **{'out': x})"), "** in a call", ""),
    "generator": (within("torch.ones(3, generator=None)"), "argument generator=", ""),
    "where": (within("np.sqrt(x, where=x > 0)"), "argument where=", "np.where"),
    "requires_grad": (within("torch.tensor(1.0, requires_grad=True)"), "argument requires_grad=", ""),
    "rand": (within("torch.rand(3)"), ".rand", "Randomness"),
    "np.random": (within("np.random.normal()"), ".random", "Randomness"),
    "default_rng": (within("np.random.default_rng(0)"), ".random", "formula"),
    "dropout": (within("torch.nn.functional.dropout(x)"), ".dropout", "Randomness"),
    "in-place random": (within("x.normal_()"), ".normal_", "Randomness"),
    "manual_seed": (within("torch.manual_seed(0)"), ".manual_seed", "Randomness"),
    "np.seed": (within("np.random.seed(0)"), ".random", "Randomness"),
    "empty": (within("torch.empty(3)"), ".empty", "zeros"),
    "np.empty_like": (within("np.empty_like(x)"), ".empty_like", "zeros"),
    "pad with empty": (within("np.pad(x, 1, mode='empty')"), "mode 'empty'", "zeros"),
    "resize": (within("x.resize_(9)"), ".resize_", "zeros"),
    "Tensor call": (within("torch.Tensor(3)"), ".Tensor", "zeros"),
    "Tensor imported": (within("y = Tensor(3)", imports="from torch import Tensor\n"), "type Tensor", "zeros"),
    "ndarray call": (within("np.ndarray((3,))"), ".ndarray", "zeros"),
    "set_default_dtype": (within("torch.set_default_dtype(torch.float32)"), ".set_default_dtype", "fixed"),
    "set_num_threads": (within("torch.set_num_threads(4)"), ".set_num_threads", "fixed"),
    "seterr": (within("np.seterr(all='raise')"), ".seterr", "fixed"),
    "backward": (within("x.sum().backward()"), ".backward", "sandbox takes gradients"),
    "bytes": (within("y = b'x'"), "bytes", ""),
    "unknown name": (within("y = nosuchname"), "'nosuchname'", ""),
    "misspelt": (within("torch.expm2(x)"), ".expm2", "expm1"),
    "async comprehension": (within("[y async for y in x]"), "async", ""),
    "hint that runs": (within("y: print(1) = 3"), "type hint", ""),
    "argument hint that runs": (beside("def f(a: (lambda: 0)()):\n    return a"), "type hint", ""),
    "nested too deep": (within("y = " + "(" * 70 + "1" + ")" * 70), "nested", ""),
    "null": ("x = 1\0", "null bytes", ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_with_its_line_and_what_to_write_instead(name: str) -> None:
    source, found, hint = HOSTILE[name]
    with pytest.raises(ProgramRefused) as refusal:
        screen(source, FEATURE_MAP)
    message = refusal.value.message
    assert found in message
    assert refusal.value.hint and hint in refusal.value.hint
    assert refusal.value.hint.endswith((".", "?"))
    if name != "null":
        assert "line" in message


def test_the_line_is_the_line() -> None:
    with pytest.raises(ProgramRefused, match="at line 6"):
        screen(
            "import torch\n\ndef feature_point(x, parameters):\n    y = x\n\n    return torch.rand(3)\n", FEATURE_MAP
        )


HABITS = {
    "docstrings": '"""A map."""\nimport torch\n\ndef feature_point(x, parameters):\n    """Features."""\n    return x\n',
    "constants": beside(
        "PI = 3.14\nTWO_PI = 2 * PI\nROOT = math.sqrt(2.0)\nTAU = np.pi * 2\nNAMES = ('a', 'b')\nTABLE = [[1, -2.5], [3, 4]]\nMODE: str = 'wide'"
    ),
    "future": "from __future__ import annotations\nimport torch\ndef feature_point(x, parameters):\n    return x\n",
    "imports": "import numpy\nimport numpy.linalg as la\nimport torch.nn.functional as F\nfrom math import pi, sqrt\nfrom torch import sin as s, Tensor\n"
    "def feature_point(x: Tensor, parameters: dict[str, float]) -> Tensor:\n    return F.softplus(s(x) * pi) + la.norm([1, 2])\n",
    "helpers": beside("def scale(u, *factors):\n    for factor in factors:\n        u = u * factor\n    return u"),
    "annotated": within("y: torch.Tensor = x * 2\nz: float\nz = 1.0\nn: int | None = None"),
    "augmented": within("x += 1\nx[0] *= 2\ny = [0]\ny[0] -= 1"),
    "loops": within(
        "y = 0\nfor i, (a, b) in enumerate(zip([1], [2])):\n    while y < 3:\n        y += a if b else 1\n        if y:\n            break\n    else:\n        continue"
    ),
    "comprehensions": within(
        "y = [a for a in x if a > 0] + list({b: 1 for b in [1]}.values()) + [*{c for c in [1]}]\nz = sum(d * d for d in [1, 2])"
    ),
    "lambdas": within("f = lambda u, k=2: u * k\ny = f(x)\nz = sorted([1, 2], key=lambda v: -v)"),
    "nested function": within("def g(u):\n    return u + x\nx = g(x)"),
    "nonlocal": within("n = 0\ndef g():\n    nonlocal n\n    n = n + 1\ng()"),
    "walrus": within("if (n := len(x)) > 2:\n    x = x * n"),
    "slices": within("y = x[..., None, 1:-1:2]\nz = x[[0, 1]]"),
    "f-strings": within("raise ValueError(f'expected {x.shape[0]!r} of {parameters[\"a\"]:.3f} {1:>{3}}')"),
    "assert": within("assert x.ndim == 1, 'one point'"),
    "dictionary": within("y = {**parameters, 'a': 1}\ny.update(b=2)\nz = y.get('c', 0.0)\ny.setdefault('d', 4)"),
    "unpacking": within("a, *b = x\n(c, d), e = (1, 2), 3\nf = [*b, a]"),
    "star arguments": within("y = torch.cat([*x])\nz = math.hypot(*[1, 2])"),
    "isinstance": within(
        "if isinstance(x, torch.Tensor) or isinstance(x, (np.ndarray, list)):\n    pass\nif torch.is_tensor(x):\n    pass"
    ),
    "errstate": within("with np.errstate(divide='ignore'):\n    y = 1 / x"),
    "match": within(
        "match parameters['mode']:\n    case 'a' | 'b':\n        y = 1\n    case [p, *q]:\n        y = q\n    case {'k': v, **r}:\n        y = r\n    case _:\n        y = 2"
    ),
    "delete": within("y = [1]\ndel y[0]\ndel y"),
    "numpy": within(
        "y = np.asarray(x, dtype=float).clip(0, 1).reshape(-1).astype(np.float64)\nz = np.polynomial.chebyshev.chebval(y, [1, 2])\nw = np.fft.rfft(y).real"
    ),
    "torch": within(
        "y = torch.special.expit(x) + torch.linalg.norm(x) + x.new_zeros(3).unsqueeze(0)\nz = torch.full_like(x, 2.0, dtype=torch.float64)"
    ),
    "torch in place": within("y = torch.zeros_like(x)\ny[0] = x[0]\ny.add_(1).clamp_(min=0)"),
    "numbers": within("y = 1e-3 + 0x10 + 1_000 + float('inf') + np.inf + math.tau"),
    "names like builtins": within("input = x\nid = 1\nmax_ = 2\n_private = 3"),
    "an invalid escape": within("y = '\\d'"),
    "backslash": within("y = 1 + \\\n    2"),
    "unicode": within("λ = 2.0\nx = λ * x"),
}


@pytest.mark.parametrize("name", HABITS)
def test_what_authors_write_by_habit_passes(name: str) -> None:
    assert screen(HABITS[name], FEATURE_MAP).entry_point == "feature_point"


def test_the_backend_is_torch_when_torch_is_imported() -> None:
    body = "def feature_point(x, parameters):\n    return x\n"
    assert screen(body, FEATURE_MAP) == Screened("numpy", "feature_point")
    assert screen("import numpy as np\nimport math\n" + body, FEATURE_MAP).backend == "numpy"
    for line in (
        "import torch",
        "import torch.nn.functional as F",
        "from torch import sin",
        "from torch.linalg import norm",
    ):
        assert screen(f"{line}\n{body}", FEATURE_MAP).backend == "torch"


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=lambda contract: contract.name)
def test_the_entry_point_has_exactly_the_contracts_arguments(contract: object) -> None:
    rules = next(c for c in CONTRACTS.values() if c is contract)
    arguments = ", ".join(rules.arguments)
    assert screen(f"def {rules.entry_point}({arguments}):\n    return 1\n", rules).entry_point == rules.entry_point
    for wrong in (
        f"{arguments}, more",
        "",
        f"*, {arguments}",
        f"{arguments}, /",
        f"{arguments}, *rest",
        f"**{rules.arguments[-1]}",
    ):
        with pytest.raises(ProgramRefused, match="def") as refusal:
            screen(f"def {rules.entry_point}({wrong}):\n    return 1\n", rules)
        assert refusal.value.hint is not None and f"def {rules.entry_point}({arguments})" in refusal.value.hint
    with pytest.raises(ProgramRefused, match=f"to define {rules.entry_point}"):
        screen("def other(x):\n    return 1\n", rules)
    with pytest.raises(ProgramRefused, match=f"to define {rules.entry_point}"):
        screen(f"def other(x):\n    def {rules.entry_point}({arguments}):\n        return 1\n    return 1\n", rules)
    with pytest.raises(ProgramRefused, match="name of a function"):
        screen(f"def {rules.entry_point}({arguments}):\n    return 1\n{rules.entry_point} = 3\n", rules)


def test_arguments_in_another_order_are_refused() -> None:
    with pytest.raises(ProgramRefused):
        screen("def feature_point(parameters, x):\n    return x\n", FEATURE_MAP)


@pytest.mark.parametrize(
    "source",
    [
        "-" * 50_000 + "1",
        "1" + "+1" * 50_000,
        "x" + ".a" * 50_000,
        "x" + "()" * 30_000,
        "not " * 20_000 + "1",
        "(" * 20_000,
        "[" * 59 + "]" * 58,
        "f(" * 50 + "1 1" + ")" * 50,
        "lambda: " * 10_000 + "1",
        "1 if 1 else " * 8_000 + "1",
        "if 1:\n pass\n" + "elif 1:\n pass\n" * 5_000,
        "".join(" " * depth + "if 1:\n" for depth in range(120)) + " " * 120 + "pass",
        "x = 1\n" * 16_000,
        "def f(" + ", ".join(f"a{i}" for i in range(9_000)) + "): pass",
        "X = " + "1+" * 900 + "1\n",
        "x = " + "9" * 10_000,
        "\ud800",
        "\x00",
        "é = 1\n" * 10,
        "x = 1  # " + "." * 100_000,
        "# coding: rot13\nvzcbeg bf",
    ],
    ids=range(21),
)
def test_texts_made_to_break_parsers_end_in_a_refusal(source: str) -> None:
    for wrapped in (source, f"def feature_point(x, parameters):\n    return {source}\n"):
        with pytest.raises(ProgramRefused):
            screen(wrapped, FEATURE_MAP)


@given(st.text(max_size=80))
def test_any_text_is_screened_or_refused(text: str) -> None:
    try:
        screen(text, FEATURE_MAP)
    except ProgramRefused as refusal:
        assert str(refusal)
    else:
        assert "feature_point" in text


def test_warnings_of_the_parser_are_no_verdict() -> None:
    assert screen(within("y = '\\d'"), FEATURE_MAP).backend == "torch"


def test_comments_docstrings_and_layout_do_not_count() -> None:
    plain = "import torch\ndef feature_point(x, parameters):\n    return torch.cat([x, x*2])\n"
    told = '"""A map."""\n# comment\nimport torch\n\n\ndef feature_point(x,\n                  parameters):\n    """Features."""\n    "more"\n    return torch.cat([x, x * 2])  # twice\n'
    assert normalized_source(plain) == normalized_source(told)
    assert normalized_source(plain) != normalized_source(plain.replace("2", "3"))
    assert normalized_source('def f():\n    "only a docstring"\n') == "def f():\n    pass"
    with pytest.raises(ProgramRefused, match="syntax error at line 1"):
        normalized_source("def f(:\n")
    with pytest.raises(ProgramRefused):
        normalized_source("x = " + "-" * 2_000 + "1")


def test_normalizing_is_idempotent() -> None:
    for source in HABITS.values():
        once = normalized_source(source)
        assert normalized_source(once) == once
        assert screen(once, FEATURE_MAP)


def test_the_child_offers_what_the_screening_permits() -> None:
    assert set(ALLOWED_BUILTINS) == BUILTINS
    assert set(ALLOWED_MODULES["torch"]) == MODULES | {"__future__"}
    assert not ATTRIBUTES & set(HINTS)
    assert not ATTRIBUTES & TYPES


def test_no_permitted_name_is_a_module_but_the_listed_ones() -> None:
    """Walk the modules a program can hold: every permitted attribute that is a module must be one it may import."""
    kind = type(math)
    seen: set[str] = set()
    waiting = [math, np, torch]
    while waiting:
        module = waiting.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        for name in ATTRIBUTES:
            value = getattr(module, name, None)
            if isinstance(value, kind):
                waiting.append(value)
    allowed = MODULES | {"numpy.polynomial.hermite_e", "torch.functional"}
    assert seen <= allowed, seen - allowed


@pytest.mark.parametrize("name", sorted(name for name in ATTRIBUTES if name.endswith("_")))
def test_permitted_in_place_methods_exist_and_are_not_random(name: str) -> None:
    if name in ("bool_", "float_", "ix_"):
        return
    assert hasattr(torch.Tensor, name)
    assert name not in (
        "normal_",
        "uniform_",
        "bernoulli_",
        "random_",
        "exponential_",
        "set_",
        "resize_",
        "requires_grad_",
    )
