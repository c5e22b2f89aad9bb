from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from kernaut.episodes.chembench import REVISION, ChemBench, oracle_class, revision
from kernaut.errors import InputError, OracleFailure

ORACLE = """
class Result:
    def __init__(self, value):
        self.measurement = value


class ChemBenchOracle:
    def __init__(self, domain, difficulty, noise_level, law_version):
        if domain != "c0_michaelis_menten":
            raise ValueError(f"unknown domain {domain}")
        print("loud while constructing")
        self.law = {"v0": 1.0, "v1": 2.0, "v2": float("nan")}[law_version]

    def run(self, params):
        print("loud while running")
        return Result(self.law * params["C_A"] + MARK)
"""


def checkout(root: Path, mark: float = 0.0, source: str = ORACLE) -> Path:
    package = root / "autoscilab" / "oracle"
    package.mkdir(parents=True)
    (root / "autoscilab" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("print('loud while importing')\n")
    (package / "chembench.py").write_text(f"MARK = {mark}\n" + source)
    return root


def make(root: Path, domain: str = "c0_michaelis_menten", version: str = "v0") -> ChemBench:
    return ChemBench(root, domain, difficulty="easy", noise=0.01, version=version)


POINTS = np.arange(14.0).reshape(2, 7)


def test_measurements_come_from_the_named_checkout_and_prints_do_not_reach_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = checkout(tmp_path / "one"), checkout(tmp_path / "two", mark=100.0)
    np.testing.assert_array_equal(make(one, version="v1").measure(POINTS), [0.0, 14.0])
    np.testing.assert_array_equal(make(two).measure(POINTS), [100.0, 107.0])
    np.testing.assert_array_equal(make(one).measure(POINTS), [0.0, 7.0])
    assert capsys.readouterr().out == ""
    assert not {str(one), str(two)} & set(sys.path)


def test_a_rate_that_is_not_finite_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"Expected a finite rate from the oracle of c0_michaelis_menten v2. Got nan at"
    ):
        make(checkout(tmp_path), version="v2").measure(POINTS)


RAISING = ORACLE.replace(
    'print("loud while running")', 'if params["C_A"] == 7.0:\n            raise ZeroDivisionError("no substrate")'
)


def test_a_checkout_that_raises_is_named(tmp_path: Path) -> None:
    root = checkout(tmp_path / "raising", source=RAISING)
    assert make(root).measure(POINTS[:1]) == [0.0]
    with pytest.raises(
        OracleFailure,
        match=r"Expected a rate of c0_michaelis_menten v0 at .*'C_A': 7.0.* checkout at .*raising. Got ZeroDivisionError: no substrate.",
    ):
        make(root).measure(POINTS)
    with pytest.raises(OracleFailure, match=r"Expected an oracle of c0_michaelis_menten v9 .* Got KeyError: 'v9'."):
        make(root, version="v9")
    with pytest.raises(OracleFailure, match=r"Expected ChemBenchOracle in .* Got SystemExit: 3"):
        oracle_class(checkout(tmp_path / "leaving", source="raise SystemExit(3)"))
    with pytest.raises(OracleFailure, match=r"Got TypeError: .*NoneType"):
        make(checkout(tmp_path / "none", source=ORACLE.replace("Result(self.law", "Result(None); (self.law"))).measure(
            POINTS
        )


def test_an_unknown_mechanism_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Expected a mechanism that ChemBench at .* Got: unknown domain c99"):
        make(checkout(tmp_path), domain="c99")


def test_a_wrong_root_says_what_to_clone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Expected a checkout of github.com/.*LLM-AutoSciLab at .*git clone https://"):
        oracle_class(tmp_path)
    with pytest.raises(InputError, match=r"Expected ChemBenchOracle in .* Got: .*no attribute"):
        oracle_class(checkout(tmp_path / "empty", source=""))


def test_the_revision_is_read_from_git(tmp_path: Path) -> None:
    assert revision(tmp_path) == "unknown"
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text(f"{REVISION}\n")
    assert revision(tmp_path) == REVISION
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert revision(tmp_path) == "unknown"
    (git / "packed-refs").write_text(f"# pack-refs\n{'1' * 40} refs/heads/main\n")
    assert revision(tmp_path) == "1" * 40
    (git / "refs" / "heads" / "main").write_text("2" * 40)
    assert revision(tmp_path) == "2" * 40
