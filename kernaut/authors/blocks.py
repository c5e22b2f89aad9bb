"""The grammar's vocabulary: small torch functions of one input point, with declared ranges.

Inputs are expected in the unit cube, where a coordinate that is uniform has mean 1/2 and variance 1/12.  Every block is scaled
so that weight 1 gives a feature vector of about unit length for such points in any dimension d; weights are then comparable.

Blocks that act on one coordinate at a time (``per_coordinate``) also serve the additive contract.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernaut.program.parameters import ParameterSpec


@dataclass(frozen=True)
class Slot:
    """One parameter of a block: its range and where tuning starts."""

    name: str
    initial: float
    lower: float
    upper: float
    log: bool = True

    def spec(self, prefix: str) -> ParameterSpec:
        """The declaration under the block's name."""
        return ParameterSpec(f"{prefix}_{self.name}", "float", "log" if self.log else "linear", self.lower, self.upper)


@dataclass(frozen=True)
class Block:
    """One function of the grammar.

    Args:
        name: the function's name in the source.
        short: the prefix of its parameters.
        slots: its parameters in calling order.
        source: its definition; the first argument is a point ``x`` (d).
        formula: its feature vector, in words and symbols.
        niches: the construction niches that it belongs to.
        per_coordinate: whether feature ``i`` depends on coordinate ``i`` alone.
        interacts: whether it couples coordinates.
        growth: how the number of features grows with d.
        helpers: names of helper functions that the source calls.
        leaf: for a block that is a kernel of its own beside the features (closures only), its node as source text with ``{name}`` for each slot; a source then
            is that of a nested program, which the node names by the block's short name in capitals.
    """

    name: str
    short: str
    slots: tuple[Slot, ...]
    source: str
    formula: str
    niches: tuple[str, ...]
    per_coordinate: bool = False
    interacts: bool = False
    growth: str = "linear"
    helpers: tuple[str, ...] = ()
    leaf: str = ""


def _weight(initial: float = 1.0) -> Slot:
    return Slot("weight", initial, 0.01, 10.0)


BLOCKS: dict[str, Block] = {
    block.name: block
    for block in (
        Block(
            "centred_line",
            "line",
            (_weight(0.7),),
            '''
def centred_line(x, weight):
    """The coordinates themselves, centred and scaled to unit variance."""
    return weight * (x - 0.5) * math.sqrt(12.0 / x.shape[0])
''',
            "w (x_i - 1/2) sqrt(12/d)",
            ("input_geometry", "feature_projection", "additive_interaction"),
            per_coordinate=True,
        ),
        Block(
            "exponential_warp",
            "warp",
            (_weight(), Slot("rate", 0.5, 0.02, 20.0)),
            '''
def exponential_warp(x, weight, rate):
    """A monotone stretch of each coordinate: fine resolution near 0, coarse near 1."""
    stretched = (1.0 - torch.exp(-rate * x)) / (1.0 - torch.exp(-rate))
    return weight * (stretched - 0.5) * math.sqrt(12.0 / x.shape[0])
''',
            "w ((1 - e^{-a x_i})/(1 - e^{-a}) - 1/2) sqrt(12/d)",
            ("input_geometry", "multiresolution_local"),
            per_coordinate=True,
        ),
        Block(
            "logit_warp",
            "logit",
            (_weight(0.3), Slot("margin", 0.2, 0.02, 2.0)),
            '''
def logit_warp(x, weight, margin):
    """A stretch of each coordinate towards both of its ends."""
    stretched = torch.log(torch.clamp(x, 0.0, 1.0) + margin) - torch.log(1.0 - torch.clamp(x, 0.0, 1.0) + margin)
    return weight * stretched / math.sqrt(x.shape[0])
''',
            "w (log(x_i + e) - log(1 - x_i + e)) / sqrt(d)",
            ("input_geometry", "multiresolution_local"),
            per_coordinate=True,
        ),
        Block(
            "triangle_fold",
            "fold",
            (_weight(0.5), Slot("frequency", 1.0, 0.5, 6.0)),
            '''
def triangle_fold(x, weight, frequency):
    """Each coordinate folded like paper: points at equal phase of a triangle wave come together."""
    phase = torch.remainder(frequency * x, 2.0)
    folded = torch.where(phase <= 1.0, phase, 2.0 - phase)
    return weight * (folded - 0.5) * math.sqrt(12.0 / x.shape[0])
''',
            "w (triangle(v x_i) - 1/2) sqrt(12/d), period 2/v",
            ("input_geometry", "spectral_periodic"),
            per_coordinate=True,
        ),
        Block(
            "cosine_bank",
            "bank",
            (_weight(), Slot("decay", 0.5, 0.05, 4.0)),
            '''
def cosine_bank(x, weight, decay):
    """Eight even harmonics of each coordinate, their weights falling like a Matern spectrum."""
    orders = torch.arange(1, 9, dtype=x.dtype)
    spectrum = (1.0 + (decay * orders) ** 2) ** -1.5
    spectrum = spectrum * torch.rsqrt(torch.sum(spectrum**2))
    waves = torch.cos(math.pi * x[:, None] * orders[None, :]) * spectrum[None, :]
    return weight * torch.reshape(waves, (-1,)) * math.sqrt(2.0 / x.shape[0])
''',
            "w s_k cos(pi k x_i) sqrt(2/d), k = 1..8, s_k ~ (1 + (b k)^2)^{-3/2}, norm 1",
            ("spectral_periodic", "additive_interaction", "residual_composite", "feature_projection"),
            per_coordinate=True,
        ),
        Block(
            "phase_wave",
            "wave",
            (_weight(0.3), Slot("frequency", 2.0, 0.5, 8.0)),
            '''
def phase_wave(x, weight, frequency):
    """Cosine and sine of each coordinate at one frequency: a circle a coordinate."""
    angle = 2.0 * math.pi * frequency * (x - 0.5)
    return weight * torch.cat((torch.cos(angle), torch.sin(angle))) / math.sqrt(x.shape[0])
''',
            "w (cos, sin)(2 pi v (x_i - 1/2)) / sqrt(d)",
            ("spectral_periodic", "residual_composite"),
            per_coordinate=True,
        ),
        Block(
            "coordinate_bowl",
            "bowl",
            (_weight(0.5), Slot("centre", 0.5, 0.2, 0.8, log=False)),
            '''
def coordinate_bowl(x, weight, centre):
    """The squared distance of each coordinate from a common centre."""
    return weight * ((x - centre) ** 2 * 12.0 - 1.0) / math.sqrt(x.shape[0])
''',
            "w (12 (x_i - c)^2 - 1) / sqrt(d)",
            ("additive_interaction", "input_geometry", "feature_projection"),
            per_coordinate=True,
        ),
        Block(
            "bump_ladder",
            "bump",
            (_weight(0.5), Slot("width", 0.15, 0.04, 0.6)),
            '''
def bump_ladder(x, weight, width):
    """Seven Gaussian bumps along each coordinate: local detail that decays outside its bump."""
    centres = torch.arange(0, 7, dtype=x.dtype) / 6.0
    bumps = torch.exp(-0.5 * ((x[:, None] - centres[None, :]) / width) ** 2)
    return weight * torch.reshape(bumps, (-1,)) / math.sqrt(x.shape[0])
''',
            "w exp(-(x_i - c_j)^2 / 2 b^2) / sqrt(d), seven centres c_j",
            ("multiresolution_local", "additive_interaction"),
            per_coordinate=True,
        ),
        Block(
            "radial_bowl",
            "radial",
            (_weight(0.5), Slot("centre", 0.5, 0.2, 0.8, log=False)),
            '''
def radial_bowl(x, weight, centre):
    """One feature: the squared distance of the whole point from a centre on the diagonal."""
    squares = torch.sum((x - centre) ** 2, dim=0, keepdim=True)
    return weight * (12.0 * squares - x.shape[0]) / math.sqrt(x.shape[0])
''',
            "w (12 sum_i (x_i - c)^2 - d) / sqrt(d)",
            ("input_geometry", "feature_projection", "residual_composite"),
            interacts=True,
            growth="constant",
        ),
        Block(
            "smooth_radius",
            "radius",
            (_weight(0.3), Slot("softness", 0.1, 0.01, 1.0)),
            '''
def smooth_radius(x, weight, softness):
    """One feature: the distance from the centre of the cube, rounded off at the origin."""
    squares = torch.mean((x - 0.5) ** 2, dim=0, keepdim=True)
    return weight * 12.0 * torch.sqrt(squares + (0.3 * softness) ** 2)
''',
            "12 w sqrt(mean_i (x_i - 1/2)^2 + (0.3 s)^2)",
            ("input_geometry", "multiresolution_local"),
            interacts=True,
            growth="constant",
        ),
        Block(
            "radial_waves",
            "rings",
            (_weight(0.3), Slot("decay", 0.5, 0.05, 4.0)),
            '''
def radial_waves(x, weight, decay):
    """Rings around the centre of the cube: four harmonics of the mean squared distance."""
    radius = 4.0 * torch.mean((x - 0.5) ** 2, dim=0, keepdim=True)
    orders = torch.arange(1, 5, dtype=x.dtype)
    spectrum = (1.0 + (decay * orders) ** 2) ** -1.5
    return weight * torch.cos(math.pi * radius * orders) * spectrum * torch.rsqrt(torch.sum(spectrum**2))
''',
            "w s_k cos(pi k 4 mean_i (x_i - 1/2)^2), k = 1..4",
            ("spectral_periodic", "multiresolution_local", "feature_projection"),
            interacts=True,
            growth="constant",
        ),
        Block(
            "summed_wave",
            "chorus",
            (_weight(0.2), Slot("frequency", 2.0, 0.5, 8.0)),
            '''
def summed_wave(x, weight, frequency):
    """One feature: the cosines of all coordinates added up, as in a field of equal ripples."""
    waves = torch.cos(2.0 * math.pi * frequency * (x - 0.5))
    return weight * torch.sum(waves, dim=0, keepdim=True) * math.sqrt(2.0 / x.shape[0])
''',
            "w sum_i cos(2 pi v (x_i - 1/2)) sqrt(2/d)",
            ("spectral_periodic", "residual_composite"),
            interacts=True,
            growth="constant",
        ),
        Block(
            "diagonal_line",
            "diagonal",
            (_weight(0.3),),
            '''
def diagonal_line(x, weight):
    """One feature: the position along the main diagonal."""
    return weight * torch.sum(x - 0.5, dim=0, keepdim=True) * math.sqrt(12.0 / x.shape[0])
''',
            "w sum_i (x_i - 1/2) sqrt(12/d)",
            ("feature_projection", "input_geometry"),
            interacts=True,
            growth="constant",
        ),
        Block(
            "pair_products",
            "pairs",
            (_weight(0.3),),
            '''
def pair_products(x, weight):
    """Products of two different centred coordinates: the bilinear part of an interaction."""
    if x.shape[0] == 1:
        return 0.0 * x
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    centred = (x - 0.5) * math.sqrt(12.0)
    return weight * centred[first] * centred[second] * math.sqrt(2.0 / (x.shape[0] * (x.shape[0] - 1)))
''',
            "w 12 (x_i - 1/2)(x_j - 1/2) sqrt(2/(d (d-1))), i < j",
            ("additive_interaction", "residual_composite", "feature_projection"),
            interacts=True,
            growth="quadratic",
        ),
        Block(
            "wave_pairs",
            "duet",
            (_weight(0.3), Slot("decay", 0.5, 0.05, 4.0)),
            '''
def wave_pairs(x, weight, decay):
    """Products of the two lowest harmonics of two different coordinates: a smooth pairwise interaction."""
    if x.shape[0] == 1:
        return 0.0 * x
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    orders = torch.arange(1, 3, dtype=x.dtype)
    spectrum = (1.0 + (decay * orders) ** 2) ** -1.5
    spectrum = spectrum * torch.rsqrt(torch.sum(spectrum**2))
    waves = torch.cos(math.pi * x[:, None] * orders[None, :]) * spectrum[None, :] * math.sqrt(2.0)
    products = waves[first][:, :, None] * waves[second][:, None, :]
    return weight * torch.reshape(products, (-1,)) * math.sqrt(2.0 / (x.shape[0] * (x.shape[0] - 1)))
''',
            "2 w s_k s_l cos(pi k x_i) cos(pi l x_j) sqrt(2/(d (d-1))), i < j, k, l = 1, 2",
            ("additive_interaction", "spectral_periodic"),
            interacts=True,
            growth="quadratic",
        ),
        Block(
            "neighbour_steps",
            "steps",
            (_weight(0.3),),
            '''
def neighbour_steps(x, weight):
    """Differences of each coordinate from the mean of all: what a shift of the whole point leaves alone."""
    return weight * (x - torch.mean(x, dim=0, keepdim=True)) * math.sqrt(12.0 / x.shape[0])
''',
            "w (x_i - mean(x)) sqrt(12/d)",
            ("feature_projection", "input_geometry"),
            interacts=True,
        ),
        Block(
            "bowl_pairs",
            "bowls",
            (_weight(0.2), Slot("centre", 0.5, 0.2, 0.8, log=False)),
            '''
def bowl_pairs(x, weight, centre):
    """A line in one coordinate times a bowl in another: curved valleys."""
    if x.shape[0] == 1:
        return 0.0 * x
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    line = (x - 0.5) * math.sqrt(12.0)
    bowl = (x - centre) ** 2 * 12.0 - 1.0
    products = torch.cat((line[first] * bowl[second], line[second] * bowl[first]))
    return weight * products / math.sqrt(x.shape[0] * (x.shape[0] - 1))
''',
            "w sqrt(12) (x_i - 1/2)(12 (x_j - c)^2 - 1) / sqrt(d (d-1)), i != j",
            ("additive_interaction", "residual_composite"),
            interacts=True,
            growth="quadratic",
        ),
    )
}
