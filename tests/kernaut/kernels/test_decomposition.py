from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from kernaut.kernels.decomposition import summands
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import base_kernel
from kernaut.program.program import KernelProgram

SUM = '''
def closure_tree(parameters):
    """A smooth and a rough part, and a sum within a sum."""
    return {"op": "sum", "children": [
        {"op": "scale", "weight": parameters["weight"], "child": {"op": "base", "kind": "rbf", "lengthscale": 0.7}},
        {"op": "sum", "children": [{"op": "base", "kind": "linear", "variance": 0.4}, {"op": "base", "kind": "matern32", "lengthscale": 0.2}]},
    ]}
'''
WAVE = '''import torch


def feature_point(x, parameters):
    """Two waves."""
    return torch.cat((torch.sin(3.0 * x[:1]), torch.cos(2.0 * x[:1])))
'''
JOINED = '''import torch


def wave(x, weight):
    """A wave."""
    return weight * torch.sin(3.0 * x[:1])


def level_line(x, weight):
    """A level and a line."""
    return torch.cat((torch.ones_like(x[:1]), weight * x[:1]))


def feature_point(x, parameters):
    """Both."""
    return torch.cat((wave(x, parameters["up"]), level_line(x, parameters["along"])))
'''
INSIDE = f'''FEATURES = {JOINED!r}


def closure_tree(parameters):
    """Features in a scaled leaf, and a rough part."""
    features = {{"op": "program", "candidate": {{"name": "f", "contract": "feature_map", "source": FEATURES, "parameters": {{"up": parameters["up"], "along": 0.4}}}}}}
    return {{"op": "sum", "children": [{{"op": "scale", "weight": 1.9, "child": features}}, {{"op": "base", "kind": "matern32"}}]}}
'''
POINTS = torch.from_numpy(np.random.default_rng(3).uniform(size=(7, 2)))


def program(contract: str, source: str, **parameters: Any) -> KernelProgram:
    return KernelProgram(name="apart", contract=contract, source=source, parameters=parameters, rationale="Test.")


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (program("closure", SUM, weight=1.7), 3),
        (
            program("residual_feature_map", WAVE, residual_weight=0.6, base_kernel={"kind": "rbf", "lengthscale": 0.4}),
            2,
        ),
        (program("feature_map", WAVE), 1),
        (program("feature_map", JOINED, up=0.7, along=0.4), 2),
        (
            program(
                "residual_feature_map",
                JOINED,
                up=0.7,
                along=0.4,
                residual_weight=0.6,
                base_kernel={"kind": "rbf", "lengthscale": 0.4},
            ),
            3,
        ),
        (program("closure", INSIDE, up=0.7), 3),
    ],
    ids=["closure", "residual", "plain", "joined", "residual joined", "joined inside"],
)
def test_summands_add_up_to_the_kernel(made: KernelProgram, count: int) -> None:
    kernel = interpret(made)
    parts = summands(kernel)
    assert len(parts) == count
    assert len({part.name for part in parts}) == count
    cross, diagonal = torch.zeros((7, 7), dtype=torch.float64), torch.zeros(7, dtype=torch.float64)
    for part in parts:
        embedding = part.embed(POINTS)
        cross, diagonal = cross + part.cross(embedding, embedding), diagonal + part.diagonal(embedding)
        part.close()
    whole = kernel.embed(POINTS)
    torch.testing.assert_close(cross, kernel.cross(whole, whole))
    torch.testing.assert_close(diagonal, kernel.diagonal(whole))
    kernel.close()


def test_joined_features_are_named_after_their_functions() -> None:
    kernel = interpret(program("feature_map", JOINED, up=0.7, along=0.4))
    parts = summands(kernel)
    assert [part.name for part in parts] == ["wave", "level line"]
    embedding = parts[0].embed(POINTS)
    expected = 0.49 * torch.sin(3.0 * POINTS[:, :1]) @ torch.sin(3.0 * POINTS[:, :1]).mT
    torch.testing.assert_close(parts[0].cross(embedding, embedding), expected)
    for part in parts:
        part.close()
    kernel.close()


def test_a_library_kernel_is_its_own_only_summand() -> None:
    kernel = base_kernel({"kind": "matern52", "lengthscale": 0.3})
    (part,) = summands(kernel)
    embedding = kernel.embed(POINTS)
    torch.testing.assert_close(part.cross(part.embed(POINTS), part.embed(POINTS)), kernel.cross(embedding, embedding))
