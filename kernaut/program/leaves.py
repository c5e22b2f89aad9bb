"""What the library's kernel leaves are called, and the legal values of their parameters.

Numbers can be differentiated and tuned; options (counts, seeds, orders) cannot.  The formulas stand in
:mod:`kernaut.kernels.library`; nothing here computes a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

TINY = 1e-10
HUGE = 1e10


@dataclass(frozen=True)
class Number:
    """A real parameter of a leaf: one number, or an array of them.

    Args:
        name: its key in a base node.
        lower: smallest legal value.
        upper: largest legal value.
        default: the value when absent; ``None`` means it must be given.
        ranks: legal array ranks (0: one number, 1: a list, 2: a list of equally long lists).
    """

    name: str
    lower: float
    upper: float = HUGE
    default: float | None = None
    ranks: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Option:
    """A whole number that chooses among kernels; ``default`` of ``None`` means that it may be left out."""

    name: str
    lower: int
    upper: int
    default: int | None = None


@dataclass(frozen=True)
class LeafKind:
    """One kernel of the library.

    Args:
        name: the ``kind`` of its base node.
        formula: in words of this package, with r the Euclidean distance of the inputs divided by the lengthscale.
        numbers: its real parameters, in the order in which they are laid out in a vector.
        options: its whole-number options.
        ard: whether it takes ``lengthscales`` (list, number or geometric ramp) in place of ``lengthscale``.
    """

    name: str
    formula: str
    numbers: tuple[Number, ...] = ()
    options: tuple[Option, ...] = ()
    ard: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The legal keys of its base node."""
        scales = ("lengthscales", "lengthscale") if self.ard else ()
        names = (*(n.name for n in self.numbers), *scales, *(o.name for o in self.options))
        return ("op", "kind", *names)


VARIANCE = Number("variance", 0.0, default=1.0)
LENGTHSCALE = Number("lengthscale", TINY, default=1.0)
LENGTHSCALES = Number("lengthscales", TINY, ranks=(0, 1))
PLAIN = (VARIANCE, LENGTHSCALE)

LEAF_KINDS: dict[str, LeafKind] = {
    leaf.name: leaf
    for leaf in (
        LeafKind("linear", "variance x . z / lengthscale^2", PLAIN),
        LeafKind("rbf", "variance exp(-r^2/2)", PLAIN),
        LeafKind("matern12", "variance exp(-r)", PLAIN),
        LeafKind("matern32", "variance (1 + sqrt(3) r) exp(-sqrt(3) r)", PLAIN),
        LeafKind("matern52", "variance (1 + sqrt(5) r + 5 r^2/3) exp(-sqrt(5) r)", PLAIN),
        LeafKind("rq", "variance (1 + r^2/(2 alpha))^-alpha", (*PLAIN, Number("alpha", TINY, default=1.0))),
        LeafKind(
            "periodic",
            "variance prod_i exp(-2 sin^2(pi (x_i - z_i)/period)/lengthscale^2)",
            (*PLAIN, Number("period", TINY, default=1.0)),
        ),
        LeafKind(
            "cosine",
            "variance prod_i cos(pi (x_i - z_i)/(period lengthscale))",
            (*PLAIN, Number("period", TINY, default=1.0)),
        ),
        LeafKind(
            "polynomial",
            "variance (x . z / lengthscale^2 + offset)^power",
            (*PLAIN, Number("offset", 0.0, default=1.0)),
            (Option("power", 1, 10, 2),),
        ),
        LeafKind(
            "piecewise_polynomial",
            "variance times Wendland's compactly supported polynomial of smoothness q in r, valid up to `dimension`",
            PLAIN,
            (Option("q", 0, 3, 2), Option("dimension", 1, 10_000)),
        ),
        LeafKind(
            "spectral_mixture",
            "variance sum_q weight_q prod_i exp(-2 pi^2 scale_qi^2 t_i^2) cos(2 pi mean_qi t_i), t = (x - z)/lengthscale",
            (
                *PLAIN,
                Number("weights", 0.0, ranks=(1,)),
                Number("means", -HUGE, ranks=(1, 2)),
                Number("scales", 0.0, ranks=(1, 2)),
            ),
        ),
        LeafKind(
            "rff",
            "variance phi(x) . phi(z), phi_j(x) = sqrt(2/m) cos(omega_j . x / lengthscale + bias_j)",
            (*PLAIN, Number("omega", -HUGE, ranks=(2,)), Number("bias", -HUGE, ranks=(1,))),
            (Option("features", 1, 8192), Option("seed", 0, 2**64 - 1)),
        ),
        LeafKind("ard_rbf", "rbf with one lengthscale a coordinate", (VARIANCE,), ard=True),
        LeafKind("ard_matern32", "matern32 with one lengthscale a coordinate", (VARIANCE,), ard=True),
        LeafKind("ard_matern52", "matern52 with one lengthscale a coordinate", (VARIANCE,), ard=True),
    )
}
