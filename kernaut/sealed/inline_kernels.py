"""Kernel programs inside a policy's process, which is confined as strictly as the sandbox's children are.  Untrusted side.

A confined process can start no child, so that candidates used as surrogates run here, by the same code that runs them in the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike

from kernaut.errors import SandboxFailure
from kernaut.sandbox.child import Child
from kernaut.sandbox.execution import Parameters, ProgramError, Source
from kernaut.sandbox.numpy_execution import numpy_values
from kernaut.sandbox.pool import SandboxPool
from kernaut.sandbox.records import Floats, SandboxProgram
from kernaut.sandbox.replies import checked_values
from kernaut.sandbox.torch_execution import TorchProgram, as_floats, parameter_vector
from kernaut.sandbox.trees import tree_values


class InlinePool(SandboxPool):
    """A pool whose programs run in this very process; for confined processes only."""

    def child(self, program: SandboxProgram) -> Child:
        """The program, loaded.

        Raises:
            SandboxFailure: when its source does not compile.
        """
        return cast(Child, InlineProgram(program))


class InlineProgram:
    """What a kernel asks of a child process: values and trees.

    Args:
        program: what it runs.

    Raises:
        SandboxFailure: when its source does not compile.
    """

    differentiable = False

    def __init__(self, program: SandboxProgram) -> None:
        self.program = program
        try:
            self._source = Source(program)
            self._torch = TorchProgram(self._source) if program.backend == "torch" else None
        except ProgramError as error:
            raise SandboxFailure("failed", str(error)) from error

    def evaluate(
        self, points: ArrayLike | None, parameters: Mapping[str, Any], *, input_dimension: int | None = None
    ) -> tuple[Floats, ...]:
        """The program's values, as :meth:`kernaut.sandbox.child.Child.evaluate`.

        Raises:
            SandboxFailure: when it gives no usable value.
        """
        given = Parameters(dict(parameters))
        array = None if points is None else np.array(points, dtype=np.float64)
        dimension = input_dimension or 0
        try:
            if self._torch is None:
                values = numpy_values(self._source, array, given, dimension)
            else:
                x = None if array is None else torch.from_numpy(array)
                with torch.no_grad():
                    results = self._torch.forward(x, parameter_vector(given), given, dimension)
                values = tuple(as_floats(result) for result in results)
        except ProgramError as error:
            raise SandboxFailure("failed", str(error)) from error
        return checked_values(values, self.program.calling, () if array is None else (array,), dimension)

    def tree(self, parameters: Mapping[str, Any]) -> tuple[str, Floats]:
        """The closure tree, as :meth:`kernaut.sandbox.child.Child.tree`.

        Raises:
            SandboxFailure: when it gives no tree.
        """
        given = Parameters(dict(parameters))
        try:
            if self._torch is not None:
                with torch.no_grad():
                    text, values = self._torch.tree(parameter_vector(given), given)
                return text, as_floats(values)
            function, names = self._source.entry()
            text, _ = tree_values(function(given.fresh()))
            names.clear()
        except ProgramError as error:
            raise SandboxFailure("failed", str(error)) from error
        return text, np.zeros(0)

    def close(self) -> None:
        """Nothing is held."""
