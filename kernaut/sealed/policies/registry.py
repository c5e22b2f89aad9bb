"""Built-in policies by name; importing this imports none of them."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "kernaut.sealed.policies"

BUILT_IN: Mapping[str, str] = {
    "random": f"{_HERE}.random_draws:RandomDraw",
    "random_search": f"{_HERE}.random_draws:RandomSearch",
    "nearest_neighbour": f"{_HERE}.nearest_neighbour:NearestNeighbour",
    "gradient": f"{_HERE}.gradient:Gradient",
    "cma_es": f"{_HERE}.cma_es:CMAES",
    "bayesian_optimization": f"{_HERE}.bayesian:BayesianOptimization",
    "ceiling": f"{_HERE}.ceiling:Ceiling",
}
