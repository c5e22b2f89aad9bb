from __future__ import annotations

import torch

from kernaut.fitting.embedding import append, gather, rows, select


def test_cutting_gathering_appending() -> None:
    parts = (torch.arange(24.0).reshape(2, 4, 3), torch.arange(8.0).reshape(2, 4, 1))
    assert [p.tolist() for p in rows(parts, 1, 3)] == [p[:, 1:3].tolist() for p in parts]
    picked = gather(parts, torch.tensor([3, 0]))
    assert picked[0].tolist() == [[[9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0]]]
    assert picked[1].tolist() == [[[3.0]], [[4.0]]]
    longer = append(parts, picked)
    assert longer[1].shape == (2, 5, 1)
    assert longer[1][:, 4, 0].tolist() == [3.0, 4.0]
    assert [p.tolist() for p in select(parts, torch.tensor([1]))] == [p[1:].tolist() for p in parts]
