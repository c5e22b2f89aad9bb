"""A confined child can import nothing: whatever a program may call must be at hand when the template forks."""

from __future__ import annotations

import numpy as np
import pytest

from kernaut.program.vocabulary import ATTRIBUTES
from tests.kernaut.sandbox.conftest import Load

CALL_ALL = """
import numpy as np
import numpy.polynomial.chebyshev
import numpy.polynomial.legendre
import numpy.polynomial.hermite
import numpy.polynomial.laguerre
import torch
import torch.nn.functional

def feature_point(x, parameters):
    builtins = torch.sys.modules["builtins"]
    getattr, callable, type, BaseException = builtins.getattr, builtins.callable, builtins.type, builtins.BaseException
    square = torch.eye(3) + 0.1
    torches = [torch, torch.linalg, torch.special, torch.fft, torch.nn.functional, torch.Tensor]
    arrays = [np, np.linalg, np.fft, np.polynomial, np.polynomial.chebyshev, np.polynomial.legendre, np.ndarray]
    missing, called = [], 0
    for modules, fill in ((torches, torch.tensor), (arrays, np.array)):
        for module in modules:
            for name in parameters["names"]:
                function = getattr(module, name, None)
                if not callable(function) or isinstance(function, type):
                    continue
                for form in range(6):
                    matrix = fill([[1.5, 0.1, 0.2], [0.1, 2.5, 0.3], [0.2, 0.3, 3.5]])
                    vector = fill([0.25, 0.5, 0.75])
                    arguments = [(vector,), (matrix,), (matrix, vector), (vector, 1), ("ij,jk->ik", matrix, matrix),
                                 (vector > 0.3, vector, vector)][form]
                    try:
                        function(*arguments)
                        called += 1
                    except (builtins.ImportError, builtins.PermissionError, builtins.AttributeError) as error:
                        text = builtins.str(error)
                        if "import" in text or "module" in text.lower() or isinstance(error, (builtins.ImportError, builtins.PermissionError)):
                            missing.append(name + ": " + text)
                    except BaseException:
                        pass
    if missing:
        raise ValueError("; ".join(missing))
    return [called]
"""


@pytest.mark.parametrize("half", [0, 1])
def test_no_permitted_call_imports_at_its_first_use(half: int, load: Load) -> None:
    names = sorted(ATTRIBUTES - {"index"})[half::2]  # a method of lists; torch hangs an internal one on Tensor
    (called,) = load(CALL_ALL).evaluate(np.zeros((1, 1)), {"names": names})
    assert called[0, 0] > 500
