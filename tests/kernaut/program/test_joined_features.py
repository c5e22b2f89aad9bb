from __future__ import annotations

import ast

import pytest

from kernaut.program.joined_features import joined_features

JOINED = '''import torch


def wave(x, weight):
    """A wave."""
    return weight * torch.sin(3.0 * x)


def level_line(x):
    """The point."""
    return x - 0.5


def feature_point(x, parameters):
    """Two waves, and the point itself."""
    y = 2.0 * x
    return torch.cat((wave(x, parameters["slow"]), wave(y, parameters["fast"]), level_line(x)))
'''


def test_each_piece_becomes_a_source_that_answers_with_it_alone() -> None:
    found = joined_features(JOINED, "feature_point")
    assert [name for name, _ in found] == ["wave 1", "wave 2", "level line"]
    for (_, source), kept in zip(found, ('parameters["slow"]', 'parameters["fast"]', "level_line(x)"), strict=True):
        ast.parse(source)
        last = source.strip().splitlines()[-1].replace("'", '"')
        assert last.startswith("    return torch.cat((")
        assert kept in last
        assert last.count("parameters") + last.count("level_line") == 1
        assert "y = 2.0 * x" in source


@pytest.mark.parametrize(
    "body",
    [
        "    return wave(x, 1.0)",
        "    return torch.cat((wave(x, 1.0),))",
        "    return torch.cat((wave(x, 1.0), wave(x, 2.0)), dim=0)",
        "    return torch.cat([*[wave(x, 1.0)], wave(x, 2.0)])",
        "    return torch.stack((wave(x, 1.0), wave(x, 2.0)))",
        "    return torch.cat((torch.sin(x), torch.cos(x)))",
        "    return torch.cat((wave(x, 1.0), x))",
        "    if x[0] > 0.5:\n        return x\n    return torch.cat((wave(x, 1.0), wave(x, 2.0)))",
    ],
)
def test_anything_else_stays_whole(body: str) -> None:
    assert joined_features(f"import torch\n\n\ndef feature_point(x, parameters):\n{body}\n", "feature_point") == []
    assert joined_features(JOINED, "another_point") == []
