"""Child side: the loop that reads requests and answers them, for the life of one program."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.random
import torch

from kernaut.sandbox import messages
from kernaut.sandbox.execution import Caught, Parameters, ProgramError, Source
from kernaut.sandbox.gradients import Differentiator
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.messages import Frame
from kernaut.sandbox.numpy_execution import numpy_values
from kernaut.sandbox.protections import Protections
from kernaut.sandbox.records import Floats, SandboxProgram
from kernaut.sandbox.torch_execution import TorchProgram, as_floats, parameter_vector
from kernaut.sandbox.trees import tree_values


def serve(peer: socket.socket, limits: Limits, protections: Protections) -> None:
    """Say what is enforced, load one program, answer requests until the client closes its end.

    Args:
        peer: the data socket.
        limits: the child's limits (the output limit is kept here, too).
        protections: what :func:`kernaut.sandbox.hardening.confine` enforced.
    """
    messages.send(peer, Frame(messages.HELLO, text=protections.pack()))
    runner: _Runner | None = None
    while True:
        request = messages.receive(peer, 1 << 40)
        if request is None:
            return
        reply = Frame(messages.FAILED, text=b"no program is loaded")
        with Caught() as caught:
            if request.kind == messages.LOAD:
                runner = _Runner(SandboxProgram(**json.loads(request.text)), limits)
                reply = Frame(messages.VALUE)
            elif runner is not None:
                reply = runner.answer(request)
        if caught.error is not None:
            slow = runner.flags if runner is not None else 0
            text = str(caught.error).encode("utf-8", "replace")[: messages.MAX_TEXT]
            reply = Frame(caught.error.kind, caught.error.flags | slow, text=text)
        messages.send(peer, reply)


class _Runner:
    """One loaded program.

    Raises:
        ProgramError: when the source does not compile or its first run fails.
    """

    def __init__(self, program: SandboxProgram, limits: Limits) -> None:
        self._source = Source(program)
        self._source.entry()[1].clear()
        self._calling = program.calling
        self._limits = limits
        self._torch = TorchProgram(self._source) if program.backend == "torch" else None
        self._random_checked = False
        self._differentiator = Differentiator(self._torch, limits.request_seconds) if self._torch is not None else None

    @property
    def flags(self) -> int:
        """Flags of every reply."""
        return messages.SLOW_PATH if self._torch is not None and self._torch.slow else 0

    def answer(self, request: Frame) -> Frame:
        """Answer one request.

        Raises:
            ProgramError: when there is no value.
        """
        if request.kind == messages.ASK:
            return self._answer_json(request.text)
        record = json.loads(request.text)
        parameters, dimension = Parameters(record["parameters"]), record["dimension"]
        points: Floats | None = None
        cotangents = request.arrays
        if self._calling in ("point", "coordinate", "matrix"):
            points, cotangents = request.arrays[0], request.arrays[1:]
        random = None if self._random_checked else _RandomState()
        text = b""
        if request.kind == messages.PULLBACK:
            arrays = self._pullback(
                points, parameters, cotangents, dimension, bool(request.flags & messages.WANT_POINTS)
            )
        elif request.kind == messages.TREE:
            structure, values = self._tree(parameters)
            arrays, text = (values,), structure.encode("utf-8")
        else:
            arrays = self._evaluate(points, parameters, dimension)
        if self._torch is not None and self._torch.slow:
            text = self._torch.slow_reason.encode("utf-8", "replace")[: messages.MAX_TEXT]
        if random is not None:
            random.require_unchanged()
            self._random_checked = True
        size = sum(array.nbytes for array in arrays)
        if size > self._limits.output_mib * messages.MIB:
            raise ProgramError(
                f"the output limit was reached: a reply of {size / messages.MIB:.1f} MiB where {self._limits.output_mib} MiB are allowed"
            )
        return Frame(messages.VALUE, self.flags, arrays, text)

    def _answer_json(self, text: bytes) -> Frame:
        """Call the entry point of a fresh run with one JSON value."""
        function, names = self._source.entry()
        answer = json.dumps(function(json.loads(text)), allow_nan=False).encode("utf-8")
        names.clear()
        if len(answer) > messages.MAX_TEXT:
            raise ProgramError(
                f"the output limit was reached: {len(answer)} bytes where {messages.MAX_TEXT} are allowed"
            )
        return Frame(messages.VALUE, text=answer)

    def _evaluate(self, points: Floats | None, parameters: Parameters, dimension: int) -> tuple[Floats, ...]:
        empty = points is not None and len(points) == 0
        if empty and points is not None:
            points = np.zeros((1, *points.shape[1:]))
        if self._torch is None:
            values = numpy_values(self._source, points, parameters, dimension)
        else:
            x = None if points is None else torch.from_numpy(points)
            results = self._torch.forward(x, parameter_vector(parameters), parameters, dimension)
            values = tuple(as_floats(result) for result in results)
        if empty:
            return (values[0][:0, :0] if self._calling == "matrix" else values[0][:0],)
        return values

    def _tree(self, parameters: Parameters) -> tuple[str, Floats]:
        if self._torch is not None:
            text, values = self._torch.tree(parameter_vector(parameters), parameters)
            return text, as_floats(values)
        function, names = self._source.entry()
        text, numbers = tree_values(function(parameters.fresh()))
        names.clear()
        if numbers:
            raise ProgramError("expected plain numbers in the tree of a numpy program; got tensors")
        return text, np.zeros(0)

    def _pullback(
        self,
        points: Floats | None,
        parameters: Parameters,
        cotangents: Sequence[Floats],
        dimension: int,
        want_points: bool,
    ) -> tuple[Floats, ...]:
        if self._differentiator is None:
            raise ProgramError(
                "not differentiable: the program uses numpy; torch programs have gradients",
                flags=messages.NOT_DIFFERENTIABLE,
            )
        with torch.enable_grad():
            return self._differentiator.pullback(points, parameters, cotangents, dimension, want_points)


class _RandomState:
    """Notices draws from numpy's and torch's global generators during one request (the first: the check takes 0.2 ms)."""

    def __init__(self) -> None:
        self._torch = torch.get_rng_state()
        self._numpy = np.random.get_state(legacy=False)

    def require_unchanged(self) -> None:
        """Check that nothing was drawn or seeded.

        Raises:
            ProgramError: when something was.
        """
        now: Any = np.random.get_state(legacy=False)
        before: Any = self._numpy
        same = now["state"]["pos"] == before["state"]["pos"] and np.array_equal(
            now["state"]["key"], before["state"]["key"]
        )
        if not same or not torch.equal(torch.get_rng_state(), self._torch):
            raise ProgramError("the program draws random numbers")
