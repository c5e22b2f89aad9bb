"""The external ChemBench oracle, from a checkout of LLM-AutoSciLab that the user names; none of its code is part of Kernaut.

Only the public ``run(params).measurement`` of ``autoscilab.oracle.chembench.ChemBenchOracle`` is used.  The oracle prints while it is made, which is kept off stdout.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError, OracleFailure

Array = NDArray[np.float64]

ORACLE = "chembench"
MODULE = "autoscilab.oracle.chembench"
REPOSITORY = "github.com/scientific-discovery/LLM-AutoSciLab"
REVISION = "9a37255ff5432a7155b6cde8985e9654f2f8f272"
"""The published protocol's revision; another one is used with a warning."""
NAMES = ("C_A", "C_I", "C_B", "C_P", "Enz", "T", "pH")


class ChemBench:
    """One hidden rate law of ChemBench.

    Args:
        root: the checkout.
        domain: a ChemBench domain.
        difficulty: ``easy``, ``medium`` or ``hard``.
        noise: noise level.
        version: law version.

    Raises:
        InputError: when the checkout is none, or its oracle does not know the domain, difficulty or version.
        OracleFailure: when the checkout's own code raises something else.
    """

    def __init__(self, root: Path, domain: str, *, difficulty: str, noise: float, version: str) -> None:
        make = oracle_class(root)
        self._name = f"{domain} {version}"
        self._root = root
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                self._oracle = make(domain, difficulty=difficulty, noise_level=noise, law_version=version)
            except ValueError as error:
                raise InputError(f"Expected a mechanism that ChemBench at {root} knows. Got: {error}") from error
            except (Exception, SystemExit) as error:
                raise _fault(root, f"an oracle of {self._name}", error) from error

    def measure(self, points: Array) -> Array:
        """Rates of ``n x 7`` experiments, in the order of :data:`NAMES`.

        Raises:
            InputError: for a rate that is not finite.
            OracleFailure: when the checkout's own code raises, or answers with something that is no number.
        """
        found = []
        for row in points:
            params = dict(zip(NAMES, (float(value) for value in row), strict=True))
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    rate = float(self._oracle.run(dict(params)).measurement)
                except (Exception, SystemExit) as error:
                    raise _fault(self._root, f"a rate of {self._name} at {params}", error) from error
            if not math.isfinite(rate):
                raise InputError(f"Expected a finite rate from the oracle of {self._name}. Got {rate} at {params}.")
            found.append(rate)
        return np.array(found)


def _fault(root: Path, wanted: str, error: BaseException) -> OracleFailure:
    return OracleFailure(
        f"Expected {wanted} from the ChemBench checkout at {root}. Got {type(error).__name__}: {error}.",
        hint="That is a fault of the checkout's own code; compare it with the published revision.",
    )


def oracle_class(root: Path) -> Any:
    """The oracle's class, imported from the checkout.

    Raises:
        InputError: when the folder holds no such checkout, or it cannot be imported, whatever its code raises.
    """
    path = root.resolve()
    source = path.joinpath(*MODULE.split(".")).with_suffix(".py")
    if not source.is_file():
        raise InputError(
            f"Expected a checkout of {REPOSITORY} at {root}. Got a folder without {source.relative_to(path)}.",
            hint=f"git clone https://{REPOSITORY} && git -C LLM-AutoSciLab checkout {REVISION}, then give its path; without "
            "--chembench-root, Kernaut's embedded oracle serves, whose numbers are not ChemBench's.",
        )
    return _imported(path)


@lru_cache(maxsize=4)
def _imported(path: Path) -> Any:
    for name in [name for name in sys.modules if name.split(".")[0] == MODULE.split(".")[0]]:
        del sys.modules[name]
    sys.path.insert(0, str(path))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            module = importlib.import_module(MODULE)
        return module.ChemBenchOracle
    except (ImportError, SyntaxError, AttributeError) as error:
        raise InputError(f"Expected ChemBenchOracle in {MODULE} under {path}. Got: {error}.") from error
    except (Exception, SystemExit) as error:
        raise _fault(path, f"ChemBenchOracle in {MODULE}", error) from error
    finally:
        sys.path.remove(str(path))


def revision(root: Path) -> str:
    """The commit that a checkout is at, read from its git folder; ``unknown`` where there is none."""
    git = root / ".git"
    if git.is_file():
        git = root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    head = git / "HEAD"
    if not head.is_file():
        return "unknown"
    text = head.read_text(encoding="utf-8").strip()
    if not text.startswith("ref:"):
        return text
    name = text.removeprefix("ref:").strip()
    if (git / name).is_file():
        return (git / name).read_text(encoding="utf-8").strip()
    packed = git / "packed-refs"
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(" " + name)), "unknown")
