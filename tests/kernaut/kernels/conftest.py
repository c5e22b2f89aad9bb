"""Example programs, one or more of every contract, with unequal values everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

WARP = """
import torch

def transform_point(x, parameters):
    rate = parameters["rate"]
    warp = (1 - torch.exp(-rate * x)) / (1 - torch.exp(-rate))
    return torch.cat([warp, parameters["height"] * torch.sin(parameters["pitch"] * x)])
"""

FEATURES = """
import torch

def feature_point(x, parameters):
    total = x.sum()
    return torch.stack([1 + 0 * total, parameters["slope"] * total, torch.cos(parameters["pitch"] * total), x[0] ** 2])
"""

COORDINATE = """
import torch

def coordinate_feature(value, parameters):
    return torch.stack([torch.sin(parameters["pitch"] * value), parameters["slope"] * value, torch.exp(-value * value)])
"""

SPECTRAL = """
import torch

def spectral_components(input_dimension, parameters):
    rows = torch.arange(1, 4, dtype=torch.float64)[:, None]
    columns = torch.arange(1, input_dimension + 1, dtype=torch.float64)[None, :]
    frequencies = parameters["pitch"] * rows / columns
    return frequencies, parameters["slope"] + rows[:, 0]
"""

TREE = """
import torch

def closure_tree(parameters):
    smooth = {"op": "base", "kind": "rbf", "lengthscale": parameters["length"], "variance": 0.7}
    wave = {"op": "base", "kind": "periodic", "period": 1.3, "lengthscale": 0.8 * parameters["length"]}
    rough = {"op": "base", "kind": "rq", "alpha": parameters["alpha"], "lengthscale": 1.7}
    product = {"op": "product", "children": [rough, wave]}
    return {"op": "sum", "children": [{"op": "scale", "weight": parameters["weight"] ** 2, "child": smooth}, product]}
"""

MATRIX = """
import torch

def kernel_matrix(x, parameters):
    return parameters["slope"] * torch.exp(-(x[:, None, :] - x[None, :, :]).abs().sum(-1))
"""

NUMPY_FEATURES = """
import math
import numpy as np

def feature_point(x, parameters):
    total = float(np.sum(x))
    return [1.0, parameters["slope"] * total, math.cos(parameters["pitch"] * total), x[0] ** 2]
"""

NUMPY_TREE = """
def closure_tree(parameters):
    left = {"op": "base", "kind": "linear", "variance": parameters["weight"]}
    return {"op": "sum", "children": [left, {"op": "base", "kind": "matern12", "lengthscale": 0.4}]}
"""

SYSTEM = """
import torch

def state_space_matrices(parameters):
    rate, pitch, zero = parameters["rate"], parameters["pitch"], torch.zeros(())
    feedback = [[-0.4 * rate, 0.7, zero], [-pitch, -rate, 0.2], [zero, 0.9, -1.3]]
    noise = torch.stack([torch.stack([0.3 * pitch, zero]), torch.stack([rate, pitch]), torch.stack([zero, rate**2])])
    return feedback, noise, [0.9, 0.4, parameters["sight"]]
"""

NUMPY_SYSTEM = """
import numpy as np

def state_space_matrices(parameters):
    rate = parameters["rate"]
    return np.array([[0.0, 1.0], [-rate**2, -2.0 * rate]]), [0.0, 2.0 * rate**1.5], np.array([[1.0, 0.0]])
"""

TASKS = '''
import torch

WAVES = """
import torch
def feature_point(x, parameters):
    angle = parameters["pitch"] * x.sum()
    return torch.stack([torch.sin(angle), torch.cos(angle)])
"""

def coregionalization(parameters):
    waves = {"name": "waves", "contract": "feature_map", "source": WAVES, "parameters": {"pitch": parameters["pitch"]}}
    smooth = {"op": "base", "kind": "rq", "alpha": 1.6, "lengthscale": parameters["length"]}
    kernel = {"op": "sum", "children": [{"op": "program", "candidate": waves}, smooth]}
    factor = [[1.2, 0.0], [parameters["alike"], 0.7], [-0.4, parameters["alike"] ** 2]]
    return {"factor": factor, "diagonal": [0.3, 0.0, parameters["length"]], "kernel": kernel}
'''

NUMPY_TASKS = """
def coregionalization(parameters):
    return {"factor": [1.1, -parameters["alike"]], "kernel": {"op": "base", "kind": "linear", "variance": 0.6}}
"""

PARAMETERS = {"slope": 0.6, "pitch": 1.9}
WARPING = {"rate": 0.8, "height": 0.45, "pitch": 1.7}

PROGRAMS = {
    "feature_map": KernelProgram("features", "feature_map", FEATURES, PARAMETERS),
    "numpy_feature_map": KernelProgram("features", "feature_map", NUMPY_FEATURES, PARAMETERS),
    "additive_feature_map": KernelProgram("coordinates", "additive_feature_map", COORDINATE, PARAMETERS),
    "spectral": KernelProgram("waves", "spectral", SPECTRAL, PARAMETERS),
    "input_transform": KernelProgram(
        "warp", "input_transform", WARP, WARPING | {"base_kernel": {"kind": "matern32", "lengthscale": 0.7}}
    ),
    "residual_feature_map": KernelProgram(
        "added",
        "residual_feature_map",
        FEATURES,
        PARAMETERS | {"residual_weight": 0.3, "base_kernel": {"kind": "matern12", "variance": 1.4}},
    ),
    "residual_input_transform": KernelProgram(
        "added_warp",
        "residual_input_transform",
        WARP,
        WARPING
        | {
            "residual_weight": 0.9,
            "base_kernel": {"kind": "rq", "alpha": 0.6, "lengthscale": 1.2},
            "residual_base_kernel": {"kind": "rbf", "lengthscale": 0.3},
        },
    ),
    "closure": KernelProgram("tree", "closure", TREE, {"length": 0.9, "alpha": 1.6, "weight": 0.75}),
    "numpy_closure": KernelProgram("plain_tree", "closure", NUMPY_TREE, {"weight": 0.75}),
    "state_space": KernelProgram("swing", "state_space", SYSTEM, {"rate": 0.8, "pitch": 2.3, "sight": -0.5}),
    "numpy_state_space": KernelProgram("rough", "state_space", NUMPY_SYSTEM, {"rate": 1.7, "coordinate": 0}),
    "coregionalized": KernelProgram("tasks", "coregionalized", TASKS, {"alike": 0.6, "pitch": 1.9, "length": 0.8}),
    "numpy_coregionalized": KernelProgram(
        "two_tasks", "coregionalized", NUMPY_TASKS, {"alike": 0.6, "task_column": 0, "task_values": [0.25, 0.75]}
    ),
    "unverified": KernelProgram("own_matrix", "unverified", MATRIX, {"slope": 1.3}),
}


@pytest.fixture(scope="session")
def all_programs() -> dict[str, KernelProgram]:
    """The example programs by name."""
    return PROGRAMS


@pytest.fixture
def program() -> Callable[[str], KernelProgram]:
    """An example program by name."""
    return PROGRAMS.__getitem__


@pytest.fixture(scope="session")
def pool() -> Iterator[SandboxPool]:
    """One pool for all tests of this folder."""
    with SandboxPool() as started:
        yield started
