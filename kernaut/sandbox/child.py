"""Client side: the handle of one confined child, which asks it for values and pullbacks.

Made by :meth:`kernaut.sandbox.pool.SandboxPool.child`.  A request costs 0.2-1 ms for ordinary sizes.  Every failure is a
:class:`kernaut.errors.SandboxFailure` with a state; after ``crashed`` and ``timed out`` the child is dead and says so again.
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from kernaut.digest import loads_finite, thaw
from kernaut.errors import FailureState, InputError, SandboxFailure
from kernaut.sandbox import messages
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import ChildLink
from kernaut.sandbox.messages import BrokenFrame, DeadlinePassed, Frame
from kernaut.sandbox.protections import Protections
from kernaut.sandbox.records import Floats, Pullback, SandboxProgram
from kernaut.sandbox.replies import checked_pullback, checked_values

_PER_POINT = ("point", "coordinate", "matrix")
_MAX_REASON = 2000


class Child:
    """One confined process that runs one program.

    Requests of several threads wait for each other.

    Args:
        program: what it runs.
        limits: its limits.
        link: its sockets.

    Attributes:
        program: what it runs.
        protections: what was enforced on it, what this machine could not enforce, and the limits; for evidence records.
        slow_path: whether a torch program runs point by point since vmap refused it.
        slow_reason: what vmap said, with the program's line; for its author.
        differentiable: whether pullbacks can be had: a torch program not found to drop a gradient.
        pid: its process number, as the template sees it.

    Raises:
        SandboxFailure: when the program does not load.
    """

    def __init__(self, program: SandboxProgram, limits: Limits, link: ChildLink) -> None:
        self.program = program
        self.protections: dict[str, Any] = {}
        self.slow_path = False
        self.slow_reason = ""
        self.differentiable = program.backend == "torch"
        self.pid = link.pid
        self._limits = limits
        self._link = link
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._over: tuple[FailureState, str] | None = None
        self._finalizer = weakref.finalize(self, link.close)
        self._load()

    def evaluate(
        self, points: ArrayLike | None, parameters: Mapping[str, Any], *, input_dimension: int | None = None
    ) -> tuple[Floats, ...]:
        """The program's values.

        Args:
            points: ``n x d`` float64 (``n`` for ``coordinate``); None for ``dimension``.
            parameters: JSON values by name; torch programs get the floats as 0-d tensors.
            input_dimension: the input dimension, for ``dimension``.

        Returns:
            ``point``, ``coordinate``: one ``n x m`` array; ``dimension``: frequencies ``m x d`` and raw weights ``m``; ``matrix``:
            one ``n x n`` array; all finite.

        Raises:
            SandboxFailure: ``refused``, ``failed``, ``crashed`` or ``timed out``, with the reason.
            InputError: for points that do not fit the calling.
        """
        if self.program.calling in ("tree", "json"):
            raise InputError(
                f"Expected a program that is called with points or a dimension. Got one called by {self.program.calling}."
            )
        arrays = self._points(points)
        dimension = self._dimension(input_dimension)
        reply = self._request(messages.EVALUATE, 0, arrays, parameters, dimension)
        return checked_values(reply.arrays, self.program.calling, arrays, dimension)

    def tree(self, parameters: Mapping[str, Any]) -> tuple[str, Floats]:
        """The closure tree.

        Args:
            parameters: JSON values by name.

        Returns:
            JSON text whose float-dependent numbers are ``{"$": i}``, and the vector of those numbers (empty for numpy programs).

        Raises:
            SandboxFailure: with state and reason.
        """
        if self.program.calling != "tree":
            raise InputError(f"Expected a tree program. Got one called by {self.program.calling}.")
        reply = self._request(messages.TREE, 0, (), parameters, 0)
        (values,) = checked_values(reply.arrays, "tree", (), 0)
        return reply.text.decode("utf-8", "replace"), values

    def ask(self, request: Any) -> Any:
        """The answer of a ``json`` program.

        Args:
            request: a finite JSON value of at most 4 MiB of text.

        Returns:
            A JSON value, parsed; its content is the program's word.

        Raises:
            SandboxFailure: with state and reason.
            InputError: for a program of another calling, or a request that is no JSON.
        """
        if self.program.calling != "json":
            raise InputError(f"Expected a program called by json. Got one called by {self.program.calling}.")
        reply = self._exchange(Frame(messages.ASK, text=_json_text(request, "a request")))
        try:
            return loads_finite(bytes(reply.text), "the program's answer")
        except InputError as error:
            raise SandboxFailure("failed", error.message) from error

    def pullback(
        self,
        points: ArrayLike | None,
        parameters: Mapping[str, Any],
        cotangents: tuple[ArrayLike, ...],
        *,
        input_dimension: int | None = None,
        want_points: bool = True,
    ) -> Pullback:
        """Values, and the gradients of ``sum(values * cotangents)``.

        Args:
            points: as for :meth:`evaluate`; None for ``dimension`` and ``tree``.
            parameters: JSON values by name; gradients are taken in the floats.
            cotangents: one array for each value, of its shape (``tree``: one for the vector).
            input_dimension: the input dimension, for ``dimension``.
            want_points: whether the gradient in the points is wanted, too.

        Raises:
            SandboxFailure: state ``failed`` and a reason that begins "not differentiable" where a gradient is lost; see
                :mod:`kernaut.sandbox.gradients` for what is noticed.
        """
        arrays = self._points(points)
        weights = tuple(np.ascontiguousarray(cotangent, dtype=np.float64) for cotangent in cotangents)
        if any(weight.ndim not in (1, 2) for weight in weights) or len(weights) not in (1, 2):
            raise InputError("Expected one or two cotangents of one or two dimensions.")
        dimension = self._dimension(input_dimension)
        names = [name for name, value in parameters.items() if type(value) is float]
        if arrays and len(arrays[0]) == 0:
            return Pullback(weights, dict.fromkeys(names, 0.0), arrays[0] if want_points else None)
        flags = messages.WANT_POINTS if want_points and arrays else 0
        reply = self._request(messages.PULLBACK, flags, (*arrays, *weights), parameters, dimension)
        return checked_pullback(reply.arrays, self.program.calling, arrays, dimension, names, flags != 0)

    def close(self) -> None:
        """End the child; a later request fails."""
        self._end("crashed", "The child was closed.")

    def _load(self) -> None:
        seconds = self._limits.load_seconds
        deadline = time.monotonic() + seconds
        text = json.dumps(asdict(self.program)).encode("utf-8")
        with self._lock, self._interruptible():
            enforced = Protections.unpack(self._receive(deadline, seconds).text)  # before it has seen any source
            self.protections = {**enforced.describe(), "limits": asdict(self._limits)}
            self._send(Frame(messages.LOAD, text=text), deadline, seconds)
            reply = self._receive(deadline, seconds)
        try:
            self._accept(reply)
        except SandboxFailure as failure:
            raise self._end(failure.state, failure.message) from None

    def _request(
        self, kind: int, flags: int, arrays: tuple[Floats, ...], parameters: Mapping[str, Any], dimension: int
    ) -> Frame:
        text = _json_text({"parameters": thaw(parameters), "dimension": dimension}, "parameters")
        return self._exchange(Frame(kind, flags, arrays, text))

    def _exchange(self, request: Frame) -> Frame:
        """Send one request and take its reply within the request's deadline."""
        seconds = self._limits.request_seconds
        with self._lock:
            deadline = time.monotonic() + seconds
            if self._over is not None:
                raise SandboxFailure(*self._over)
            if self._process != os.getpid():
                raise SandboxFailure(
                    "crashed", "The child belongs to another process.", hint="Ask default_pool() for one."
                )
            with self._interruptible():
                self._require_silence()
                self._send(request, deadline, seconds)
                reply = self._receive(deadline, seconds)
        return self._accept(reply)

    def _send(self, frame: Frame, deadline: float, seconds: float) -> None:
        try:
            messages.send(self._link.data, frame, deadline)
        except OSError:
            self._raise_exit()
        except DeadlinePassed:
            self._raise_timeout(seconds)

    def _receive(self, deadline: float, seconds: float) -> Frame:
        try:
            reply = messages.receive(self._link.data, self._limits.output_mib * messages.MIB, deadline)
        except DeadlinePassed:
            self._raise_timeout(seconds)
        except BrokenFrame as error:
            self._raise_exit(f"The child sent {error}.")
        except OSError:
            self._raise_exit()
        if reply is None:
            self._raise_exit()
        return reply

    def _accept(self, reply: Frame) -> Frame:
        """Take over what a reply says of the program; raise unless it is a value."""
        if reply.kind == messages.VALUE:
            if reply.flags & messages.SLOW_PATH and not self.slow_path:
                self.slow_path, self.slow_reason = True, _readable(reply.text)
            return reply
        if reply.flags & messages.NOT_DIFFERENTIABLE:
            self.differentiable = False
        reason = _readable(reply.text)
        state: FailureState = "refused" if reply.kind == messages.REFUSED else "failed"
        raise SandboxFailure(state, f"{reason or 'The program gave no reason'}.")

    def _require_silence(self) -> None:
        """Bytes before any request are no answer to one."""
        self._link.data.setblocking(False)
        try:
            early = self._link.data.recv(1)
        except BlockingIOError:
            return
        except OSError:
            early = b""
        self._raise_exit("The child sent data that nobody asked for." if early else None)

    def _raise_timeout(self, seconds: float) -> NoReturn:
        self._link.kill()
        self._link.exit()
        raise self._end("timed out", f"The program gave no answer within {seconds:g} s.")

    def _raise_exit(self, complaint: str | None = None) -> NoReturn:
        """The child is gone, or is killed for a broken reply: say how it ended."""
        if complaint is not None:
            self._link.kill()
        ended = self._link.exit()
        if complaint is not None:
            raise self._end("crashed", complaint)
        if ended is None:
            raise self._end("crashed", "The sandbox's template process is gone, and its children with it.")
        state, reason = ended.meaning(self._limits)
        raise self._end(state, f"{reason[0].upper()}{reason[1:]}.")

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """A request broken off half-way (Ctrl-C) leaves no child that would answer the next one with its reply."""
        try:
            yield
        except SandboxFailure:
            raise
        except BaseException:
            self._end("crashed", "The request was interrupted.")
            raise

    def _end(self, state: FailureState, reason: str) -> SandboxFailure:
        if self._over is None:
            self._over = (state, reason)
        self._finalizer()
        return SandboxFailure(*self._over)

    def _points(self, points: ArrayLike | None) -> tuple[Floats, ...]:
        if self.program.calling not in _PER_POINT:
            if points is not None:
                raise InputError(f"Expected no points for a program called by {self.program.calling}. Got some.")
            return ()
        ndim = 1 if self.program.calling == "coordinate" else 2
        array = np.ascontiguousarray(points, dtype=np.float64)
        if points is None or array.ndim != ndim:
            raise InputError(
                f"Expected points of {ndim} dimensions for calling {self.program.calling}. Got shape {array.shape}."
            )
        return (array,)

    def _dimension(self, dimension: int | None) -> int:
        if self.program.calling != "dimension":
            return 0
        if dimension is None or dimension < 1:
            raise InputError(f"Expected input_dimension of at least 1. Got {dimension!r}.")
        return int(dimension)


def _json_text(value: Any, what: str) -> bytes:
    """A value as UTF-8 JSON that fits a frame.

    Raises:
        InputError: when it is no finite JSON, or too long.
    """
    try:
        text = json.dumps(value, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected {what} of finite JSON values. Got: {error}.") from error
    if len(text) > messages.MAX_TEXT:
        raise InputError(f"Expected {what} of at most {messages.MAX_TEXT} bytes. Got {len(text)}.")
    return text


def _readable(text: bytes) -> str:
    """What a child says, as one line of bounded length."""
    return "".join(c if c.isprintable() else " " for c in text.decode("utf-8", "replace"))[:_MAX_REASON]
