"""Enzyme kinetics: predict the rate of further experiments on a hidden rate law from twenty.

An episode is one law version of one mechanism: seven inputs a experiment, drawn anew for fitting and for queries, and the measured initial rate.  The task predicts rates; it
does not recover a law.  Ten mechanisms serve train and validation, five others test.

Two oracles: ChemBench's own, from a checkout that the user names, and Kernaut's embedded one (:mod:`kernaut.episodes.rate_laws`), whose numbers are not ChemBench's.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.episodes import chembench, rate_laws
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.coordinate import Coordinate
from kernaut.episodes.episode import Episode, episode_seed, require_split
from kernaut.errors import InputError, OracleFailure

Array = NDArray[np.float64]

SEEN = (
    "c0_michaelis_menten",
    "c1_competitive_inhibition",
    "c2_product_inhibition",
    "c3_arrhenius_temperature",
    "c4_ph_activity",
    "c5_pingpong_bisubstrate",
    "c6_uncompetitive_inhibition",
    "c7_substrate_inhibition",
    "c8_hill_cooperativity",
    "c9_noncompetitive_inhibition",
)
UNSEEN = (
    "c65_ordered_bi_bi",
    "c66_reversible_mm",
    "c67_allosteric_act",
    "c69_fractal_kinetics",
    "c73_metal_activation",
)
VERSIONS = ("v0", "v1", "v2")
RELATIVE_FLOOR = 0.1
SCALE_FLOOR = 1e-6
LARGEST_RATE = 1e150
"""Squares of larger ones are beyond floats."""

INPUTS = (
    Coordinate("C_A", "substrate", "concentration of substrate A", 0.01, 100.0, log=True, unit="mM"),
    Coordinate("C_I", "inhibitor", "concentration of an inhibitor, which may do nothing", 0.0, 50.0, unit="mM"),
    Coordinate(
        "C_B",
        "substrate",
        "concentration of B: second substrate, activator or nothing",
        0.01,
        100.0,
        log=True,
        unit="mM",
    ),
    Coordinate("C_P", "inhibitor", "initial concentration of the product", 0.0, 20.0, unit="mM"),
    Coordinate("Enz", "enzyme", "enzyme loading; rates are proportional to it", 0.01, 10.0, log=True, unit="mg/mL"),
    Coordinate("T", "temperature", "temperature, of Arrhenius kind where it matters", 278.0, 368.0, unit="K"),
    Coordinate("pH", "acidity", "pH, a bell where it matters", 4.0, 10.0),
)


class EnzymeKinetics(Benchmark):
    """Rates of fifteen enzyme mechanisms.

    Args:
        chembench_root: a checkout of LLM-AutoSciLab; Kernaut's embedded oracle if absent.
        difficulty: ``easy``, ``medium`` or ``hard``.
        noise_level: relative noise of a measurement.
        train_points: experiments for fitting.
        test_points: experiments to predict.

    Raises:
        InputError: for a value out of range, or a root that is no such checkout.
    """

    name = "enzymes"
    dimensions = (7,)
    refinement_episodes = 20
    coordinates = INPUTS

    def __init__(
        self,
        chembench_root: str | None = None,
        difficulty: str = "easy",
        noise_level: float = 0.01,
        train_points: int = 20,
        test_points: int = 20,
    ) -> None:
        if difficulty not in rate_laws.DIFFICULTIES:
            raise InputError(f"Expected a difficulty of {', '.join(rate_laws.DIFFICULTIES)}. Got {difficulty!r}.")
        if not isinstance(noise_level, (int, float)) or not 0.0 <= noise_level <= 1.0:
            raise InputError(f"Expected a noise level from 0 to 1. Got {noise_level!r}.")
        for label, count in (("fitting", train_points), ("test", test_points)):
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 1000:
                raise InputError(f"Expected 1 to 1000 {label} points. Got {count!r}.")
        self.difficulty, self.noise_level = difficulty, float(noise_level)
        self.train_points, self.test_points = train_points, test_points
        self.root = None if chembench_root is None else Path(chembench_root)
        if self.root is not None:
            chembench.oracle_class(self.root)

    @property
    def oracle(self) -> str:
        """``chembench``, or ``kernaut-embedded``."""
        return rate_laws.ORACLE if self.root is None else chembench.ORACLE

    @property
    def warning(self) -> str | None:
        """What a reader of numbers must know beforehand; None when everything is as published."""
        if self.root is None:
            return "Kernaut's embedded oracle serves; its numbers are not ChemBench's. Give --chembench-root for those."
        found = chembench.revision(self.root)
        if found == chembench.REVISION:
            return None
        return f"Expected LLM-AutoSciLab at revision {chembench.REVISION}. Got {found}, which stands in the report."

    def families(self, split: str) -> tuple[str, ...]:
        """Ten mechanisms for train and validation, five others for test."""
        return UNSEEN if require_split(split) == "test" else SEEN

    def options(self) -> dict[str, Any]:
        """The oracle with its revision, difficulty, noise and sizes."""
        return {
            "oracle": self.oracle,
            "revision": "own" if self.root is None else chembench.revision(self.root),
            "difficulty": self.difficulty,
            "noise_level": self.noise_level,
            "train_points": self.train_points,
            "test_points": self.test_points,
        }

    def measure(self, domain: str, version: str, seed: int, points: Array) -> Array:
        """Rates of ``n x 7`` experiments under one law.

        Raises:
            InputError: for an unknown mechanism, or a rate that is not finite.
            OracleFailure: when the code of an external oracle raises.
        """
        oracle: rate_laws.EmbeddedOracle | chembench.ChemBench
        if self.root is None:
            oracle = rate_laws.EmbeddedOracle(
                domain, difficulty=self.difficulty, noise=self.noise_level, version=version, seed=seed
            )
        else:
            oracle = chembench.ChemBench(
                self.root, domain, difficulty=self.difficulty, noise=self.noise_level, version=version
            )
        rates = oracle.measure(points)
        absurd = ~(np.abs(rates) <= LARGEST_RATE)
        if absurd.any():
            place = int(np.argmax(absurd))
            raise InputError(
                f"Expected finite rates from the oracle of {domain} {version}. Got {rates[place]} at {points[place].tolist()}."
            )
        return rates

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        domain = self.families(split)[family_index]
        seed = episode_seed(split, family_index, episode_index)
        version = VERSIONS[episode_index % len(VERSIONS)]
        points = draw_experiments(np.random.default_rng(seed), self.train_points + self.test_points)
        name = f"{'' if self.root is not None else 'embedded:'}{domain}:seed-{seed}"
        try:
            rates = self.measure(domain, version, seed, points)
        except OracleFailure as error:
            raise OracleFailure(error.message, hint=error.hint, episode=name, family=domain) from error
        inputs, count = encode(points), self.train_points
        fitting = rates[:count]
        mean = float(fitting.mean())
        scale = max(float(fitting.std()), RELATIVE_FLOOR * abs(mean), SCALE_FLOOR)
        return Episode(
            name=name,
            benchmark=self.name,
            split=split,
            family=domain,
            seed=seed,
            fit_inputs=inputs[:count],
            fit_targets=(fitting - mean) / scale,
            query_inputs=inputs[count:],
            query_targets=(rates[count:] - mean) / scale,
            target_mean=mean,
            target_scale=scale,
            tags={"version": version, "oracle": self.oracle, "unit": "mM/min"},
        )


def draw_experiments(rng: np.random.Generator, count: int) -> Array:
    """``count x 7`` experiments in the inputs' units, drawn one after another, each input in order."""
    lower = np.array([math.log(c.lower) if c.log else c.lower for c in INPUTS])
    upper = np.array([math.log(c.upper) if c.log else c.upper for c in INPUTS])
    drawn = rng.uniform(lower, upper, (count, len(INPUTS)))
    return np.where([c.log for c in INPUTS], np.exp(drawn), drawn)


def encode(points: Array) -> Array:
    """``n x 7`` experiments in the inputs' units to the unit cube, logarithmic inputs on their logarithms."""
    columns = []
    for column, c in zip(points.T, INPUTS, strict=True):
        low, high = (math.log(c.lower), math.log(c.upper)) if c.log else (c.lower, c.upper)
        columns.append(((np.log(column) if c.log else column) - low) / (high - low))
    return np.stack(columns, axis=1)
