"""A model that answers with tool requests written beforehand; a real one would ask its server here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.authors.chat import ModelSettings, Reply, ToolRequest, Usage

SOURCE = '''import math

import torch


def feature_point(x, parameters):
    """A constant, and two waves a rate: a quarter turn apart, so that the phase is free."""
    angle = 2.0 * math.pi * x[0]
    parts = [0.3 * torch.ones_like(x[0])]
    for rate in (1.0, 1.5, 2.0, 2.5, 3.0, 3.5):
        weight = torch.exp(-rate * parameters["decay"])
        parts += [weight * torch.sin(rate * angle), weight * torch.cos(rate * angle)]
    return torch.stack(parts)
'''
FORMULATION = {
    "mathematical_form": "k(x, z) = 0.09 + sum over six rates of exp(-2 rate decay) cos(2 pi rate (x - z)).",
    "psd_argument": "It is an inner product of features.",
    "novelty_claim": "Waves of six fixed rates whose weights fall with one decay.",
    "closest_known_kernel": "A spectral mixture with fixed frequencies.",
    "expected_bo_behavior": "It goes on with a wave beyond the points that were seen.",
    "construction_niche": "spectral_periodic",
    "equivalence_analysis": "One parameter ties the weights together.",
    "optimized_parameters": "The decay of the weights, on a log scale.",
    "domain_scale_analysis": "Periods from 0.29 to 1 on the unit interval.",
    "irrelevant_coordinate_mechanism": "Only the first coordinate is looked at.",
    "cross_coordinate_mechanism": "None; the task has one coordinate.",
    "falsification_test": "Slow trends would be predicted worse than by a Matern kernel.",
    "feature_growth": "constant",
    "expected_conditioning": "Rank 13, so the noise keeps it conditioned.",
}
DRAFT = {
    "name": "six_waves",
    "contract": "feature_map",
    "source": SOURCE,
    "parameters": {"decay": 0.3},
    "parameter_space": {"decay": {"type": "float", "scale": "log", "lower": 0.01, "upper": 2.0}},
    "rationale": "Written beforehand, as an example.",
}
REQUESTS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("propose_formulation", FORMULATION),
    ("stage_candidate", DRAFT),
    ("verify_staged_candidate", {}),
    ("optimize_parameters", {"trials": 4, "gradient_steps": 4}),
    ("submit_staged_candidate", {}),
)


class Script:
    """Answers turn by turn; the turn is read off the messages, since a run that goes on is asked anew.

    Args:
        settings: the table ``[llm]`` of the configuration.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        """The next request, or the end."""
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn >= len(REQUESTS):
            return Reply(text="Done.", usage=Usage(10, 2), ended=True)
        name, arguments = REQUESTS[turn]
        return Reply(requests=(ToolRequest(name, json.dumps(arguments)),), usage=Usage(100, 50))
