"""Child side: compile a source once, run it anew for each call, name what went wrong.

Each run gets a fresh namespace whose builtins are an allow-list and whose imports reach math, numpy and (torch programs) torch only.
This is a second line behind the screening, not a border: the border is the process.
"""

from __future__ import annotations
import __future__

import builtins
import copy
import importlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import CodeType, ModuleType, TracebackType
from typing import Any

from kernaut.sandbox.messages import FAILED, REFUSED
from kernaut.sandbox.records import SandboxProgram

FILENAME = "<program>"
MAX_REASON = 2000

_BUILTINS = """
abs all any bool complex dict divmod enumerate filter float frozenset int isinstance iter len list map max min next pow range repr
reversed round set slice sorted str sum tuple zip
ArithmeticError AssertionError Exception IndexError KeyError NotImplementedError OverflowError RuntimeError TypeError ValueError
ZeroDivisionError
"""
ALLOWED_BUILTINS = tuple(_BUILTINS.split())
"""Builtins a program sees; the screening permits the same names."""

_NUMPY_MODULES = """
math numpy numpy.linalg numpy.fft numpy.polynomial numpy.polynomial.polynomial numpy.polynomial.chebyshev
numpy.polynomial.legendre numpy.polynomial.hermite numpy.polynomial.hermite_e numpy.polynomial.laguerre __future__
"""
_PYTHON_MODULES = """
__future__ ast bisect collections collections.abc copy datetime decimal fractions functools hashlib heapq itertools json keyword math numbers
numpy operator random re statistics string textwrap types typing
"""
_KEPT_FROM_PYTHON = ("breakpoint", "exit", "help", "input", "open", "quit")
_TORCH_MODULES = "torch torch.linalg torch.special torch.fft torch.nn torch.nn.functional"
ALLOWED_MODULES = {
    "numpy": tuple(_NUMPY_MODULES.split()),
    "torch": (*_NUMPY_MODULES.split(), *_TORCH_MODULES.split()),
    "python": tuple(_PYTHON_MODULES.split()),
}
"""Modules a program may import, by backend."""


class ProgramError(Exception):
    """A program gave no usable value.

    Args:
        reason: one sentence.
        kind: ``FAILED`` or ``REFUSED``.
        flags: bits of the reply.
    """

    def __init__(self, reason: str, *, kind: int = FAILED, flags: int = 0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.flags = flags


class ImportRefused(ImportError):
    """The program imported a module outside its list."""


class Source:
    """A compiled source, ready to be executed anew.

    Args:
        program: the source and its entry point.

    Raises:
        ProgramError: when the source does not compile.
    """

    def __init__(self, program: SandboxProgram) -> None:
        self.program = program
        names = ALLOWED_BUILTINS
        if program.backend == "python":
            names = tuple(name for name in dir(builtins) if name not in _KEPT_FROM_PYTHON)
        self._builtins = {name: getattr(builtins, name) for name in names}
        self._builtins["__import__"] = _importer(program)
        try:
            self._code: CodeType = compile(
                program.source, FILENAME, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True
            )
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise ProgramError(f"the source does not compile: {type(error).__name__}: {error}") from error

    def namespace(self) -> dict[str, Any]:
        """Execute the source in a new namespace."""
        names: dict[str, Any] = {"__builtins__": self._builtins, "__name__": "program"}
        exec(self._code, names)
        return names

    def entry(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The entry point of a fresh run, and its namespace (clear it after use: it holds a reference cycle).

        Raises:
            ProgramError: when the source defines no such function.
        """
        names = self.namespace()
        function = names.get(self.program.entry_point)
        if not callable(function):
            raise ProgramError(f"the source defines no function {self.program.entry_point!r}")
        return function, names


class Caught(AbstractContextManager["Caught"]):
    """Catches whatever a program raises, ``SystemExit`` included, as a :class:`ProgramError`.

    Attributes:
        error: what was caught, or None.
    """

    def __init__(self) -> None:
        self.error: ProgramError | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.error = describe(error)
        return True


def describe(error: BaseException) -> ProgramError:
    """The named state and the reason of an exception a program raised."""
    if isinstance(error, ProgramError):
        return error
    place = _place(error)
    if isinstance(error, ImportRefused):
        return ProgramError(f"{error}{place}", kind=REFUSED)
    if isinstance(error, PermissionError):
        return ProgramError(f"the operating system refused: {_text(error)}{place}", kind=REFUSED)
    if isinstance(error, SystemExit):
        return ProgramError(f"the program asked to exit{place}")
    text = _text(error)
    if isinstance(error, MemoryError) or "can't allocate memory" in text or "Unable to allocate" in text:
        return ProgramError(f"the memory limit was reached: {text or 'MemoryError'}{place}")
    return ProgramError(f"{type(error).__name__}: {text}{place}")


class Parameters:
    """One request's parameters, of which every call gets a copy that shares nothing a program could change.

    Args:
        values: JSON values by name, decoded for this request alone.

    Attributes:
        floats: names of the float-valued parameters, in order; these have gradients.
        numbers: their values.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._flat = not any(isinstance(value, (list, dict)) for value in self._values.values())
        self.floats = [name for name, value in self._values.items() if type(value) is float]
        self.numbers: list[float] = [self._values[name] for name in self.floats]

    def fresh(self) -> dict[str, Any]:
        """A new copy, nested lists and objects included."""
        return self._values.copy() if self._flat else copy.deepcopy(self._values)


def _importer(program: SandboxProgram) -> Callable[..., ModuleType]:
    modules = {name: importlib.import_module(name) for name in ALLOWED_MODULES[program.backend]}
    roots = ", ".join(sorted({_root(name) for name in modules} - {"__future__"}))

    def import_module(
        name: str,
        names: Mapping[str, Any] | None = None,
        local: Mapping[str, Any] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if wanted == []:  # C code of numpy and torch asks like this; an import statement cannot
            return importlib.import_module(name)
        if level or name not in modules:
            raise ImportRefused(f"import of {name!r} is refused; this program may import {roots}")
        return modules[name] if wanted else modules[_root(name)]

    return import_module


def _root(name: str) -> str:
    return name.partition(".")[0]


def _text(error: BaseException) -> str:
    """The message on one line of bounded length."""
    return " ".join(str(error).split())[:MAX_REASON]


def _place(error: BaseException) -> str:
    """The line of the program the exception came from, in words."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == FILENAME]
    return f" (line {lines[-1]} of the program)" if lines else ""
