"""Blocks for glucose after a meal and a bolus: responses in the time since each, in amounts of each.

Inputs are (minute/360, meal/60 g, meal start/360, bolus/1.5 U, bolus start/360).  Inputs that are missing count as 1/2, and all are clamped to [0, 1.2], so that programs run in
any dimension.  Reference for the shapes: two-compartment absorption, Hovorka et al. (2004), Physiol. Meas. 25, 905-920.
"""

from __future__ import annotations

from kernaut.authors.blocks import Block, Slot

_RESPONSE = ("input_geometry", "feature_projection", "residual_composite")
_LOCAL = ("multiresolution_local", "additive_interaction", "spectral_periodic")

CLOCK = '''
def clock(x):
    """Minute, minutes since the meal and since the bolus (0 before them) in parts of 360, meal and bolus in their units."""
    u = torch.clamp(torch.cat((x, 0.5 * torch.ones(5, dtype=x.dtype)))[:5], 0.0, 1.2)
    return u[0:1], torch.relu(u[0:1] - u[2:3]), torch.relu(u[0:1] - u[4:5]), u[1:2], u[3:4]
'''


def _weight(initial: float, lower: float = 0.02, upper: float = 20.0) -> Slot:
    return Slot("weight", initial, lower, upper)


_GLUCOSE = (
    Block(
        "meal_rise",
        "rise",
        (_weight(1.5), Slot("minutes", 60.0, 15.0, 240.0)),
        '''
def meal_rise(x, weight, minutes):
    """What has been absorbed of the meal: cumulative two-compartment responses at four time constants."""
    now, fed, dosed, meal, bolus = clock(x)
    scales = minutes / 360.0 * torch.tensor([0.3, 0.6, 1.2, 2.4], dtype=torch.float64)
    late = fed / scales
    return weight * meal * (1.0 - (1.0 + late) * torch.exp(-late))
''',
        "w M (1 - (1 + s/T_k) e^{-s/T_k}), s since the meal",
        _RESPONSE,
        helpers=("clock",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "meal_pulse",
        "pulse",
        (_weight(1.5), Slot("minutes", 60.0, 15.0, 240.0)),
        '''
def meal_pulse(x, weight, minutes):
    """The meal's appearance, which comes and goes, at four time constants."""
    now, fed, dosed, meal, bolus = clock(x)
    scales = minutes / 360.0 * torch.tensor([0.4, 0.8, 1.6, 3.2], dtype=torch.float64)
    late = fed / scales
    return weight * meal * late * torch.exp(1.0 - late)
''',
        "w M (s/T_k) e^{1 - s/T_k}",
        (*_RESPONSE, "multiresolution_local"),
        helpers=("clock",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "bolus_fall",
        "fall",
        (_weight(1.0), Slot("minutes", 80.0, 20.0, 300.0)),
        '''
def bolus_fall(x, weight, minutes):
    """What has acted of the bolus: cumulative two-compartment responses at four time constants."""
    now, fed, dosed, meal, bolus = clock(x)
    scales = minutes / 360.0 * torch.tensor([0.3, 0.6, 1.2, 2.4], dtype=torch.float64)
    late = dosed / scales
    return weight * bolus * (1.0 - (1.0 + late) * torch.exp(-late))
''',
        "w B (1 - (1 + s/T_k) e^{-s/T_k}), s since the bolus",
        _RESPONSE,
        helpers=("clock",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "bolus_pulse",
        "dip",
        (_weight(0.7), Slot("minutes", 80.0, 20.0, 300.0)),
        '''
def bolus_pulse(x, weight, minutes):
    """The bolus's action, which comes and goes, at four time constants."""
    now, fed, dosed, meal, bolus = clock(x)
    scales = minutes / 360.0 * torch.tensor([0.4, 0.8, 1.6, 3.2], dtype=torch.float64)
    late = dosed / scales
    return weight * bolus * late * torch.exp(1.0 - late)
''',
        "w B (s/T_k) e^{1 - s/T_k}",
        (*_RESPONSE, "multiresolution_local"),
        helpers=("clock",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "saturating_meal",
        "large",
        (_weight(0.5), Slot("minutes", 60.0, 15.0, 240.0)),
        '''
def saturating_meal(x, weight, minutes):
    """Part of the meal's response that is not proportional to its size, slower for larger meals."""
    now, fed, dosed, meal, bolus = clock(x)
    scales = minutes / 360.0 * torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64) * (0.4 + meal)
    late = fed / scales
    return weight * torch.cat((meal**2, torch.sqrt(meal + 1e-6)))[:, None].mul(1.0 - (1.0 + late) * torch.exp(-late)).reshape(-1)
''',
        "w (M^2, sqrt(M)) (1 - (1 + s/T) e^{-s/T}), T ~ 0.4 + M",
        _LOCAL,
        helpers=("clock",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "met_meal",
        "met",
        (_weight(0.4), Slot("minutes", 80.0, 20.0, 300.0)),
        '''
def met_meal(x, weight, minutes):
    """Meal and bolus together: products of their cumulative responses."""
    now, fed, dosed, meal, bolus = clock(x)
    scales = minutes / 360.0 * torch.tensor([0.5, 1.5], dtype=torch.float64)
    eaten = meal * (1.0 - (1.0 + fed / scales) * torch.exp(-fed / scales))
    acted = bolus * (1.0 - (1.0 + dosed / scales) * torch.exp(-dosed / scales))
    return weight * torch.reshape(eaten[:, None] * acted[None, :], (-1,))
''',
        "w M B g_k(s) g_l(s')",
        _LOCAL,
        helpers=("clock",),
        interacts=True,
        growth="constant",
    ),
    Block(
        "drift",
        "drift",
        (_weight(1.0), Slot("slope", 0.2, 0.005, 5.0)),
        '''
def drift(x, weight, slope):
    """A level, and a slow change over the episode."""
    now, fed, dosed, meal, bolus = clock(x)
    return torch.cat((weight * torch.ones_like(now), slope * now, slope * now**2))
''',
        "w, v t, v t^2",
        (*_RESPONSE, *_LOCAL),
        helpers=("clock",),
        growth="constant",
    ),
    Block(
        "relative_clock",
        "since",
        (_weight(0.5, 0.02, 5.0), Slot("speed", 2.0, 0.1, 30.0), Slot("amount", 0.7, 0.02, 10.0)),
        '''
def transform_point(x, parameters):
    """Time since meal and since bolus, and their amounts, in lengthscales of two kinds; without a bolus its clock stands still."""
    u = torch.clamp(torch.cat((x, 0.5 * torch.ones(5, dtype=x.dtype)))[:5], 0.0, 1.2)
    fed, dosed = torch.relu(u[0:1] - u[2:3]), torch.relu(u[0:1] - u[4:5]) * u[3:4] / (u[3:4] + 0.1)
    return torch.cat((parameters["speed"] * torch.cat((fed, dosed)), parameters["amount"] * torch.cat((u[1:2], u[3:4]))))
''',
        "plus w^2 Matern-5/2 of the times since meal and bolus over l_1 and their amounts over l_2",
        ("input_geometry", "additive_interaction", "multiresolution_local"),
        interacts=True,
        growth="constant",
        leaf='{"op": "scale", "weight": {weight} ** 2, "child": {"op": "program", "candidate": {"name": "since", "contract": '
        '"input_transform", "source": SINCE, "parameters": {"speed": {speed}, "amount": {amount}, "base_kernel": '
        '{"kind": "matern52", "lengthscale": 1.0}}}}}',
    ),
    Block(
        "broad_matern",
        "broad",
        (_weight(0.3, 0.01, 3.0), Slot("lengthscale", 1.0, 0.1, 10.0)),
        "",
        "plus w^2 Matern-5/2 of lengthscale l",
        (*_RESPONSE, *_LOCAL),
        interacts=True,
        growth="constant",
        leaf='{"op": "base", "kind": "matern52", "variance": {weight} ** 2, "lengthscale": {lengthscale}}',
    ),
    Block(
        "rough_matern",
        "rough",
        (_weight(0.15, 0.005, 2.0), Slot("lengthscale", 0.3, 0.03, 3.0)),
        "",
        "plus w^2 Matern-3/2 of lengthscale l",
        _LOCAL,
        interacts=True,
        growth="constant",
        leaf='{"op": "base", "kind": "matern32", "variance": {weight} ** 2, "lengthscale": {lengthscale}}',
    ),
)

GLUCOSE_BLOCKS = {block.name: block for block in _GLUCOSE}
GLUCOSE_HELPERS = {"clock": CLOCK}
