from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import kernaut.verification.verify as module
from kernaut.errors import InputError, SandboxFailure
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.child import Child
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.pool import SandboxPool
from kernaut.verification.evidence import Evidence
from kernaut.verification.relations import probe, with_task_columns
from kernaut.verification.verify import verify

FEATURES = """
import torch

def feature_point(x, parameters):
    return torch.cat([torch.sin(parameters["rate"] * x), torch.ones_like(x[:1])])
"""
WARP = """
import torch

def transform_point(x, parameters):
    return torch.log1p(parameters["rate"] * x.abs())
"""
ACCEPTED = {
    "feature_map": FEATURES,
    "residual_feature_map": FEATURES,
    "input_transform": WARP,
    "residual_input_transform": WARP,
    "additive_feature_map": """
import torch

def coordinate_feature(value, parameters):
    return torch.stack([torch.cos(parameters["rate"] * value), torch.sin(parameters["rate"] * value)])
""",
    "spectral": """
import torch

def spectral_components(input_dimension, parameters):
    frequencies = parameters["rate"] * torch.eye(input_dimension, dtype=torch.float64)
    return frequencies, torch.ones(input_dimension, dtype=torch.float64)
""",
    "closure": """
import torch

def closure_tree(parameters):
    leaf = {"op": "base", "kind": "rbf", "lengthscale": parameters["rate"]}
    return {"op": "sum", "children": [leaf, {"op": "scale", "weight": 0.25, "child": {"op": "base", "kind": "linear"}}]}
""",
    "state_space": """
import torch

def state_space_matrices(parameters):
    return [[-parameters["rate"], 0.4], [0.0, -0.3]], [[0.2, 0.0], [parameters["rate"], 1.0]], [1.0, -0.5]
""",
    "coregionalized": """
import torch

def coregionalization(parameters):
    kernel = {"op": "base", "kind": "rq", "lengthscale": parameters["rate"]}
    return {"factor": [[1.0], [-0.5], [0.2], [0.0]], "diagonal": [0.0, 0.3, 0.1, 0.7], "kernel": kernel}
""",
}
NUMPY = {
    "feature_map": """
import numpy as np

def feature_point(x, parameters):
    return np.concatenate([np.sin(parameters["rate"] * x), [1.0]])
""",
    "spectral": """
import numpy as np

def spectral_components(input_dimension, parameters):
    return parameters["rate"] * np.eye(input_dimension), np.ones(input_dimension)
""",
    "state_space": """
import numpy as np

def state_space_matrices(parameters):
    return -parameters["rate"] * np.eye(2) + np.eye(2, k=1), np.ones(2), np.array([[1.0, 0.0]])
""",
    "coregionalized": """
def coregionalization(parameters):
    return {"factor": [1.0, parameters["rate"]], "kernel": {"op": "base", "kind": "linear"}}
""",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[SandboxPool]:
    with SandboxPool(Limits(request_seconds=1.0)) as made:
        yield made


def program(contract: str, source: str, **parameters: Any) -> KernelProgram:
    return KernelProgram("candidate", contract, source, {"rate": 1.7, **parameters})


def check(pool: SandboxPool, contract: str, source: str, *dimensions: int, **parameters: Any) -> Evidence:
    return verify(program(contract, source, **parameters), dimensions or (2, 5), 11, pool=pool)


@pytest.mark.parametrize("contract", list(ACCEPTED))
def test_sound_programs_of_every_contract_are_certified(pool: SandboxPool, contract: str) -> None:
    evidence = check(pool, contract, ACCEPTED[contract])
    assert (evidence.tier, evidence.accepted, evidence.reason) == ("T2", True, None)
    assert [c.name for c in evidence.checks] == [
        "source",
        "executable",
        "symmetry",
        "positive_semidefinite",
        "contract",
        "determinism",
        "permutation",
        "subset",
        "extension",
        "duplicate",
    ]
    assert evidence.checks[1].metrics["dimensions"] == (2, 5)
    assert evidence.protections["not_enforced"] is not None
    assert evidence == check(pool, contract, ACCEPTED[contract])


@pytest.mark.parametrize("contract", list(NUMPY))
def test_numpy_programs_are_certified(pool: SandboxPool, contract: str) -> None:
    assert check(pool, contract, NUMPY[contract], 3).tier == "T2"


UNVERIFIED = """
import numpy as np

def kernel_matrix(x, parameters):
    return {}
"""


@pytest.mark.parametrize(
    ("matrix", "tier", "failed"),
    [
        ("x @ x.T", "T1", "contract"),
        ("x @ x.T + np.triu(np.ones((len(x), len(x))), 1) * 1e-6", "T0", "symmetry"),
        ("x @ x.T - 0.5 * np.eye(len(x))", "T0", "positive_semidefinite"),
        ("x @ x[:-1].T", "none", "executable"),
        ("np.full((len(x), len(x)), np.inf)", "none", "executable"),
    ],
)
def test_unverified_programs_are_never_accepted(pool: SandboxPool, matrix: str, tier: str, failed: str) -> None:
    evidence = check(pool, "unverified", UNVERIFIED.format(matrix))
    assert (evidence.tier, evidence.accepted) == (tier, False)
    assert (evidence.reason or "").startswith(failed + ":")
    assert evidence.checks[-1].name == failed
    assert sum(not c.passed for c in evidence.checks) == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os\n\ndef feature_point(x, parameters):\n    return x\n", "os"),
        ("import torch\n\ndef another(x, parameters):\n    return x\n", "feature_point"),
    ],
)
def test_refused_sources_reach_no_tier(pool: SandboxPool, source: str, words: str) -> None:
    evidence = check(pool, "feature_map", source)
    assert (evidence.tier, len(evidence.checks)) == ("none", 1)
    assert (evidence.reason or "").startswith("source:")
    assert words in (evidence.reason or "")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import torch\n\ndef feature_point(x, parameters):\n    return x[4:5] / x[4]\n", "In dimension 2"),
        ("import torch\n\ndef feature_point(x, parameters):\n    return torch.log(x)\n", "failed"),
        ("import torch\n\ndef feature_point(x, parameters):\n    while True:\n        x = x + 1\n", "timed out"),
        ("import torch\n\ndef feature_point(x, parameters):\n    return parameters['missing'] * x\n", "missing"),
    ],
)
def test_programs_that_do_not_run_reach_no_tier(pool: SandboxPool, source: str, words: str) -> None:
    evidence = check(pool, "feature_map", source, 2, 6)
    assert (evidence.tier, evidence.checks[-1].name) == ("none", "executable")
    assert words in (evidence.reason or "")


def test_every_declared_dimension_is_tried(pool: SandboxPool) -> None:
    source = "import torch\n\ndef feature_point(x, parameters):\n    return x[:4] * x[3]\n"
    assert check(pool, "feature_map", source, 4, 5).tier == "T2"
    evidence = check(pool, "feature_map", source, 5, 4, 3)
    assert evidence.tier == "none"
    assert "In dimension 3" in (evidence.reason or "")


def test_a_tree_that_breaks_a_rule_is_refused(pool: SandboxPool) -> None:
    source = 'import torch\n\ndef closure_tree(parameters):\n    return {"op": "base", "kind": "magic"}\n'
    evidence = check(pool, "closure", source)
    assert (evidence.tier, evidence.checks[0].passed) == ("none", False)
    assert "kind" in (evidence.reason or "")


@pytest.mark.parametrize(
    ("rate", "noise", "words"),
    [
        (-0.1, 1.0, "stable F"),
        (0.0, 1.0, "stable F"),
        (1.0, 0.0, "L that does not vanish"),
    ],
)
def test_a_system_without_a_covariance_reaches_no_tier(
    pool: SandboxPool, rate: float, noise: float, words: str
) -> None:
    source = "def state_space_matrices(parameters):\n    return [[-parameters['rate']]], [parameters['noise']], [1.0]\n"
    evidence = check(pool, "state_space", source, rate=rate, noise=noise)
    assert (evidence.tier, evidence.checks[-1].name) == ("none", "executable")
    assert words in (evidence.reason or "")


def test_points_of_a_verification_name_every_task_and_change_nothing_else(pool: SandboxPool) -> None:
    source = ACCEPTED["coregionalized"]
    kernel = module.interpret(program("coregionalized", source, task_column=1, task_values=[0, 10, 20, 30]), pool=pool)
    plain = probe(3, 3)
    placed = with_task_columns(kernel, plain)
    named = placed.points[..., 1].flatten().tolist()
    assert all(10 < named.count(task) < 40 for task in (0.0, 10.0, 20.0, 30.0))
    assert len(named) == sum(map(named.count, (0.0, 10.0, 20.0, 30.0)))
    assert torch.equal(placed.points[..., [0, 2]], plain.points[..., [0, 2]])
    assert set(placed.extra[..., 1].flatten().tolist()) <= {0.0, 10.0, 20.0, 30.0}
    assert with_task_columns(leaf("rbf"), plain) is plain
    evidence = check(pool, "coregionalized", source, 2, 3, task_column=2)
    assert "In dimension 2" in (evidence.reason or "")
    kernel.close()


@pytest.mark.parametrize("contract", list(ACCEPTED))
def test_the_second_execution_is_a_new_one_in_the_same_child(
    pool: SandboxPool, contract: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    for name in ("evaluate", "tree"):
        original = getattr(Child, name)

        def counted(self: Child, *args: Any, _original: Any = original, **keywords: Any) -> Any:
            answer = _original(self, *args, **keywords)
            seen.append((self.pid, keywords.get("input_dimension") or 0))
            return answer

        monkeypatch.setattr(Child, name, counted)
    assert check(pool, contract, ACCEPTED[contract], 3).tier == "T2"
    assert len(seen) >= 2
    assert len({pid for pid, _ in seen}) == 1


def test_a_kernel_that_changes_its_mind_stops_at_t1(pool: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    original = module.interpret

    def fickle(*args: Any, **keywords: Any) -> Any:
        kernel = original(*args, **keywords)
        embed, calls = kernel.embed, []

        def changing(x: torch.Tensor) -> Any:
            calls.append(None)
            return tuple(part * (1.0 + 1e-6 * len(calls)) for part in embed(x))

        monkeypatch.setattr(kernel, "embed", changing)
        return kernel

    monkeypatch.setattr(module, "interpret", fickle)
    evidence = check(pool, "feature_map", FEATURES, 4)
    assert (evidence.tier, evidence.checks[-1].name) == ("T1", "determinism")
    assert evidence.checks[-1].metrics["max_error"] > 1.1e-7


@pytest.mark.parametrize("dimensions", [(), (0,), (-1, 2), (2.0,), (True,), ("2",)])
def test_declared_dimensions_are_checked(pool: SandboxPool, dimensions: Any) -> None:
    with pytest.raises(InputError, match="Expected input dimensions of 1 and more"):
        verify(program("feature_map", FEATURES), dimensions, 0, pool=pool)
    with pytest.raises(InputError, match=r"dimensions of at most 10000\. Got 99999999"):
        verify(program("feature_map", FEATURES), (2, 99_999_999), 0, pool=pool)


def test_children_are_ended(pool: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Child] = []
    original = pool.child

    def remembered(*args: Any) -> Child:
        made.append(original(*args))
        return made[-1]

    monkeypatch.setattr(pool, "child", remembered)
    check(pool, "feature_map", FEATURES)
    (child,) = made
    with pytest.raises(SandboxFailure):
        child.evaluate([[1.0, 2.0]], {"rate": 1.0})
