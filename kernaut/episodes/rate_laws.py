"""Kernaut's own enzyme rate laws and the embedded oracle that runs them: NOT ChemBench, whose constants, law versions and noise are its own.

Fifteen mechanisms under the names that ChemBench gives its own, so that a search can be tried without a checkout of it.  Numbers obtained here cannot be laid beside
published ChemBench numbers; reports say ``kernaut-embedded``.

Initial rates from the textbooks, all for an enzyme loading E [mg/mL], substrates A and B, inhibitor I, product P [mM]; R = 8.314 J/(mol K):

- Cornish-Bowden, A. (2012), Fundamentals of Enzyme Kinetics, 4th ed., Wiley: Michaelis-Menten (eq. 2.14), competitive, uncompetitive, pure non-competitive and substrate
  inhibition (chapter 6), product inhibition and the reversible Haldane form (chapter 2), ping-pong and ordered two-substrate rates (chapter 8), the Michaelis pH
  functions (chapter 10), Arrhenius temperature dependence (chapter 11), Hill's equation (chapter 12).
- Segel, I. H. (1975), Enzyme Kinetics, Wiley: non-essential activation (eq. V-6) and essential activation by a metal (chapter V).
- Savageau, M. A. (1995), J. theor. Biol. 176, 115-124: Michaelis-Menten kinetics in a fractal space, a saturating law of fractional kinetic order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.seeds import generator

Array = NDArray[np.float64]
Constants = Mapping[str, float]

ORACLE = "kernaut-embedded"
GAS_CONSTANT = 8.314
REFERENCE_TEMPERATURE = 310.0
DIFFICULTIES: Mapping[str, float] = {"easy": 1.0, "medium": 0.25, "hard": 0.05}
"""What every half-saturation constant is multiplied by: a smaller one moves the informative range of concentrations to the edge of what is drawn."""


@dataclass(frozen=True)
class Experiment:
    """What one experiment is run with: concentrations [mM], loading [mg/mL], temperature [K] and pH, each ``n`` values."""

    a: Array
    i: Array
    b: Array
    p: Array
    e: Array
    t: Array
    ph: Array


Law = Callable[[Experiment, Constants], Array]


def michaelis_menten(x: Experiment, c: Constants) -> Array:
    """E k A / (Km + A)."""
    return x.e * c["k"] * x.a / (c["Km"] + x.a)


def competitive(x: Experiment, c: Constants) -> Array:
    """E k A / (Km (1 + I/Ki) + A)."""
    return x.e * c["k"] * x.a / (c["Km"] * (1.0 + x.i / c["Ki"]) + x.a)


def product_inhibition(x: Experiment, c: Constants) -> Array:
    """E k A / (Km (1 + P/Kp) + A)."""
    return x.e * c["k"] * x.a / (c["Km"] * (1.0 + x.p / c["Kp"]) + x.a)


def arrhenius(x: Experiment, c: Constants) -> Array:
    """Michaelis-Menten times exp(-Ea/R (1/T - 1/310 K))."""
    factor = np.exp(-c["Ea"] / GAS_CONSTANT * (1.0 / x.t - 1.0 / REFERENCE_TEMPERATURE))
    return michaelis_menten(x, c) * factor


def ph_activity(x: Experiment, c: Constants) -> Array:
    """Michaelis-Menten over the Michaelis pH function 1 + 10^(pK1 - pH) + 10^(pH - pK2)."""
    return michaelis_menten(x, c) / (1.0 + 10.0 ** (c["pK1"] - x.ph) + 10.0 ** (x.ph - c["pK2"]))


def ping_pong(x: Experiment, c: Constants) -> Array:
    """E k A B / (KmB A + KmA B + A B)."""
    return x.e * c["k"] * x.a * x.b / (c["KmB"] * x.a + c["KmA"] * x.b + x.a * x.b)


def uncompetitive(x: Experiment, c: Constants) -> Array:
    """E k A / (Km + A (1 + I/Ki))."""
    return x.e * c["k"] * x.a / (c["Km"] + x.a * (1.0 + x.i / c["Ki"]))


def substrate_inhibition(x: Experiment, c: Constants) -> Array:
    """E k A / (Km + A + A^2/Ks)."""
    return x.e * c["k"] * x.a / (c["Km"] + x.a + x.a**2 / c["Ks"])


def hill(x: Experiment, c: Constants) -> Array:
    """E k A^h / (Kh^h + A^h)."""
    return x.e * c["k"] * x.a ** c["h"] / (c["Kh"] ** c["h"] + x.a ** c["h"])


def noncompetitive(x: Experiment, c: Constants) -> Array:
    """E k A / ((Km + A) (1 + I/Ki))."""
    return michaelis_menten(x, c) / (1.0 + x.i / c["Ki"])


def ordered_bi_bi(x: Experiment, c: Constants) -> Array:
    """E k A B / (KiA KmB + KmB A + KmA B + A B)."""
    return x.e * c["k"] * x.a * x.b / (c["KiA"] * c["KmB"] + c["KmB"] * x.a + c["KmA"] * x.b + x.a * x.b)


def reversible(x: Experiment, c: Constants) -> Array:
    """E (kf A/Km - kr P/Kp) / (1 + A/Km + P/Kp), net: negative where the reaction runs backwards."""
    forward, backward = x.a / c["Km"], x.p / c["Kp"]
    return x.e * (c["kf"] * forward - c["kr"] * backward) / (1.0 + forward + backward)


def allosteric_activation(x: Experiment, c: Constants) -> Array:
    """E k A (1 + g B/(q Kb)) / (Km (1 + B/Kb) + A (1 + B/(q Kb))): B speeds the reaction up and is not needed."""
    bound = x.b / c["Kb"]
    top = x.e * c["k"] * x.a * (1.0 + c["g"] * bound / c["q"])
    return top / (c["Km"] * (1.0 + bound) + x.a * (1.0 + bound / c["q"]))


def fractal(x: Experiment, c: Constants) -> Array:
    """E k A^f / (Km^f + A^f) with a kinetic order f below 1."""
    return x.e * c["k"] * x.a ** c["f"] / (c["Km"] ** c["f"] + x.a ** c["f"])


def metal_activation(x: Experiment, c: Constants) -> Array:
    """E k A / (Km (1 + Kb/B) + A (1 + Kb/B)): nothing happens without the metal B."""
    return michaelis_menten(x, c) / (1.0 + c["Kb"] / x.b)


@dataclass(frozen=True)
class Mechanism:
    """A rate law with three sets of constants.

    Args:
        law: ``n`` experiments and constants to ``n`` rates [mM/min].
        versions: constants of v0, v1 and v2 at difficulty ``easy``.
    """

    law: Law
    versions: tuple[Constants, Constants, Constants]


def _versions(names: str, *rows: Sequence[float]) -> tuple[Constants, Constants, Constants]:
    first, second, third = (dict(zip(names.split(), row, strict=True)) for row in rows)
    return first, second, third


MECHANISMS: dict[str, Mechanism] = {
    "c0_michaelis_menten": Mechanism(michaelis_menten, _versions("k Km", (6, 1.5), (4, 0.4), (9, 12))),
    "c1_competitive_inhibition": Mechanism(competitive, _versions("k Km Ki", (6, 2.5, 1.2), (4, 0.8, 4), (7, 6, 0.7))),
    "c2_product_inhibition": Mechanism(
        product_inhibition, _versions("k Km Kp", (5.5, 2, 0.8), (4, 1.2, 3), (8, 7, 0.5))
    ),
    "c3_arrhenius_temperature": Mechanism(
        arrhenius, _versions("k Km Ea", (4, 1.5, 42_000), (3, 0.6, 60_000), (6, 9, 30_000))
    ),
    "c4_ph_activity": Mechanism(
        ph_activity, _versions("k Km pK1 pK2", (6, 1.5, 5.6, 8.4), (5, 0.5, 6.3, 9.1), (8, 8, 5.1, 7.2))
    ),
    "c5_pingpong_bisubstrate": Mechanism(ping_pong, _versions("k KmA KmB", (6, 2, 3), (5, 0.6, 8), (9, 9, 1.1))),
    "c6_uncompetitive_inhibition": Mechanism(
        uncompetitive, _versions("k Km Ki", (6, 1.8, 2), (5, 0.7, 6), (8, 5, 0.9))
    ),
    "c7_substrate_inhibition": Mechanism(
        substrate_inhibition, _versions("k Km Ks", (8, 1.6, 12), (6, 0.5, 30), (10, 4, 6))
    ),
    "c8_hill_cooperativity": Mechanism(hill, _versions("k Kh h", (6, 2.2, 2.3), (5, 0.7, 3.1), (8, 9, 1.8))),
    "c9_noncompetitive_inhibition": Mechanism(
        noncompetitive, _versions("k Km Ki", (6, 1.7, 3), (5, 0.5, 9), (8, 7, 1.4))
    ),
    "c65_ordered_bi_bi": Mechanism(
        ordered_bi_bi, _versions("k KiA KmA KmB", (7, 1.4, 1.8, 2.6), (5, 0.5, 0.9, 6), (9, 4, 7, 1.3))
    ),
    "c66_reversible_mm": Mechanism(
        reversible, _versions("kf kr Km Kp", (7, 1.6, 1.9, 3.5), (5, 0.9, 0.7, 6), (9, 2.5, 8, 4))
    ),
    "c67_allosteric_act": Mechanism(
        allosteric_activation, _versions("k Km Kb g q", (2, 2, 3, 4, 0.6), (1.6, 0.8, 8, 6, 1.5), (3, 7, 1.2, 3, 0.4))
    ),
    "c69_fractal_kinetics": Mechanism(fractal, _versions("k Km f", (6, 1.8, 0.7), (5, 0.6, 0.55), (8, 8, 0.8))),
    "c73_metal_activation": Mechanism(metal_activation, _versions("k Km Kb", (6, 1.6, 2.4), (5, 0.6, 7), (8, 6, 1.1))),
}
_SCALED = ("Km", "Ki", "Kp", "Ks", "Kh", "KmA", "KmB", "KiA", "Kb")


def constants(domain: str, version: str, difficulty: str) -> dict[str, float]:
    """Constants of a mechanism's version at a difficulty.

    Raises:
        InputError: for an unknown mechanism, version or difficulty.
    """
    if domain not in MECHANISMS:
        raise InputError(f"Expected a mechanism of {', '.join(MECHANISMS)}. Got {domain!r}.")
    if difficulty not in DIFFICULTIES:
        raise InputError(f"Expected a difficulty of {', '.join(DIFFICULTIES)}. Got {difficulty!r}.")
    if version not in ("v0", "v1", "v2"):
        raise InputError(f"Expected a law version of v0, v1, v2. Got {version!r}.")
    factor = DIFFICULTIES[difficulty]
    found = MECHANISMS[domain].versions[int(version[1])]
    return {name: float(value) * (factor if name in _SCALED else 1.0) for name, value in found.items()}


class EmbeddedOracle:
    """Runs the rate laws above with multiplicative Gaussian noise; not ChemBench.

    Args:
        domain: a mechanism of :data:`MECHANISMS`.
        difficulty: ``easy``, ``medium`` or ``hard``.
        noise: relative standard deviation of a measurement.
        version: ``v0``, ``v1`` or ``v2``.
        seed: of the noise; the episode's.
    """

    def __init__(self, domain: str, *, difficulty: str, noise: float, version: str, seed: int) -> None:
        self._constants = constants(domain, version, difficulty)
        self._law = MECHANISMS[domain].law
        self._noise = noise
        self._rng = generator(ORACLE, domain, seed)

    def measure(self, points: Array) -> Array:
        """Rates [mM/min] of ``n x 7`` experiments, in the order C_A, C_I, C_B, C_P, Enz, T, pH; noise is drawn in their order."""
        rates = self._law(Experiment(*points.T), self._constants)
        factor = 1.0 + self._noise * self._rng.standard_normal(len(points))
        return np.asarray(rates * factor, dtype=np.float64)
