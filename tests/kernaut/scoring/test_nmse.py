from __future__ import annotations

import pytest

from kernaut.scoring.nmse import geometric_over_families, normalizer


def test_small_variances_count_as_one() -> None:
    assert (normalizer(0.25), normalizer(1.0), normalizer(400.0)) == (1.0, 1.0, 400.0)


def test_means_are_arithmetic_within_and_geometric_across_families() -> None:
    assert geometric_over_families({"a": [1.0, 3.0], "b": [8.0]}) == pytest.approx(4.0)
    assert geometric_over_families({"a": [0.0], "b": [8.0]}) == 0.0
