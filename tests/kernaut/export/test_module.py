from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.export.module import class_name, export_kernel
from kernaut.kernels.adapters import gram
from kernaut.program.program import KernelProgram, load_candidate

DWF = Path(__file__).resolve().parents[3] / "examples" / "candidates" / "dual_warp_fold.json"
WAVES = """import torch

def feature_point(x, parameters):
    '''Waves,
    over two lines.'''
    angle = parameters["rate"] * x.sum()
    return torch.stack([torch.sin(angle), torch.cos(angle), parameters["lift"] * x[0] * x[-1]])
"""
BEND = """import torch

def transform_point(x, parameters):
    return torch.cat([x ** 2, torch.tanh(parameters["slope"] * x)])
"""
BUMP = "import torch\n\ndef coordinate_feature(value, parameters):\n    return [torch.exp(-value * parameters['decay']), value ** 2]\n"
STEPS = "import torch\n\ndef transform_point(x, parameters):\n    if float(x[0]) > 0.5:\n        return x * parameters['slope']\n    return x\n"
PLAIN = (
    "import numpy as np\n\ndef feature_point(x, parameters):\n    return [parameters['a'] * float(np.sum(x)), 1.0]\n"
)
TONES = """import numpy as np

def spectral_components(input_dimension, parameters):
    frequencies = np.ones((3, input_dimension)) * np.arange(1, 4)[:, None] * parameters["rate"]
    return frequencies, [1.0, 0.5, parameters["last"]]
"""
TREE = """import torch

def closure_tree(parameters):
    wave = {"op": "program", "candidate": %s}
    ramp = {"op": "base", "kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 0.3, "max": 2.0}}
    return {"op": "sum", "children": [
        {"op": "product", "children": [wave, ramp]},
        {"op": "scale", "weight": parameters["weight"], "child":
            {"op": "pullback", "matrix": [[1.0], [-0.5], [0.25]], "child": {"op": "base", "kind": "rff", "features": 5, "seed": 3}}},
    ]}
"""
SPRING = """import torch

def state_space_matrices(parameters):
    pull = parameters["pull"]
    zero = torch.zeros_like(pull)
    feedback = torch.stack([torch.stack([zero, zero + 1.0]), torch.stack([-pull, -0.3 * torch.sqrt(pull)])])
    return feedback, [0.0, 2.5], [1.0, 0.05]
"""
SENSORS = """import torch

def coregionalization(parameters):
    swing = {"op": "program", "candidate": %s}
    kernel = {"op": "sum", "children": [swing, {"op": "base", "kind": "matern32", "lengthscale": 0.6}]}
    return {"factor": [[1.0, 0.2], [parameters["alike"], 0.4]], "diagonal": [0.0, 0.3], "kernel": kernel}
"""
SWING = {"name": "spring", "contract": "state_space", "source": SPRING, "parameters": {"pull": 90.0}, "parents": []}
INNER = {
    "name": "waves",
    "contract": "feature_map",
    "source": WAVES,
    "parameters": {"rate": 2.0, "lift": 0.3},
    "parents": [],
}
PROGRAMS = {
    "dwf": load_candidate(DWF),
    "waves": KernelProgram("waves", "feature_map", WAVES, {"rate": 3.0, "lift": 0.7}),
    "residual": KernelProgram(
        "residual",
        "residual_feature_map",
        WAVES,
        {"rate": 3.0, "lift": 0.7, "residual_weight": 0.4, "base_kernel": {"kind": "rq", "alpha": 2.0}},
    ),
    "bend": KernelProgram(
        "bend",
        "residual_input_transform",
        BEND,
        {
            "slope": 1.5,
            "residual_weight": 0.6,
            "base_kernel": {"kind": "matern32", "lengthscale": 0.8},
            "residual_base_kernel": {"kind": "periodic", "period": 0.7},
        },
    ),
    "bump": KernelProgram("bump", "additive_feature_map", BUMP, {"decay": 1.2}),
    "steps": KernelProgram("steps", "input_transform", STEPS, {"slope": 1.7}),
    "tones": KernelProgram("tones", "spectral", TONES, {"rate": 1.3, "last": 0.2}),
    "spring": KernelProgram("spring", "state_space", SPRING, {"pull": 90.0}),
    "line": KernelProgram("line", "state_space", SPRING, {"pull": 2e4, "coordinate": -2}),
    "sensors": KernelProgram(
        "sensors",
        "coregionalized",
        SENSORS % json.dumps(SWING),
        {"alike": 0.7, "task_column": 1, "task_values": [0.25, 1.0]},
    ),
    "tree": KernelProgram("tree", "closure", TREE % json.dumps(INNER), {"weight": 0.35}),
}
NUMPY = KernelProgram("plain", "feature_map", PLAIN, {"a": 0.7})

CHECK = """
import importlib, json, sys, warnings
sys.modules["kernaut"] = None
sys.path.insert(0, sys.argv[1])
import numpy as np
points = np.load(sys.argv[1] + "/points.npz")
x, z = points["x"], points["z"]
found = {}
try:
    importlib.import_module("kernaut")
    raise SystemExit("kernaut can be imported")
except ImportError:
    pass
for name, target, kind in json.loads(sys.argv[2]):
    module = importlib.import_module(f"{name}_{target}")
    assert module.PROVENANCE["tier"] == "T2"
    if target == "numpy":
        matrix, diagonal = module.gram(x, z), module.variances(x)
    elif target == "sklearn":
        from sklearn.base import clone
        kernel = clone(getattr(module, kind)())
        matrix, diagonal = kernel(x, z), kernel.diag(x)
    else:
        import torch
        kernel = getattr(module, kind)()
        own = "default" if name == "steps" else "error"  # that program turns tensors to numbers itself
        warnings.filterwarnings(own, message="Converting a tensor")
        a, b = torch.tensor(x, requires_grad=True), torch.tensor(z)
        dense = kernel(a, b).to_dense()
        matrix, diagonal = dense.detach().numpy(), kernel(a, diag=True).detach().numpy()
        weights = torch.linspace(0.5, 1.5, dense.numel(), dtype=torch.float64).reshape(dense.shape)
        (gradient,) = torch.autograd.grad((weights * dense).sum(), a)
        step = 1e-6
        moved = torch.tensor(x); moved[1, 2] += step
        slope = float((weights * (kernel(moved, b).to_dense() - dense.detach())).sum()) / step
        assert abs(slope - float(gradient[1, 2])) < 1e-4 * max(1.0, abs(slope)), (name, slope, gradient[1, 2])
        batch = kernel(torch.tensor(x).reshape(2, 3, 3), torch.tensor(z)).to_dense().numpy()
        assert np.allclose(batch.reshape(matrix.shape), matrix)
    found[f"{name}_{target}"] = [matrix.tolist(), diagonal.tolist()]
print(json.dumps(found))
"""


def test_exported_modules_agree_where_kernaut_is_not_installed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.uniform(size=(6, 3)), rng.uniform(size=(4, 3))
    z[0] = x[3]
    x[:, 1], z[:, 1] = rng.choice([0.25, 1.0], 6), rng.choice([0.25, 1.0], 4)
    np.savez(tmp_path / "points.npz", x=x, z=z)
    wanted = [(name, target) for name in PROGRAMS for target in ("gpytorch", "numpy")]
    wanted += [("dwf", "sklearn"), ("tree", "botorch"), ("plain", "numpy"), ("plain", "sklearn")]
    known = {**PROGRAMS, "plain": NUMPY}
    for name, target in wanted:
        text = export_kernel(known[name], target, dimension=3, provenance={"tier": "T2"})
        assert "import kernaut" not in text
        (tmp_path / f"{name}_{target}.py").write_text(text, encoding="utf-8")
    tasks = json.dumps([(name, target, class_name(known[name].name)) for name, target in wanted])
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(tmp_path), tasks], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert len(found) == len(wanted)
    for name, target in wanted:
        matrix, diagonal = found[f"{name}_{target}"]
        assert np.allclose(matrix, gram(known[name], x, z), rtol=1e-9, atol=1e-11), (name, target)
        assert np.allclose(diagonal, np.diagonal(gram(known[name], x)), rtol=1e-9, atol=1e-11), (name, target)


def test_what_cannot_be_exported() -> None:
    with pytest.raises(InputError, match="gpytorch, botorch, sklearn, numpy"):
        export_kernel(PROGRAMS["dwf"], "jax")
    with pytest.raises(InputError, match="written in torch"):
        export_kernel(NUMPY, "gpytorch")
    matrix = KernelProgram(
        "m", "unverified", "import numpy as np\n\ndef kernel_matrix(x, parameters):\n    return x @ x.T\n", {}
    )
    with pytest.raises(InputError, match="unverified"):
        export_kernel(matrix, "numpy")


def test_the_source_stands_in_the_module_as_it_was_written() -> None:
    text = export_kernel(PROGRAMS["dwf"], "gpytorch")
    for line in PROGRAMS["dwf"].source.splitlines():
        assert line.strip() in text
    assert "class DualWarpFoldKernel(Kernel)" in text
    assert PROGRAMS["dwf"].id in text
    tree = export_kernel(PROGRAMS["tree"], "numpy", dimension=3)
    assert "CLOSURE_SOURCE" in tree
    assert "STATE_SPACE_SOURCE" in export_kernel(PROGRAMS["spring"], "botorch")
    assert "COREGIONALIZED_PARAMETERS = {'alike': 0.7" in export_kernel(PROGRAMS["sensors"], "numpy")
