from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.decomposition import decompose
from kernaut.evaluation.forecast import forecast
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram

SOURCE = '''
def closure_tree(parameters):
    """Smooth, rough and linear."""
    return {"op": "sum", "children": [
        {"op": "base", "kind": "rbf", "lengthscale": 0.7, "variance": 1.3},
        {"op": "base", "kind": "matern32", "lengthscale": 0.2, "variance": 0.3},
        {"op": "base", "kind": "linear", "variance": 0.8},
    ]}
'''
PROGRAM = KernelProgram(name="three", contract="closure", source=SOURCE, parameters={}, rationale="Test.")


@pytest.mark.parametrize("name", ["bbo", "greenhouse", "enzymes", "glucose"])
def test_contributions_add_up_to_the_forecast(name: str) -> None:
    """At the queries, context readings and all: the forecast by another path is the slow twin."""
    kernel = interpret(PROGRAM)
    episode = benchmark_named(name).episodes("train", 1, tuning=True)[0]
    found = decompose(kernel, episode)
    expected = forecast(kernel, episode)
    kernel.close()
    assert len(found.names) == len(set(found.names)) == 3
    known = len(episode.fit_inputs) + len(episode.context[0])
    assert found.means.shape == (3, known + len(episode.query_inputs))
    np.testing.assert_allclose(found.means[:, known:].sum(0), expected.mean, atol=1e-7)
    np.testing.assert_allclose(found.in_units(), found.means * episode.target_scale)
    assert (np.abs(found.means).max(1) > 1e-3).all()
