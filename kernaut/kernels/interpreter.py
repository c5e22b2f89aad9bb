"""The trusted interpreter: a kernel program becomes a GPyTorch kernel.

The source is screened here and runs in a sandboxed child only; what the child answers are component values, and the kernel is
put together from them by trusted code, one module for each contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kernaut.errors import ProgramRefused
from kernaut.kernels.additive_feature_map import AdditiveFeatureMap
from kernaut.kernels.algebra import ProductForm, PullbackForm, ScaleForm, SumForm
from kernaut.kernels.closure import ClosureReader, KnownPrograms, TreeForm
from kernaut.kernels.component import Component
from kernaut.kernels.coregionalized import CoregionalizedAssembly, CoregionalizedReader
from kernaut.kernels.feature_map import FeatureMap
from kernaut.kernels.form import Form
from kernaut.kernels.input_transform import InputTransform
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import leaf_form
from kernaut.kernels.residual import Residual
from kernaut.kernels.spectral import Spectral
from kernaut.kernels.state_space import StateSpaceAssembly
from kernaut.kernels.unverified import Unverified
from kernaut.program.base_node import Base
from kernaut.program.closure import Node, Product, ProgramLeaf, Pullback, Resolve, Scale, Sum, program_leaf
from kernaut.program.columns import coordinate_of, task_column_of, task_values_of
from kernaut.program.linear_system import linear_system
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

MAX_NESTING = 8
"""How deep closure programs may stand inside each other."""


class Assembly:
    """Makes forms of nodes, each program leaf with its own child.

    Args:
        pool: starts the children; the process's default pool if absent.
        programs: looks up program leaves given by identifier.
        chain: identifiers of the programs around the present one.
    """

    def __init__(self, pool: SandboxPool | None, programs: KnownPrograms, chain: tuple[str, ...] = ()) -> None:
        self.pool = pool
        self.programs = programs
        self.chain = chain

    def __reduce__(self) -> tuple[object, ...]:
        """Pools stay in their process."""
        return (Assembly, (None, self.programs, self.chain))

    def __call__(self, node: Node) -> Form:
        """The form of a checked node; its parameters are laid out as ``node.numbers()``.

        Raises:
            ProgramRefused: when a program's source is refused, or programs stand inside themselves or too deep.
            SandboxFailure: when a closure program inside gives no tree.
        """
        match node:
            case Base():
                return leaf_form(node)
            case Sum():
                return SumForm([self(child) for child in node.children])
            case Product():
                return ProductForm([self(child) for child in node.children])
            case Scale():
                return ScaleForm(self(node.child))
            case Pullback():
                rows, columns = node.matrix.shape
                return PullbackForm((rows, columns), self(node.child))
            case ProgramLeaf():
                return self.program(node)

    def program(self, leaf: ProgramLeaf) -> Form:
        """The form of a program; its parameters are laid out as ``leaf.numbers()``.

        Raises:
            ProgramRefused: as above.
            SandboxFailure: as above.
        """
        program = leaf.program
        if program.id in self.chain:
            raise ProgramRefused(f"Expected programs not to contain themselves. Got {program.id} inside itself.")
        if len(self.chain) >= MAX_NESTING:
            raise ProgramRefused(f"Expected at most {MAX_NESTING} programs inside each other. Got more.")
        component = Component(program, leaf.floats, self.pool)
        bases = [leaf_form(base) for base in (leaf.base, leaf.residual_base) if base is not None]
        match program.contract:
            case "feature_map":
                return FeatureMap(component)
            case "additive_feature_map":
                return AdditiveFeatureMap(component)
            case "spectral":
                return Spectral(component)
            case "input_transform":
                return InputTransform(component, bases[0])
            case "residual_feature_map":
                return Residual(bases[0], FeatureMap(component), leaf.floats, leaf.residual_weight)
            case "residual_input_transform":
                transformed = InputTransform(component, bases[1])
                return Residual(bases[0], transformed, leaf.floats, leaf.residual_weight)
            case "closure":
                return self._asked(TreeForm(component, ClosureReader(self.programs), self._below(program)), leaf)
            case "state_space":
                return TreeForm(component, linear_system, StateSpaceAssembly(coordinate_of(program.parameters)))
            case "coregionalized":
                assembly = CoregionalizedAssembly(
                    self._below(program), task_column_of(program.parameters), task_values_of(program.parameters)
                )
                return self._asked(TreeForm(component, CoregionalizedReader(self.programs), assembly), leaf)
            case _:
                return Unverified(component)

    def _below(self, program: KernelProgram) -> Assembly:
        """Makes the forms of a tree inside a program."""
        return Assembly(self.pool, self.programs, (*self.chain, program.id))

    def _asked(self, form: TreeForm[Any], leaf: ProgramLeaf) -> Form:
        """A form whose tree was asked for, so that a wrong one is refused at once."""
        form.resolved(torch.tensor(leaf.numbers(), dtype=torch.float64))
        return form


def interpret(
    program: KernelProgram,
    *,
    pool: SandboxPool | None = None,
    resolve: Resolve | None = None,
    batch_shape: torch.Size | None = None,
    active_dims: Sequence[int] | None = None,
) -> KernautKernel:
    """The GPyTorch kernel of a program.

    Screening comes first and starts nothing; a closure or coregionalized program is asked for its tree at once (so that a wrong tree is
    refused here), any other program when it is first evaluated.

    Args:
        program: the program.
        pool: starts its child; the process's default pool if absent.
        resolve: looks up program leaves that a closure tree gives by identifier.
        batch_shape: one kernel for each element.
        active_dims: the input columns to use.

    Returns:
        A kernel whose ``values`` are the program's float parameters.

    Raises:
        ProgramRefused: when the source, a base kernel or a closure tree breaks a rule.
        SandboxFailure: when a closure or coregionalized program gives no tree.
    """
    leaf = program_leaf(program)
    form = Assembly(pool, KnownPrograms(resolve)).program(leaf)
    return KernautKernel(form, leaf.floats, leaf.numbers(), program, batch_shape=batch_shape, active_dims=active_dims)
