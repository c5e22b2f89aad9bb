"""``kernaut export``: the text of a module that holds one kernel, for GPyTorch, BoTorch, scikit-learn or NumPy.

The module carries the program's source, its tuned parameters and where it came from, and imports nothing of Kernaut.  The source runs in the reader's own process,
without a sandbox: it was screened and accepted before, and it stands there to be read.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any, Literal, get_args

from kernaut.digest import canonical_json, thaw
from kernaut.errors import InputError
from kernaut.export.expressions import Expressions
from kernaut.export.targets import BACKENDS, TARGET_IMPORTS, TARGETS, VALUES
from kernaut.kernels.closure import KnownPrograms
from kernaut.program.closure import Resolve, program_leaf
from kernaut.program.program import KernelProgram

Target = Literal["gpytorch", "botorch", "sklearn", "numpy"]


def export_kernel(
    program: KernelProgram,
    to: str,
    *,
    resolve: Resolve | None = None,
    dimension: int = 2,
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """The text of a self-contained module.

    Args:
        program: the program, with the parameters it should have.
        to: ``gpytorch``, ``botorch``, ``sklearn`` or ``numpy``.
        resolve: looks up program leaves that a closure tree gives by identifier.
        dimension: an input dimension that the program works in, to try it once.
        provenance: further facts of where it came from, JSON.

    Raises:
        InputError: for an unknown target, an unverified program, or a numpy program where gradients are wanted.
        ProgramRefused: when the program breaks a rule.
        SandboxFailure: when the program gives no value.
    """
    if to not in get_args(Target):
        raise InputError(f"Expected a target of {', '.join(get_args(Target))}. Got {to!r}.")
    backend = BACKENDS[to]
    expressions = Expressions(backend, KnownPrograms(resolve), dimension)
    top = expressions.node(program_leaf(program))
    imports = [*TARGET_IMPORTS[to]]
    if "torch" in expressions.libraries and backend == "numpy":
        imports.append("import torch")
    if backend == "torch" and "rff" in expressions.used:
        imports.append("import numpy as np")
    name = class_name(program.name)
    facts = {
        "candidate_id": program.id,
        "name": program.name,
        "contract": program.contract,
        "parents": list(program.parents),
        **thaw(provenance or {}),
    }
    helpers = [VALUES[backend, part] for part in ("array_like", "joined")]
    helpers += [VALUES[backend, part] for part in ("each", "stepwise", "vectorized") if part in expressions.libraries]
    parts = [
        _docstring(program, to),
        "from __future__ import annotations",
        "\n".join(["import math", "from typing import Any", "", *sorted(imports, key=lambda line: line.split()[1])]),
        f"PROVENANCE = {json.loads(canonical_json(facts))!r}",
        _closed_source(program),
        f"xp = {'torch' if backend == 'torch' else 'np'}",
        *helpers,
        expressions.shared_source(),
        *expressions.sources,
        *expressions.kernels,
        _covariance(top),
        TARGETS[to].replace("KERNEL_NAME", name).replace("PROGRAM_NAME", program.name),
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def class_name(name: str) -> str:
    """A class name of a program's name, such as ``DualWarpFoldKernel``."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    return "".join(word[:1].upper() + word[1:] for word in words) + "Kernel"


def _docstring(program: KernelProgram, to: str) -> str:
    rationale = (
        textwrap.fill(program.rationale.replace("\\", "/").replace('"""', "'''"), 110) if program.rationale else ""
    )
    lines = [f'"""The kernel {program.name} for {to}, exported from Kernaut (identifier {program.id}).', ""]
    lines += [rationale, ""] if rationale else []
    lines += [
        "Inputs are expected where the kernel was tuned: on the unit cube, unless PROVENANCE says otherwise. The kernel has no",
        "amplitude and no noise of its own.",
        '"""',
    ]
    return "\n".join(lines)


def _closed_source(program: KernelProgram) -> str:
    """The source of a program that gave a closed form stays beside it; it is not run again."""
    if program.rules.calling != "tree":
        return ""
    name = program.contract.upper()
    return f"{name}_SOURCE = {program.source!r}\n{name}_PARAMETERS = {thaw(program.parameters)!r}"


def _covariance(top: str) -> str:
    return f'''def covariance(x, z):
    """Covariances ``... x n x m`` of ``... x n x d`` with ``... x m x d`` points, float64."""
    return {top}(x, z)


def variances(x):
    """Variances ``... x n`` of ``... x n x d`` points."""
    return {top}(x[..., :, None, :], x[..., :, None, :])[..., 0, 0]'''
