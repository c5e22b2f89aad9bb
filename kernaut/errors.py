"""Exceptions, grouped by what the caller does next.

``InputError``: change what was passed in.  ``ProgramRefused``: rewrite the kernel program.  ``OracleFailure``: list the
episode as failed, or mend the oracle.  ``SandboxFailure``: the program ran and did not answer; record its state.  ``FitError``: the episode failed; record it and go on.
``BudgetSpent``: end the run.  ``ModelFailure``: a language model gives no answer; mend its server or settings and go on.
``WorkerLost``: begin the work again.  ``ArchiveError``: choose or repair the archive file.
"""

from __future__ import annotations

from typing import Literal

FailureState = Literal["refused", "failed", "crashed", "timed out"]


class KernautError(Exception):
    """Base of every error Kernaut raises on purpose.

    Args:
        message: what was expected and what came, one sentence.
        hint: what to do next; shown on a line of its own.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


def _rebuild(kind: type[KernautError], args: tuple[object, ...], state: dict[str, object]) -> KernautError:
    """Rebuild a pickled error (worker processes send errors home) whatever its constructor takes."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(KernautError):
    """An option, file or value from outside is not of the expected kind."""


class ProgramRefused(InputError):
    """A kernel program's source, contract or parameters break a rule; its author must rewrite it."""


class OracleFailure(InputError):
    """An oracle, which is somebody else's code, raised instead of measuring.

    Attributes:
        episode: the name of the episode that has no measurements because of it; empty where it concerns all.
        family: that episode's family.
    """

    def __init__(self, message: str, *, hint: str | None = None, episode: str = "", family: str = "") -> None:
        super().__init__(message, hint=hint)
        self.episode, self.family = episode, family


class SandboxFailure(KernautError):
    """A sandboxed program gave no value.

    Attributes:
        state: ``refused`` (the screening or the operating system said no), ``failed`` (it raised, or answered with the wrong
            shape or a non-finite number), ``crashed`` (the process died) or ``timed out``.
    """

    def __init__(self, state: FailureState, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.state: FailureState = state


class BudgetSpent(KernautError):
    """A run has used up its rounds or tool calls; what it has submitted stands."""


class AllowanceSpent(BudgetSpent):
    """The campaign's tokens or money are spent, so that no run can ask a language model any more."""


class ModelFailure(KernautError):
    """A language model gives no answer, and waiting would not change that; what was accepted before stands."""


class RequestRefused(ModelFailure):
    """A model's server refuses one conversation, for its length or its form; another one may be taken."""


class FitError(KernautError):
    """No grid point of an episode has a positive definite matrix."""


class WorkerLost(KernautError):
    """A worker process was ended from outside; the work may be begun again."""


class ArchiveError(KernautError):
    """An archive is missing, foreign, newer than this version, frozen or damaged."""
