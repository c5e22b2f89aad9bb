"""A kernel program as Python text: one small function for each node of its closed form, and one for each program inside."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.export import formulas
from kernaut.kernels.closure import ClosureReader, KnownPrograms, Read, T
from kernaut.kernels.component import Component
from kernaut.kernels.coregionalized import CoregionalizedReader
from kernaut.kernels.state_space import StateSpaceForm
from kernaut.program.base_node import Array, Base, NumberReader
from kernaut.program.closure import Node, Product, ProgramLeaf, Pullback, Scale, Sum
from kernaut.program.columns import coordinate_of, task_column_of, task_values_of
from kernaut.program.linear_system import linear_system
from kernaut.program.screening import screen

SHARED = ("array_like", "differences", "distances", "scaled")
PROBES = 3


@dataclass
class Expressions:
    """Collects the functions that a kernel's module is made of.

    Args:
        backend: ``torch`` or ``numpy``, the library that the module computes with.
        programs: looks up program leaves given by identifier.
        dimension: an input dimension that the program works in, to try it once.

    Attributes:
        used: names of the formulas that are needed.
        sources: text that defines each program.
        kernels: text of each node's function, innermost first.
        libraries: what the programs import.
    """

    backend: str
    programs: KnownPrograms
    dimension: int
    used: set[str] = field(default_factory=set)
    sources: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    libraries: set[str] = field(default_factory=set)

    def node(self, node: Node) -> str:
        """The name of a function of a node.

        Raises:
            InputError: for a program that the module cannot compute.
            SandboxFailure: when a program gives no value.
        """
        match node:
            case Base():
                return self._leaf(node)
            case Sum():
                return self._function(" + ".join(f"{self.node(child)}(x, z)" for child in node.children))
            case Product():
                return self._function(" * ".join(f"{self.node(child)}(x, z)" for child in node.children))
            case Scale():
                return self._function(f"{node.weight!r} * {self.node(node.child)}(x, z)")
            case Pullback():
                inner, matrix = self.node(node.child), nested(node.matrix)
                return self._function(f"{inner}(x @ matrix, z @ matrix)", f"matrix = array_like({matrix!r}, x)")
            case ProgramLeaf():
                return self._program(node)

    def shared_source(self) -> str:
        """The text of the formulas that are used, and of what they share."""
        names = [name for name in SHARED if name != "array_like"] + sorted(self.used)
        return "\n\n".join(source_of(getattr(formulas, name)) for name in names)

    def _leaf(self, base: Base) -> str:
        kind = base.kind.removeprefix("ard_")
        self.used.add(kind)
        numbers: dict[str, Any] = {array.name: nested(array) for array in base.arrays}
        options = dict(base.options)
        if options.pop("ramp", None):
            numbers["lengthscale"] = {"min": numbers.pop("min"), "max": numbers.pop("max")}
        if "lengthscales" in numbers:
            numbers["lengthscale"] = numbers.pop("lengthscales")
        arguments = ", ".join(f"{name}={value!r}" for name, value in {**numbers, **options}.items())
        return self._function(f"{kind}(x, z, {arguments})")

    def _program(self, leaf: ProgramLeaf) -> str:
        program = leaf.program
        if program.contract == "unverified":
            raise InputError(
                "Expected a program of a contract that can be accepted. Got unverified, whose matrix nothing vouches for."
            )
        if program.contract == "closure":
            return self.node(self._answer(leaf, ClosureReader(self.programs)))
        if program.contract == "state_space":
            return self._state_space(leaf)
        if program.contract == "coregionalized":
            return self._coregionalized(leaf)
        values = self._component(leaf)
        if program.contract in ("feature_map", "additive_feature_map", "spectral"):
            return self._function(f"{values}(x) @ {values}(z).mT")
        bases = [self._leaf(base) for base in (leaf.base, leaf.residual_base) if base is not None]
        if program.contract == "input_transform":
            return self._function(f"{bases[0]}({values}(x), {values}(z))")
        weight = program.parameters.get("residual_weight", leaf.residual_weight)
        added = f"{bases[1]}({values}(x), {values}(z))" if len(bases) == 2 else f"{values}(x) @ {values}(z).mT"
        return self._function(f"{bases[0]}(x, z) + {float(weight)!r} ** 2 * ({added})")

    def _state_space(self, leaf: ProgramLeaf) -> str:
        """The system that a program answers with, in the coordinates that trusted code computes in."""
        self.used.add("state_space")
        found = self._answer(leaf, linear_system)
        coordinate = coordinate_of(leaf.program.parameters)
        system = StateSpaceForm(found, coordinate).system(torch.tensor(found.numbers(), dtype=torch.float64))
        return self._function(
            f"state_space(x, z, feedback={system.feedback.tolist()!r}, left={system.left.tolist()!r}, "
            f"right={system.right.tolist()!r}, width={system.width!r}, coordinate={coordinate!r})"
        )

    def _coregionalized(self, leaf: ProgramLeaf) -> str:
        """The covariance of tasks that a program answers with, times its kernel."""
        self.used |= {"coregionalized", "task"}
        found = self._answer(leaf, CoregionalizedReader(self.programs))
        values = task_values_of(leaf.program.parameters) or tuple(float(task) for task in range(found.tasks))
        return self._function(
            f"coregionalized({self.node(found.child)}, x, z, covariance={found.covariance()!r}, "
            f"column={task_column_of(leaf.program.parameters)}, values={list(values)!r})"
        )

    def _answer(self, leaf: ProgramLeaf, read: Read[T]) -> T:
        """What a program that is called with its parameters alone answers at them."""
        component = Component(leaf.program, leaf.floats)
        try:
            row = torch.tensor(leaf.numbers()[: len(leaf.floats)], dtype=torch.float64)
            structure, values = component.tree(row)
            return read(json.loads(structure), NumberReader(values.tolist()))
        finally:
            component.close()

    def _component(self, leaf: ProgramLeaf) -> str:
        """Define a program; the name of a function from points to its features or transformed points."""
        program = leaf.program
        backend = screen(program.source, program.rules).backend
        calling = program.rules.calling
        if backend == "numpy" and self.backend == "torch" and calling != "dimension":
            raise InputError(
                f"Expected a program written in torch, whose values can be differentiated in the inputs. Got {program.name}, written in numpy.",
                hint="Export it to numpy or sklearn.",
            )
        self.libraries.add(backend)
        number = len(self.sources)
        name = f"values_{number}"
        parameters = thaw(program.parameters)
        floats = [key for key in leaf.floats if key in parameters] if backend == "torch" else []
        plain = {key: value for key, value in parameters.items() if key not in floats}
        lines = [
            f"def program_{number}():",
            f'    """{program.name}, {program.contract}, Kernaut identifier {program.id}: its source as it was written."""',
            textwrap.indent(_indentable(program.source), "    ").rstrip(),
            f"    return {program.rules.entry_point}",
            "",
            "",
            f"def parameters_{number}():",
            f'    """Tuned parameters of {program.name}."""',
            f"    values = {plain!r}",
        ]
        if floats:
            tuned = {key: float(parameters[key]) for key in floats}
            lines.append(f"    tuned = {tuned!r}")
            lines.append(
                "    values.update({name: torch.tensor(value, dtype=torch.float64) for name, value in tuned.items()})"
            )
        lines += ["    return values", "", "", *self._evaluation(leaf, backend, number)]
        self.sources.append("\n".join(lines))
        return name

    def _evaluation(self, leaf: ProgramLeaf, backend: str, number: int) -> list[str]:
        calling, contract = leaf.program.rules.calling, leaf.program.contract
        head = [f"def values_{number}(x):"]
        if calling == "dimension":
            return [
                *head,
                '    """Weighted cosines and sines of the program\'s frequencies."""',
                f"    frequencies, raw = program_{number}()(x.shape[-1], parameters_{number}())",
                "    frequencies, raw = array_like(frequencies, x), array_like(raw, x)",
                "    phase, height = x @ frequencies.mT, raw / raw.shape[-1] ** 0.5",
                "    return joined(height * xp.cos(phase), height * xp.sin(phase))",
            ]
        mode = "each" if backend == "numpy" else "stepwise" if self._slow(leaf) else "vectorized"
        self.libraries.add(mode)
        what = "x.reshape(-1, 1)[:, 0]" if calling == "coordinate" else "x.reshape(-1, x.shape[-1])"
        scale = " / x.shape[-1] ** 0.5" if contract == "additive_feature_map" else ""
        width = "rows.shape[-1] * x.shape[-1]" if calling == "coordinate" else "rows.shape[-1]"
        return [
            *head,
            '    """The program\'s values at points."""',
            f"    rows = {mode}(program_{number}(), {what}, parameters_{number}, x)",
            f"    return rows.reshape(*x.shape[:-1], {width}){scale}",
        ]

    def _slow(self, leaf: ProgramLeaf) -> bool:
        """Whether torch cannot vectorize the program; it is tried once, which also shows that it gives values."""
        component = Component(leaf.program, leaf.floats)
        try:
            row = torch.tensor(leaf.numbers()[: len(leaf.floats)], dtype=torch.float64)
            shape = (PROBES,) if leaf.program.rules.calling == "coordinate" else (PROBES, self.dimension)
            points = torch.linspace(0.1, 0.9, PROBES * (1 if len(shape) == 1 else shape[1]), dtype=torch.float64)
            component.call(points.reshape(shape), row)
            return component.child.slow_path
        finally:
            component.close()

    def _function(self, expression: str, first: str | None = None) -> str:
        name = f"kernel_{len(self.kernels)}"
        lines = [f"def {name}(x, z):", *([f"    {first}"] if first else []), f"    return {expression}"]
        self.kernels.append("\n".join(lines))
        return name


def nested(array: Array) -> Any:
    """A node's numbers as a float, list or list of lists."""
    if array.shape == ():
        return array.values[0]
    if len(array.shape) == 1:
        return list(array.values)
    width = array.shape[1]
    return [list(array.values[start : start + width]) for start in range(0, len(array.values), width)]


def source_of(item: Callable[..., Any] | ModuleType) -> str:
    """The source text of a function."""
    return textwrap.dedent(inspect.getsource(item)).rstrip() + "\n"


def _indentable(source: str) -> str:
    """Source that may be indented: as it is, or, where a long string runs over lines, rewritten with the same meaning."""
    lone = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.end_lineno != node.lineno
    ]
    return ast.unparse(ast.parse(source)) if lone else source
