from __future__ import annotations

import pytest

from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.report.words import describe

MIRROR = KernelProgram(
    "m", "input_transform", "def transform_point(x, parameters):\n    return 4.0 * (x - 0.5) ** 2\n", {}
)


@pytest.mark.parametrize(
    ("kernel", "dimension", "expected", "absent"),
    [
        (leaf("matern12", lengthscale=0.5), 2, "Its functions are rough", "have a slope everywhere"),
        (leaf("rbf", lengthscale=0.5), 2, "they have a slope everywhere", "rough"),
        (leaf("rbf", lengthscale=0.5), 3, "It is stationary", "not stationary"),
        (leaf("linear"), 2, "It is not stationary", "equally unsure"),
        (leaf("periodic", period=0.3), 2, "recur after about 0.30", "mirrored at the centre"),
        (leaf("ard_rbf", lengthscales=[1.0, 0.2]), 2, "Input 2 matters most", "treats all inputs alike"),
        (leaf("ard_rbf", lengthscales=[0.3, 1e9]), 2, "Input 2 does not matter", "matters most"),
        (leaf("matern52", lengthscale=0.5), 2, "All inputs matter about equally", "recur"),
        (leaf("rbf"), 1, "It knows no direction", "Input"),
    ],
)
def test_sentences_follow_from_the_kernel(kernel: object, dimension: int, expected: str, absent: str) -> None:
    text = " ".join(describe(kernel, dimension))  # type: ignore[arg-type]
    assert expected in text
    assert absent not in text


def test_a_mirrored_kernel_is_said_to_be_mirrored() -> None:
    kernel = interpret(MIRROR)
    assert any("f(x) = f(1 - x)" in sentence for sentence in describe(kernel, 2))
    kernel.close()
