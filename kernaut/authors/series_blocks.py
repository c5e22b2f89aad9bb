"""Blocks for records in time on [0, 1]: trends that extrapolate, years of unknown length, and memory shorter than a year.

A year is 0.02 to 0.04 of a record, so annual blocks are bands of frequencies from which the data chooses.  Every block works in any dimension (coordinates are taken
one by one) and clamps its inputs a little beyond [0, 1], where all forecasts lie.

Amplitude is one number for a whole kernel.  A year or a short memory that a smooth record does not show makes its trend look small and its forecast sure, so trends come in a
low-pass kind as well (rounded slopes, a bank of long periods), which cannot follow a year and may leave it to the noise.  Ranges are wide: what keeps a tuned kernel from being
over-confident where a gas turns is that it is tuned on made-up gases too (:mod:`kernaut.episodes.box_model`).
"""

from __future__ import annotations

from kernaut.authors.blocks import Block, Slot

_TREND = ("input_geometry", "feature_projection", "residual_composite")
_SEASON = ("spectral_periodic", "additive_interaction")


def _weight(initial: float, lower: float = 0.01, upper: float = 20.0) -> Slot:
    return Slot("weight", initial, lower, upper)


_SERIES = (
    Block(
        "level_trend",
        "trend",
        (_weight(1.0, 0.5, 3.0), Slot("slope", 1.5, 0.5, 3.0)),
        '''
def level_trend(x, weight, slope):
    """A level and a straight line."""
    line = slope * (torch.clamp(x, -0.5, 1.5) - 0.5) * math.sqrt(12.0 / x.shape[0])
    return torch.cat((weight * torch.ones_like(x) / math.sqrt(x.shape[0]), line))
''',
        "w, s (t - 1/2) sqrt(12)",
        (*_TREND, "additive_interaction"),
        per_coordinate=True,
    ),
    Block(
        "wandering_slope",
        "slope",
        (_weight(6.0, 0.5, 40.0),),
        '''
def wandering_slope(x, weight):
    """An integrated Wiener process on 64 knots: the slope is a random walk, the forecast goes on straight (cubic spline)."""
    knots = (torch.arange(0, 64, dtype=x.dtype) + 0.5) / 64.0
    ramps = torch.relu(torch.clamp(x, -0.5, 1.5)[:, None] - knots[None, :])
    return weight * torch.reshape(ramps, (-1,)) / math.sqrt(64.0 * x.shape[0])
''',
        "w (t - c_j)_+ / 8, 64 knots c_j",
        (*_TREND, "multiresolution_local"),
        per_coordinate=True,
    ),
    Block(
        "gentle_slope",
        "gentle",
        (_weight(6.0, 0.5, 40.0), Slot("rounding", 0.012, 0.004, 0.04)),
        '''
def gentle_slope(x, weight, rounding):
    """An integrated Wiener process on 64 knots whose bends are rounded: it turns within years and cannot follow a year."""
    knots = (torch.arange(0, 64, dtype=x.dtype) + 0.5) * 1.4 / 64.0 - 0.2
    since = (torch.clamp(x, -0.5, 1.5)[:, None] - knots[None, :]) / rounding
    ramps = rounding * (torch.relu(since) + torch.log1p(torch.exp(-torch.abs(since))))
    return weight * torch.reshape(ramps, (-1,)) * math.sqrt(1.4 / (64.0 * x.shape[0]))
''',
        "w r log(1 + e^{(t - c_j)/r}) sqrt(1.4/64), 64 knots c_j",
        (*_TREND, "multiresolution_local"),
        per_coordinate=True,
    ),
    Block(
        "period_bank",
        "periods",
        (_weight(0.3, 0.02, 3.0), Slot("decay", 2.0, 1.2, 3.0), Slot("fastest", 10.0, 4.0, 20.0)),
        '''
def period_bank(x, weight, decay, fastest):
    """Waves of 32 periods in geometric steps, from eight records down to years, the long ones strong: no wave is as short as a year."""
    steps = torch.arange(0, 32, dtype=x.dtype) / 31.0
    frequencies = 0.125 * (8.0 * fastest) ** steps
    heights = frequencies ** (0.5 - decay) * torch.sqrt(torch.log(8.0 * fastest) / 16.0)
    angles = 2.0 * math.pi * torch.clamp(x, -0.5, 1.5)[:, None] * frequencies[None, :]
    waves = torch.cat((heights * torch.cos(angles), heights * torch.sin(angles)), dim=1)
    return weight * torch.reshape(waves, (-1,)) / math.sqrt(x.shape[0])
''',
        "w f^{1/2 - p} (cos, sin)(2 pi f t), f = 1/8 .. f_max in 32 geometric steps: spectral density f^{-2p}",
        (*_TREND, "spectral_periodic", "multiresolution_local"),
        per_coordinate=True,
    ),
    Block(
        "damped_slope",
        "damped",
        (_weight(6.0, 0.5, 40.0), Slot("damping", 3.0, 0.3, 30.0)),
        '''
def damped_slope(x, weight, damping):
    """An integrated Ornstein-Uhlenbeck process on 64 knots: the slope returns to its mean, the forecast levels off."""
    knots = (torch.arange(0, 64, dtype=x.dtype) + 0.5) / 64.0
    since = torch.relu(torch.clamp(x, -0.5, 1.5)[:, None] - knots[None, :])
    ramps = (1.0 - torch.exp(-damping * since)) / damping
    return weight * torch.reshape(ramps, (-1,)) / math.sqrt(64.0 * x.shape[0])
''',
        "w (1 - exp(-g (t - c_j)_+)) / (8 g), 64 knots c_j",
        (*_TREND, "multiresolution_local"),
        per_coordinate=True,
    ),
    Block(
        "wandering_curvature",
        "curve",
        (_weight(12.0, 1.0, 60.0),),
        '''
def wandering_curvature(x, weight):
    """A twice integrated Wiener process on 48 knots: the curvature is a random walk (quintic spline)."""
    knots = (torch.arange(0, 48, dtype=x.dtype) + 0.5) / 48.0
    ramps = torch.relu(torch.clamp(x, -0.5, 1.5)[:, None] - knots[None, :]) ** 2
    return weight * torch.reshape(ramps, (-1,)) / math.sqrt(48.0 * x.shape[0])
''',
        "w (t - c_j)_+^2 / sqrt(48), 48 knots c_j",
        (*_TREND, "multiresolution_local"),
        per_coordinate=True,
    ),
    Block(
        "bend",
        "bend",
        (_weight(0.5, 0.1, 1.0),),
        '''
def bend(x, weight):
    """A parabola and a cubic about the middle of the record."""
    u = 2.0 * torch.clamp(x, -0.5, 1.5) - 1.0
    return weight * torch.cat((u**2 - 1.0 / 3.0, u**3 - 0.6 * u)) * math.sqrt(5.0 / x.shape[0])
''',
        "w (u^2 - 1/3, u^3 - 3u/5) sqrt(5), u = 2t - 1",
        _TREND,
        per_coordinate=True,
    ),
    Block(
        "compound_growth",
        "growth",
        (_weight(0.5, 0.1, 1.0), Slot("rate", 1.5, 0.1, 6.0)),
        '''
def compound_growth(x, weight, rate):
    """Growth and decline at a constant rate, from either end of the record."""
    t = torch.clamp(x, -0.5, 1.5)
    up = (torch.exp(rate * t) - 1.0) / (torch.exp(rate) - 1.0)
    down = (torch.exp(-rate * t) - 1.0) / (torch.exp(-rate) - 1.0)
    return weight * torch.cat((up - 0.5, down - 0.5)) * math.sqrt(6.0 / x.shape[0])
''',
        "w ((e^{+-r t} - 1)/(e^{+-r} - 1) - 1/2) sqrt(6)",
        _TREND,
        per_coordinate=True,
    ),
    Block(
        "annual_band",
        "annual",
        (_weight(0.04, 0.005, 0.15),),
        '''
def annual_band(x, weight):
    """Waves of every frequency that a year may have in a record: 22 to 54 cycles a unit."""
    frequencies = torch.arange(0, 44, dtype=x.dtype) * 0.75 + 22.0
    angles = 2.0 * math.pi * torch.clamp(x, -0.5, 1.5)[:, None] * frequencies[None, :]
    waves = torch.cat((torch.cos(angles), torch.sin(angles)), dim=1)
    return weight * torch.reshape(waves, (-1,)) / math.sqrt(44.0 * x.shape[0])
''',
        "w (cos, sin)(2 pi f t) / sqrt(44), f = 22, 22.75, .. 54.25",
        _SEASON,
        per_coordinate=True,
    ),
    Block(
        "growing_year",
        "swell",
        (_weight(0.02, 0.003, 0.1),),
        '''
def growing_year(x, weight):
    """Annual waves whose height changes steadily along the record."""
    t = torch.clamp(x, -0.5, 1.5)
    frequencies = torch.arange(0, 44, dtype=x.dtype) * 0.75 + 22.0
    angles = 2.0 * math.pi * t[:, None] * frequencies[None, :]
    waves = torch.cat((torch.cos(angles), torch.sin(angles)), dim=1) * (2.0 * t[:, None] - 1.0)
    return weight * torch.reshape(waves, (-1,)) / math.sqrt(44.0 * x.shape[0])
''',
        "w (2t - 1) (cos, sin)(2 pi f t) / sqrt(44), f = 22, 22.75, .. 54.25",
        _SEASON,
        per_coordinate=True,
    ),
    Block(
        "half_year_band",
        "half",
        (_weight(0.02, 0.002, 0.05),),
        '''
def half_year_band(x, weight):
    """Waves of the second annual harmonic: 44 to 108 cycles a unit."""
    frequencies = torch.arange(0, 44, dtype=x.dtype) * 1.5 + 44.0
    angles = 2.0 * math.pi * torch.clamp(x, -0.5, 1.5)[:, None] * frequencies[None, :]
    waves = torch.cat((torch.cos(angles), torch.sin(angles)), dim=1)
    return weight * torch.reshape(waves, (-1,)) / math.sqrt(44.0 * x.shape[0])
''',
        "w (cos, sin)(2 pi f t) / sqrt(44), f = 44, 45.5, .. 108.5",
        _SEASON,
        per_coordinate=True,
    ),
    Block(
        "slow_matern",
        "slow",
        (_weight(2.0, 0.3, 6.0), Slot("lengthscale", 0.7, 0.2, 2.0)),
        "",
        "plus w^2 Matern-5/2 of lengthscale l",
        (*_TREND, "multiresolution_local", "spectral_periodic"),
        interacts=True,
        growth="constant",
        leaf='{"op": "base", "kind": "matern52", "variance": {weight} ** 2, "lengthscale": {lengthscale}}',
    ),
    Block(
        "short_memory",
        "short",
        (_weight(0.02, 0.002, 0.1), Slot("lengthscale", 0.01, 0.003, 0.03)),
        "",
        "plus w^2 Matern-3/2 of a lengthscale l of a few months",
        ("multiresolution_local", "residual_composite", "spectral_periodic", "additive_interaction"),
        interacts=True,
        growth="constant",
        leaf='{"op": "base", "kind": "matern32", "variance": {weight} ** 2, "lengthscale": {lengthscale}}',
    ),
)

SERIES_BLOCKS = {block.name: block for block in _SERIES}
