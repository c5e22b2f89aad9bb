"""Blocks for enzyme kinetics: shapes of textbook rate laws, all proportional to the enzyme loading.

Inputs are (C_A, C_I, C_B, C_P, Enz, T, pH) on the unit cube, concentrations of substrates and enzyme on a log scale.  A block that has fewer inputs to look at sees the middle of the
range, so that programs run in any dimension; inputs are clamped to the cube, where all experiments lie.

Each block is a bundle of laws on a ladder of constants: the data chooses among them, and no constant of any particular law is in the source.
Reference: Cornish-Bowden (2012), Fundamentals of Enzyme Kinetics.
"""

from __future__ import annotations

from kernaut.authors.blocks import Block, Slot

_LAW = ("input_geometry", "feature_projection", "residual_composite")
_PAIR = ("additive_interaction", "multiresolution_local")

EXPERIMENT = '''
def experiment(x):
    """Concentrations [mM], loading over its mean, temperature [K] and pH of one point; inputs that are missing count as 1/2."""
    u = torch.clamp(torch.cat((x, 0.5 * torch.ones(7, dtype=x.dtype)))[:7], 0.0, 1.0)
    a = 0.01 * torch.exp(math.log(1e4) * u[0:1])
    b = 0.01 * torch.exp(math.log(1e4) * u[2:3])
    loading = 0.01 * torch.exp(math.log(1e3) * u[4:5]) / 1.45
    return a, 50.0 * u[1:2], b, 20.0 * u[3:4], loading, 278.0 + 90.0 * u[5:6], 4.0 + 6.0 * u[6:7]
'''
SHAPES = '''
def rate_shapes(a):
    """Ten responses to the substrate: saturation at five constants, sigmoid at three, inhibition by excess at two."""
    ladder = torch.tensor([0.1, 0.5, 2.5, 12.0, 60.0], dtype=torch.float64)
    excess = torch.tensor([6.0, 30.0], dtype=torch.float64)
    plain = a / (ladder + a)
    sigmoid = a**2 / (ladder[1:4] ** 2 + a**2)
    humped = a / (1.0 + a + a**2 / excess)
    return torch.cat((plain, 0.4 * sigmoid, 0.5 * humped)) / 2.0
'''

LOADING = '''
def feature_point(x, parameters):
    """The enzyme loading over its mean."""
    u = torch.clamp(torch.cat((x, 0.5 * torch.ones(7, dtype=x.dtype)))[:7], 0.0, 1.0)
    return 0.01 * torch.exp(math.log(1e3) * u[4:5]) / 1.45
'''


def _weight(initial: float, lower: float = 0.02, upper: float = 20.0) -> Slot:
    return Slot("weight", initial, lower, upper)


_ENZYMES = (
    Block(
        "loaded_saturation",
        "sat",
        (_weight(4.0),),
        '''
def loaded_saturation(x, weight):
    """Rates that depend on loading and substrate alone."""
    a, i, b, p, e, t, h = experiment(x)
    return weight * e * rate_shapes(a)
''',
        "w E r_j(A), r_j saturating, sigmoid or humped",
        (*_LAW, *_PAIR, "spectral_periodic"),
        helpers=("experiment", "rate_shapes"),
        interacts=True,
        growth="constant",
    ),
    Block(
        "hindered_saturation",
        "hinder",
        (_weight(4.0),),
        '''
def hindered_saturation(x, weight):
    """Rates that an inhibitor lowers, at three constants, whatever the substrate."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.3, 1.5, 8.0], dtype=torch.float64)
    factors = 1.0 / (1.0 + i / ladder)
    return weight * e * torch.reshape(rate_shapes(a)[:, None] * factors[None, :], (-1,))
''',
        "w E r_j(A) / (1 + I/K_k)",
        (*_LAW, *_PAIR),
        helpers=("experiment", "rate_shapes"),
        interacts=True,
        growth="constant",
    ),
    Block(
        "competitive_saturation",
        "rival",
        (_weight(1.0),),
        '''
def competitive_saturation(x, weight):
    """Rates whose half-saturation an inhibitor or the product raises."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.2, 0.8, 3.0, 12.0], dtype=torch.float64)
    rivals = torch.cat((i / 4.0, i / 0.7, p / 4.0, p / 0.7))
    rates = a / (ladder[:, None] * (1.0 + rivals[None, :]) + a)
    return weight * e * torch.reshape(rates, (-1,)) / 2.0
''',
        "w E A / (K_j (1 + I/K_k) + A), and with P for I",
        (*_LAW, *_PAIR),
        helpers=("experiment",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "uncompetitive_saturation",
        "unrival",
        (_weight(0.7),),
        '''
def uncompetitive_saturation(x, weight):
    """Rates that an inhibitor lowers where the substrate saturates."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.2, 0.8, 3.0, 12.0], dtype=torch.float64)
    bound = torch.cat((i / 6.0, i / 1.0))
    rates = a / (ladder[:, None] + a * (1.0 + bound[None, :]))
    return weight * e * torch.reshape(rates, (-1,)) / 2.0
''',
        "w E A / (K_j + A (1 + I/K_k))",
        _PAIR,
        helpers=("experiment",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "product_saturation",
        "product",
        (_weight(0.5),),
        '''
def product_saturation(x, weight):
    """Rates that the product lowers, and its own backward rate."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.3, 1.5, 8.0], dtype=torch.float64)
    lowered = torch.reshape(rate_shapes(a)[:, None] / (1.0 + p / ladder)[None, :], (-1,))
    backward = torch.reshape((p / ladder)[:, None] / (1.0 + (p / ladder)[:, None] + (a / ladder)[None, :]), (-1,))
    return weight * e * torch.cat((lowered, 0.5 * backward))
''',
        "w E (r_j(A) / (1 + P/K_k), (P/K_k) / (1 + P/K_k + A/K_l))",
        (*_PAIR, "residual_composite"),
        helpers=("experiment", "rate_shapes"),
        interacts=True,
        growth="constant",
    ),
    Block(
        "partnered_saturation",
        "partner",
        (_weight(0.8),),
        '''
def partnered_saturation(x, weight):
    """Rates that a second substrate or activator limits, at three constants."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.15, 1.0, 7.0], dtype=torch.float64)
    return weight * e * torch.reshape(rate_shapes(a)[:, None] * (b / (ladder + b))[None, :], (-1,))
''',
        "w E r_j(A) B / (K_k + B)",
        (*_LAW, *_PAIR),
        helpers=("experiment", "rate_shapes"),
        interacts=True,
        growth="constant",
    ),
    Block(
        "exchanged_pair",
        "pair",
        (_weight(0.8),),
        '''
def exchanged_pair(x, weight):
    """Two-substrate rates with a common denominator, ping-pong, on a ladder of constants for each."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.2, 1.0, 5.0, 25.0], dtype=torch.float64)
    rates = 1.0 / (1.0 + (ladder / a)[:, None] + (ladder / b)[None, :])
    return weight * e * torch.reshape(rates, (-1,)) / 2.0
''',
        "w E A B / (A B + K_j B + K_k A)",
        (*_PAIR, "residual_composite"),
        helpers=("experiment",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "thermal_saturation",
        "thermal",
        (_weight(0.5), Slot("energy", 45.0, 15.0, 90.0)),
        '''
def thermal_saturation(x, weight, energy):
    """Rates that grow with temperature after Arrhenius, at two energies [kJ/mol]."""
    a, i, b, p, e, t, h = experiment(x)
    cold = (1.0 / t - 1.0 / 310.0) * 1000.0 / 8.314
    hot = (1.0 / 355.0 - 1.0 / 310.0) * 1000.0 / 8.314
    energies = torch.stack((0.5 * energy, energy))
    factors = torch.exp(-energies * (cold - hot))
    return weight * e * torch.reshape(rate_shapes(a)[:, None] * factors[None, :], (-1,))
''',
        "w E r_j(A) exp(-E_k/R (1/T - 1/355 K))",
        (*_LAW, "spectral_periodic"),
        helpers=("experiment", "rate_shapes"),
        interacts=True,
        growth="constant",
    ),
    Block(
        "acid_bell",
        "bell",
        (_weight(0.3),),
        '''
def acid_bell(x, weight):
    """Rates within a window of pH, of five positions."""
    a, i, b, p, e, t, h = experiment(x)
    lower = torch.tensor([5.0, 6.0, 5.0, 6.5, 5.5], dtype=torch.float64)
    upper = torch.tensor([8.0, 9.0, 7.0, 9.5, 8.5], dtype=torch.float64)
    bells = 1.0 / (1.0 + 10.0 ** (lower - h) + 10.0 ** (h - upper))
    return weight * e * torch.reshape(rate_shapes(a)[:, None] * bells[None, :], (-1,))
''',
        "w E r_j(A) / (1 + 10^{p_k - pH} + 10^{pH - q_k})",
        (*_LAW, "spectral_periodic"),
        helpers=("experiment", "rate_shapes"),
        interacts=True,
        growth="constant",
    ),
    Block(
        "power_saturation",
        "power",
        (_weight(0.5), Slot("order", 0.6, 0.25, 4.0)),
        '''
def power_saturation(x, weight, order):
    """Rates of any kinetic order: fractal below 1, cooperative above."""
    a, i, b, p, e, t, h = experiment(x)
    ladder = torch.tensor([0.2, 0.8, 3.0, 12.0], dtype=torch.float64)
    return weight * e / (1.0 + (ladder / a) ** order)
''',
        "w E A^h / (K_j^h + A^h)",
        (*_LAW, "multiresolution_local"),
        helpers=("experiment",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "baseline",
        "base",
        (_weight(1.5), Slot("loading", 0.3, 0.01, 5.0)),
        '''
def baseline(x, weight, loading):
    """A level, and a rate proportional to the loading alone."""
    a, i, b, p, e, t, h = experiment(x)
    return torch.cat((weight * torch.ones_like(e), loading * e))
''',
        "w, v E",
        (*_LAW, *_PAIR, "spectral_periodic"),
        helpers=("experiment",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "loaded_matern",
        "loaded",
        (_weight(0.3, 0.01, 5.0), Slot("dose", 2.0, 0.1, 20.0), Slot("climate", 1.0, 0.1, 10.0)),
        '''
def transform_point(x, parameters):
    """Concentrations, and temperature with pH, in lengthscales of two kinds; the loading is left out."""
    u = torch.clamp(torch.cat((x, 0.5 * torch.ones(7, dtype=x.dtype)))[:7], 0.0, 1.0)
    return torch.cat((parameters["dose"] * u[0:4], parameters["climate"] * u[5:7]))
''',
        "plus w^2 E E' Matern-5/2 of concentrations over l_1, temperature and pH over l_2",
        (*_LAW, *_PAIR),
        interacts=True,
        growth="constant",
        leaf='{"op": "scale", "weight": {weight} ** 2, "child": {"op": "product", "children": ['
        '{"op": "program", "candidate": {"name": "loading", "contract": "feature_map", "source": LOADING, "parameters": {}}}, '
        '{"op": "program", "candidate": {"name": "smooth", "contract": "input_transform", "source": LOADED, "parameters": '
        '{"dose": {dose}, "climate": {climate}, "base_kernel": {"kind": "matern52", "lengthscale": 1.0}}}}]}}',
    ),
    Block(
        "remainder",
        "rest",
        (_weight(0.05, 0.005, 2.0),),
        "",
        "plus w^2 Matern-5/2 of lengthscale 5",
        (*_LAW, *_PAIR, "spectral_periodic"),
        interacts=True,
        growth="constant",
        leaf='{"op": "base", "kind": "matern52", "variance": {weight} ** 2, "lengthscale": 5.0}',
    ),
)

ENZYME_BLOCKS = {block.name: block for block in _ENZYMES}
ENZYME_HELPERS = {"experiment": EXPERIMENT, "rate_shapes": SHAPES}
ENZYME_CONSTANTS = {"LOADING": LOADING}
