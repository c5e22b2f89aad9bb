import pickle
from pathlib import Path

from kernaut.errors import KernautError
from kernaut.runs import failures


def test_exit_codes_differ() -> None:
    kinds = [
        failures.NotebookInputError,
        failures.CellFailure,
        failures.NotebookTimeout,
        failures.DeadKernel,
        failures.MissingReport,
        failures.NotebookInterrupted,
    ]
    assert len({kind.exit_code for kind in kinds} | {0, 1}) == len(kinds) + 2


def test_failures_travel_between_processes() -> None:
    error = failures.CellFailure("Expected.", directory=Path("x"), hint="Look.")
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, KernautError)
    assert (str(back), back.directory) == ("Expected. Look.", Path("x"))
    assert not isinstance(failures.NotebookInterrupted(Path("x")), Exception)
