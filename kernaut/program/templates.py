"""A small program for each contract, to start writing from; each says in its first line what kernel it makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernaut.program.contracts import CONTRACTS, contract_named
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram

_SOURCES: Mapping[str, str] = {
    "feature_map": '''"""Waves of every coordinate: functions that are sums of a trend and a wave."""

import torch


def feature_point(x, parameters):
    angle = 6.283185307179586 * parameters["frequency"] * x
    one = torch.ones_like(x[:1])
    return torch.cat([one, x, torch.sin(angle), torch.cos(angle)])
''',
    "additive_feature_map": '''"""Each coordinate contributes a function of its own: a parabola and a wave."""

import torch


def coordinate_feature(value, parameters):
    angle = 6.283185307179586 * parameters["frequency"] * value
    return torch.stack([value, (value - 0.5) ** 2, torch.sin(angle), torch.cos(angle)])
''',
    "spectral": '''"""A main frequency and its double along every coordinate."""

import torch


def spectral_components(input_dimension, parameters):
    turns = 6.283185307179586 * parameters["frequency"]
    axes = torch.eye(input_dimension)
    frequencies = torch.cat([0.0 * axes, turns * axes, 2.0 * turns * axes])
    weights = torch.cat([torch.ones(2 * input_dimension), 0.5 * torch.ones(input_dimension)])
    return frequencies, weights
''',
    "input_transform": '''"""A smooth base kernel that sees every coordinate through a bend."""

import torch


def transform_point(x, parameters):
    bend = parameters["bend"]
    return torch.expm1(-bend * x) / torch.expm1(-bend)
''',
    "residual_feature_map": '''"""A smooth base kernel, and a bowl around the centre on top."""

import torch


def feature_point(x, parameters):
    bowl = torch.sum((x - parameters["centre"]) ** 2)
    return torch.stack([bowl, torch.ones_like(bowl)])
''',
    "residual_input_transform": '''"""A smooth base kernel, and a second one that sees only the mean of all coordinates."""

import torch


def transform_point(x, parameters):
    return parameters["stretch"] * torch.mean(x).reshape(1)
''',
    "closure": '''"""A smooth kernel times a periodic one, plus a trend."""


def closure_tree(parameters):
    smooth = {"op": "base", "kind": "rbf", "lengthscale": 1.0}
    repeated = {"op": "base", "kind": "periodic", "lengthscale": 1.0, "period": parameters["period"]}
    trend = {"op": "base", "kind": "linear"}
    return {"op": "sum", "children": [{"op": "product", "children": [smooth, repeated]}, trend]}
''',
    "state_space": '''"""A weight on a damped spring that is pushed at random, along every coordinate: waves that lose their phase."""

import torch


def state_space_matrices(parameters):
    pull = (6.283185307179586 * parameters["frequency"]) ** 2
    friction = 0.4 * torch.sqrt(pull)
    zero, one = torch.zeros_like(pull), torch.ones_like(pull)
    feedback = torch.stack([torch.stack([zero, one]), torch.stack([-pull, -friction])])
    push = torch.stack([zero, torch.sqrt(2.0 * friction * pull)])
    return feedback, push, [1.0, 0.0]
''',
    "coregionalized": '''"""Three tasks that share one smooth function: the second follows the first, the third goes against it and has more of its own."""

import torch


def coregionalization(parameters):
    alike = parameters["alike"]
    smooth = {"op": "base", "kind": "matern52", "lengthscale": 0.4}
    factor = [[1.0, 0.0], [alike, torch.sqrt(1.0 - alike**2)], [-0.5 * alike, 0.0]]
    return {"factor": factor, "diagonal": [0.0, 0.0, 0.3], "kernel": smooth}
''',
    "unverified": '''"""A whole matrix: may be looked at, and is never accepted, since nothing shows that it is a covariance everywhere."""

import torch


def kernel_matrix(x, parameters):
    squares = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
    return torch.exp(-0.5 * squares / parameters["scale"] ** 2)
''',
}
_PARAMETERS: Mapping[str, tuple[ParameterSpec, float]] = {
    "feature_map": (ParameterSpec("frequency", scale="log", lower=0.25, upper=4.0), 1.0),
    "additive_feature_map": (ParameterSpec("frequency", scale="log", lower=0.25, upper=4.0), 1.5),
    "spectral": (ParameterSpec("frequency", scale="log", lower=0.25, upper=4.0), 1.0),
    "input_transform": (ParameterSpec("bend", scale="log", lower=0.1, upper=6.0), 2.0),
    "residual_feature_map": (ParameterSpec("centre", lower=0.0, upper=1.0), 0.5),
    "residual_input_transform": (ParameterSpec("stretch", scale="log", lower=0.25, upper=8.0), 2.0),
    "closure": (ParameterSpec("period", scale="log", lower=0.1, upper=2.0), 0.5),
    "state_space": (ParameterSpec("frequency", scale="log", lower=0.25, upper=4.0), 1.0),
    "coregionalized": (ParameterSpec("alike", lower=0.0, upper=1.0), 0.8),
    "unverified": (ParameterSpec("scale", scale="log", lower=0.05, upper=2.0), 0.3),
}


def template(contract: str) -> KernelProgram:
    """The template of a contract, with one tunable parameter.

    Raises:
        ProgramRefused: for an unknown contract.
    """
    name = contract_named(contract).name
    spec, value = _PARAMETERS[name]
    values: dict[str, Any] = {spec.name: value}
    if CONTRACTS[name].residual:
        values["residual_weight"] = 1.0
    return KernelProgram(f"my_{name}", name, _SOURCES[name], values, space=(spec,))
