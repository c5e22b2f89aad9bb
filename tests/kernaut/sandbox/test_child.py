"""A child's answers: the same numbers as the plain function, whatever the calling; every failure a state with its reason."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import InputError, SandboxFailure
from kernaut.sandbox.child import Child
from kernaut.sandbox.pool import SandboxPool
from kernaut.sandbox.records import Calling
from tests.kernaut.sandbox.conftest import Load, program

TORCH_POINT = """
import math
import torch

SCALES = [1.0, 2.5]

def fold(u, rate):
    return torch.arcsin(torch.sin(math.pi * rate * u)) / math.pi

def feature_point(x, parameters):
    parts = [fold(x * scale, parameters["rate"]) for scale in SCALES]
    return torch.cat([*parts, parameters["weights"][1] * x.sum()[None], x[:1] * parameters["count"]])
"""

NUMPY_POINT = """
import math
import numpy as np

SCALES = [1.0, 2.5]

def fold(u, rate):
    return np.arcsin(np.sin(math.pi * rate * u)) / math.pi

def feature_point(x, parameters):
    parts = [fold(x * scale, parameters["rate"]) for scale in SCALES]
    return np.concatenate([*parts, parameters["weights"][1] * x.sum()[None], x[:1] * parameters["count"]])
"""

PARAMETERS = {"rate": 0.7, "weights": [0.25, 1.75], "count": 3, "mode": "wide", "flag": True}


def expected_features(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    def fold(u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.arcsin(np.sin(math.pi * 0.7 * u)) / math.pi

    columns = [fold(points), fold(points * 2.5), 1.75 * points.sum(1, keepdims=True), 3 * points[:, :1]]
    return np.concatenate(columns, axis=1)


@pytest.fixture(scope="module")
def points() -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).normal(size=(17, 3))


@pytest.mark.parametrize("source", [TORCH_POINT, NUMPY_POINT], ids=["torch", "numpy"])
def test_a_point_program_gives_the_numbers_of_its_twin(source: str, load: Load, points: np.ndarray[Any, Any]) -> None:
    child = load(source)
    before = points.copy()
    (values,) = child.evaluate(points, PARAMETERS)
    np.testing.assert_allclose(values, expected_features(points), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(points, before)
    assert not child.slow_path
    assert child.differentiable == ("torch" in source)


@pytest.mark.parametrize("source", [TORCH_POINT, NUMPY_POINT], ids=["torch", "numpy"])
def test_a_point_does_not_see_the_others(source: str, load: Load, points: np.ndarray[Any, Any]) -> None:
    child = load(source)
    (together,) = child.evaluate(points, PARAMETERS)
    for index in (0, 8, 16):
        (alone,) = child.evaluate(points[index : index + 1], PARAMETERS)
        np.testing.assert_allclose(alone[0], together[index], rtol=1e-14)


def test_a_point_is_no_view_of_the_others(load: Load, points: np.ndarray[Any, Any]) -> None:
    for library, base in (("numpy", "x.base"), ("torch", "x._base")):
        child = load(
            f"import {library}\ndef feature_point(x, parameters):\n    float(x[0])\n    return [{base} is None, 0.0 * x[0]]\n"
        )
        (values,) = child.evaluate(points, {})
        np.testing.assert_array_equal(values[:, 0], np.ones(len(points)))


def test_no_points_give_no_rows(load: Load) -> None:
    for source in (TORCH_POINT, NUMPY_POINT):
        (values,) = load(source).evaluate(np.zeros((0, 3)), PARAMETERS)
        assert values.shape == (0, 8)


@pytest.mark.parametrize("library", ["torch", "np"])
def test_a_coordinate_program_gets_one_number(library: str, load: Load) -> None:
    name = "torch" if library == "torch" else "numpy as np"
    source = f"import {name}\ndef coordinate_feature(value, parameters):\n    return {library}.stack([{library}.sin(value), value * parameters['a']])\n"
    child = load(source, "coordinate")
    values = np.array([0.5, -1.5, 2.0])
    (features,) = child.evaluate(values, {"a": 0.3})
    np.testing.assert_allclose(features, np.stack([np.sin(values), values * 0.3], axis=1), rtol=1e-14)


@pytest.mark.parametrize("library", ["torch", "np"])
def test_a_dimension_program_gives_frequencies_and_weights(library: str, load: Load) -> None:
    name = "torch" if library == "torch" else "numpy as np"
    source = (
        f"import {name}\n"
        "def spectral_components(input_dimension, parameters):\n"
        f"    rows = {library}.arange(1.0, 5.0)\n"
        f"    return rows[:, None] * {library}.ones(input_dimension) * parameters['s'], rows ** 2\n"
    )
    frequencies, weights = load(source, "dimension").evaluate(None, {"s": 0.5}, input_dimension=3)
    np.testing.assert_array_equal(frequencies, 0.5 * np.arange(1.0, 5.0)[:, None] * np.ones(3))
    np.testing.assert_array_equal(weights, np.arange(1.0, 5.0) ** 2)


@pytest.mark.parametrize("library", ["torch", "np"])
def test_a_matrix_program_sees_all_points(library: str, load: Load, points: np.ndarray[Any, Any]) -> None:
    name = "torch" if library == "torch" else "numpy as np"
    source = f"import {name}\ndef kernel_matrix(x, parameters):\n    return parameters['s'] * x @ x.T\n"
    (matrix,) = load(source, "matrix").evaluate(points, {"s": 0.5})
    np.testing.assert_allclose(matrix, 0.5 * points @ points.T, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        ("return x.sum()", lambda x: x.sum(1, keepdims=True)),
        ("return [x[0], 2.0, x[1] * x[2]]", lambda x: np.stack([x[:, 0], np.full(len(x), 2.0), x[:, 1] * x[:, 2]], 1)),
        ("return 3", lambda x: np.full((len(x), 1), 3.0)),
        ("return x > 0", lambda x: (x > 0).astype(float)),
    ],
)
@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_what_authors_return_by_habit(
    library: str, body: str, columns: Any, load: Load, points: np.ndarray[Any, Any]
) -> None:
    child = load(f"import {library}\ndef feature_point(x, parameters):\n    {body}\n")
    (values,) = child.evaluate(points, {})
    np.testing.assert_allclose(values, columns(points), rtol=1e-14)
    assert not child.slow_path


SLOW = """
import math
import torch

def feature_point(x, parameters):
    radius = float(x.norm())
    if x[0] > 0:
        return torch.stack([x[0] * parameters["a"], torch.tensor(math.sin(radius))])
    return [x[1], radius]
"""


def test_what_vmap_refuses_runs_point_by_point(load: Load, points: np.ndarray[Any, Any]) -> None:
    child = load(SLOW)
    (values,) = child.evaluate(points, {"a": 0.3})
    radius = np.linalg.norm(points, axis=1)
    right = np.stack([points[:, 0] * 0.3, np.sin(radius)], 1)
    left = np.stack([points[:, 1], radius], 1)
    np.testing.assert_allclose(values, np.where(points[:, :1] > 0, right, left), rtol=1e-14)
    assert child.slow_path
    assert "vmap" in child.slow_reason and "line 6" in child.slow_reason


STATEFUL = """
import {library}

SEEN = [0.0]

def feature_point(x, parameters):
    SEEN[0] = SEEN[0] + 1.0
    parameters["seen"] = parameters.get("seen", 0) + 1
    parameters["list"].append(SEEN[0])
    total = SEEN[0] + parameters["seen"] + len(parameters["list"])
    {peek}
    return [x[0], total]
"""


@pytest.mark.parametrize(
    ("library", "peek"),
    [("numpy", "pass"), ("torch", "pass"), ("torch", "float(x[0])")],
    ids=["numpy", "torch", "slow torch"],
)
def test_state_meets_no_other_request_and_no_other_point(library: str, peek: str, load: Load) -> None:
    child = load(STATEFUL.format(library=library, peek=peek))
    points = np.array([[0.5], [1.5], [2.5]])
    for _ in range(3):
        (values,) = child.evaluate(points, {"list": []})
        np.testing.assert_array_equal(values, [[0.5, 3.0], [1.5, 3.0], [2.5, 3.0]])


BROKEN: list[tuple[str, Calling, str, str]] = [
    ("import torch\ndef feature_point(x, parameters):\n    return x[:, None]\n", "point", "failed", "wrong shape"),
    ("import numpy\ndef feature_point(x, parameters):\n    return x[:, None]\n", "point", "failed", "wrong shape"),
    ("import torch\ndef feature_point(x, parameters):\n    return x[:0]\n", "point", "failed", "wrong shape"),
    (
        "def feature_point(x, parameters):\n    return [1.0] * (1 + int(x[0] > 0.55))\n",
        "point",
        "failed",
        "got 2 at point 1",
    ),
    (
        "import torch\ndef feature_point(x, parameters):\n    return [1.0] * (1 + int(x[0] > 0.55))\n",
        "point",
        "failed",
        "got 2 at point 1",
    ),
    ("def feature_point(x, parameters):\n    return 'text'\n", "point", "failed", "got str"),
    ("def feature_point(x, parameters):\n    return None\n", "point", "failed", "got NoneType"),
    ("def feature_point(x, parameters):\n    return [1.0, [2.0]]\n", "point", "failed", "array of numbers"),
    ("def feature_point(x, parameters):\n    return x * 1j\n", "point", "failed", "real numbers"),
    ("import torch\ndef feature_point(x, parameters):\n    return x * 1j\n", "point", "failed", "real numbers"),
    ("import torch\ndef feature_point(x, parameters):\n    return {'a': x}\n", "point", "failed", "got dict"),
    (
        "import numpy as np\ndef feature_point(x, parameters):\n    return np.where(x > 0.55, np.nan, x)\n",
        "point",
        "failed",
        "at point 1 is nan",
    ),
    (
        "import torch\ndef feature_point(x, parameters):\n    return 1 / torch.where(x > 0.75, 0.0, x)\n",
        "point",
        "failed",
        "at point 2 is inf",
    ),
    ("def feature_point(x, parameters):\n    return parameters['absent']\n", "point", "failed", "KeyError"),
    ("def feature_point(x, parameters):\n\n    raise ValueError('no such thing')\n", "point", "failed", "line 3"),
    ("def feature_point(x):\n    return x\n", "point", "failed", "TypeError"),
    (
        "def feature_point(x, parameters):\n    return feature_point(x, parameters)\n",
        "point",
        "failed",
        "RecursionError",
    ),
    ("def feature_point(x, parameters):\n    return feature_poin(x)\n", "point", "failed", "NameError"),
    ("import torch\ndef feature_point(x, parameters):\n    return torch.rand(2)\n", "point", "failed", "random"),
    (
        "import torch\ndef feature_point(x, parameters):\n    return torch.zeros(2**33)\n",
        "point",
        "failed",
        "memory limit",
    ),
    (
        "import numpy as np\ndef feature_point(x, parameters):\n    return np.zeros(2**32)\n",
        "point",
        "failed",
        "memory limit",
    ),
    ("def feature_point(x, parameters):\n    return len(bytes(1 << 33))\n", "point", "failed", "NameError"),
    ("import torch\ndef feature_point(x, parameters):\n    return len(str(x))\n", "point", "value", ""),
    (
        "def spectral_components(input_dimension, parameters):\n    return [1.0]\n",
        "dimension",
        "failed",
        "expected a pair",
    ),
    (
        "def spectral_components(input_dimension, parameters):\n    return [1.0], [1.0]\n",
        "dimension",
        "failed",
        "wrong shape",
    ),
    (
        "def spectral_components(input_dimension, parameters):\n    return [[1.0, 2.0]], [1.0, 2.0]\n",
        "dimension",
        "failed",
        "1 frequencies, 2 weights",
    ),
    (
        "def spectral_components(input_dimension, parameters):\n    return [[1.0, 2.0, 3.0]], [1.0]\n",
        "dimension",
        "failed",
        "Wrong shape",
    ),
    ("def kernel_matrix(x, parameters):\n    return x\n", "matrix", "failed", "Wrong shape"),
]


@pytest.mark.parametrize(("source", "calling", "state", "reason"), BROKEN)
def test_a_broken_program_is_a_state_with_a_reason(
    source: str, calling: Calling, state: str, reason: str, load: Load
) -> None:
    child = load(source, calling)
    points = None if calling == "dimension" else np.array([[0.5, 0.1], [0.6, 0.2], [0.8, 0.3]])
    dimension = 2 if calling == "dimension" else None
    if state == "value":
        child.evaluate(points, {}, input_dimension=dimension)
        return
    for _ in range(2):
        with pytest.raises(SandboxFailure) as failure:
            child.evaluate(points, {}, input_dimension=dimension)
        assert failure.value.state == state
        assert reason in str(failure.value)


LOADING: list[tuple[str, str, str]] = [
    ("def feature_point(x, parameters:\n", "failed", "SyntaxError"),
    ("def other(x, parameters):\n    return x\n", "failed", "no function 'feature_point'"),
    ("feature_point = 3\n", "failed", "no function 'feature_point'"),
    ("1 / 0\n", "failed", "ZeroDivisionError"),
    ("import os\n", "refused", "import of 'os'"),
    ("from ..other import x\n", "refused", "import"),
    ("import torch\n", "refused", "import of 'torch'"),
    ("x = '\ud800'\n", "failed", "does not compile"),
    ("(" * 500 + ")" * 500, "failed", "does not compile"),
    ("x = " + "-" * 50_000 + "1", "failed", "does not compile"),
    ("raise SystemExit(3)\n", "failed", "NameError"),
    ("exit()\n", "failed", "NameError"),
    ("class Feature:\n    pass\n", "failed", "NameError"),
]


@pytest.mark.parametrize(("source", "state", "reason"), LOADING)
def test_a_source_that_does_not_load_is_a_state_with_a_reason(
    source: str, state: str, reason: str, pool: SandboxPool
) -> None:
    with pytest.raises(SandboxFailure) as failure:
        pool.child(program(source, backend="numpy"))
    assert failure.value.state == state
    assert reason in str(failure.value)


def test_random_draws_are_noticed_without_vmap(load: Load) -> None:
    sources = {
        "import numpy as np\ndef feature_point(x, parameters):\n    return np.random.normal(size=2)\n": "point",
        "import torch\ndef spectral_components(input_dimension, parameters):\n    return torch.rand(3, 2), torch.ones(3)\n": "dimension",
    }
    for source, calling in sources.items():
        child = load(source, calling)
        points, dimension = (np.zeros((2, 1)), None) if calling == "point" else (None, 2)
        with pytest.raises(SandboxFailure, match="random"):
            child.evaluate(points, {}, input_dimension=dimension)


def test_text_shows_no_other_point(load: Load) -> None:
    source = "import torch\ndef feature_point(x, parameters):\n    return len(f'{x}') + 0.0 * x[0]\n"
    child = load(source)
    lone = child.evaluate(np.array([[0.25]]), {})[0]
    both = child.evaluate(np.array([[0.25], [123456.789]]), {})[0]
    assert both[0] == lone[0]
    assert child.slow_path


def test_a_long_source_loads(load: Load) -> None:
    child = load("# " + "\U0001d70b" * 95_000 + "\ndef feature_point(x, parameters):\n    return [1.0]\n")
    np.testing.assert_array_equal(child.evaluate(np.zeros((1, 1)), {"a": "x" * 1_000_000})[0], [[1.0]])


def test_a_failed_request_does_not_end_the_child(load: Load) -> None:
    child = load("def feature_point(x, parameters):\n    return [1 / parameters['a']]\n")
    with pytest.raises(SandboxFailure, match="ZeroDivisionError"):
        child.evaluate(np.zeros((1, 1)), {"a": 0.0})
    np.testing.assert_array_equal(child.evaluate(np.zeros((1, 1)), {"a": 4.0})[0], [[0.25]])


def test_a_closed_child_says_so_twice(load: Load) -> None:
    child = load("def feature_point(x, parameters):\n    return [1.0]\n")
    child.close()
    child.close()
    for _ in range(2):
        with pytest.raises(SandboxFailure, match="closed") as failure:
            child.evaluate(np.zeros((1, 1)), {})
        assert failure.value.state == "crashed"
        assert pickle.loads(pickle.dumps(failure.value)).state == "crashed"


def test_points_and_parameters_of_the_wrong_kind_are_the_callers_error(load: Load) -> None:
    child = load("def feature_point(x, parameters):\n    return [1.0]\n")
    with pytest.raises(InputError, match="2 dimensions"):
        child.evaluate(np.zeros(3), {})
    with pytest.raises(InputError, match="points"):
        child.evaluate(None, {})
    with pytest.raises(InputError, match="finite JSON"):
        child.evaluate(np.zeros((1, 1)), {"a": math.nan})
    with pytest.raises(InputError, match="finite JSON"):
        child.evaluate(np.zeros((1, 1)), {"a": object()})
    with pytest.raises(InputError, match="at most"):
        child.evaluate(np.zeros((1, 1)), {"a": "x" * 5_000_000})
    with pytest.raises(InputError, match=r"Child\.tree|tree program"):
        child.tree({})
    spectral = load("def spectral_components(input_dimension, parameters):\n    return [[1.0]], [1.0]\n", "dimension")
    with pytest.raises(InputError, match="input_dimension"):
        spectral.evaluate(None, {})
    with pytest.raises(InputError, match="no points"):
        spectral.evaluate(np.zeros((1, 1)), {}, input_dimension=1)


def test_protections_are_stated(load: Load) -> None:
    child = load("def feature_point(x, parameters):\n    return [1.0]\n")
    assert json.loads(json.dumps(child.protections)) == child.protections
    assert {"seccomp", "landlock", "rlimits", "not_enforced"} <= set(child.protections)
    assert child.protections["threads"] == 1
    assert child.protections["limits"]["memory_mib"] == 512


def test_several_threads_may_ask_one_child(load: Load) -> None:
    child = load("import numpy as np\ndef feature_point(x, parameters):\n    return x * parameters['a']\n")
    wrong: list[float] = []

    def ask(factor: float) -> None:
        for size in range(1, 40):
            (values,) = child.evaluate(np.ones((size, 2)), {"a": factor})
            if values.shape != (size, 2) or not (values == factor).all():
                wrong.append(factor)

    threads = [threading.Thread(target=ask, args=(float(index),)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_interrupted_request_leaves_no_stale_answer(load: Load) -> None:
    child = load(
        "def feature_point(x, parameters):\n    n = 0\n    for i in range(int(parameters['n'])):\n        n += i\n    return [n]\n"
    )

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            child.evaluate(np.zeros((1, 1)), {"n": 10**9})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    with pytest.raises(SandboxFailure, match="interrupted"):
        child.evaluate(np.zeros((1, 1)), {"n": 1})


def test_a_forked_copy_of_a_child_is_not_used(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    child = load("def feature_point(x, parameters):\n    return [1.0]\n")
    pid = os.getpid()
    monkeypatch.setattr("kernaut.sandbox.child.os.getpid", lambda: pid + 1)
    with pytest.raises(SandboxFailure, match="another process"):
        child.evaluate(np.zeros((1, 1)), {})


@pytest.fixture(scope="module")
def affine(pool: SandboxPool) -> Child:
    source = "import torch\ndef feature_point(x, parameters):\n    return torch.cat([x * parameters['a'], x[:1] + parameters['n']])\n"
    return pool.child(program(source))


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=1, max_size=6),
    st.floats(-1e3, 1e3),
    st.integers(-5, 5),
)
def test_numbers_pass_unchanged(affine: Child, rows: list[list[float]], factor: float, count: int) -> None:
    points = np.array(rows)
    (values,) = affine.evaluate(points, {"a": factor, "n": count})
    np.testing.assert_array_equal(values, np.concatenate([points * factor, points[:, :1] + count], axis=1))


JSON_ANSWER = """
import ast
import collections

count = collections.Counter()

def answer(request):
    count["asked"] += 1
    exec(request.get("run", ""), {})
    return {"asked": count["asked"], "sum": sum(request["numbers"]), "nodes": len(list(ast.walk(ast.parse("x + 1"))))}
"""


def test_a_json_program_answers_json_and_keeps_nothing(load: Load) -> None:
    child = load(JSON_ANSWER, "json", "python")
    for _ in range(2):
        assert child.ask({"numbers": [1, 2.5]}) == {"asked": 1, "sum": 3.5, "nodes": 7}


@pytest.mark.parametrize(
    ("run", "state"),
    [
        ("raise ValueError('x')", "failed"),
        ("raise SystemExit", "failed"),
        ("open('/etc/passwd')", "failed"),
        ("import os", "refused"),
        ("import ast; ast.sys.modules['os'].fork()", "refused"),
        ("import ast; ast.sys.modules['os'].system('true')", "refused"),
        ("import ast; ast.sys.modules['io'].open('/etc/passwd')", "refused"),
    ],
)
def test_what_a_json_program_runs_is_confined(load: Load, run: str, state: str) -> None:
    child = load(JSON_ANSWER, "json", "python")
    with pytest.raises(SandboxFailure) as caught:
        child.ask({"numbers": [], "run": run})
    assert caught.value.state == state


def test_answers_that_are_no_json_and_requests_that_are_none(load: Load) -> None:
    for source in ("def answer(r):\n    return {1, 2}", "def answer(r):\n    return float('nan')"):
        with pytest.raises(SandboxFailure) as caught:
            load(source, "json", "python").ask(1)
        assert caught.value.state == "failed"
    with pytest.raises(SandboxFailure, match="output limit"):
        load("def answer(r):\n    return 'x' * (5 << 20)", "json", "python").ask(1)
    with pytest.raises(InputError, match="finite JSON"):
        load(JSON_ANSWER, "json", "python").ask(float("nan"))
    with pytest.raises(InputError, match="called by json"):
        load(TORCH_POINT).ask(1)
    with pytest.raises(InputError, match="called by json"):
        load(JSON_ANSWER, "json", "python").evaluate(None, {})
