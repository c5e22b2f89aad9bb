"""What exported modules share: array code of each library, and the class or functions of each target."""

from __future__ import annotations

BACKENDS = {"gpytorch": "torch", "botorch": "torch", "sklearn": "numpy", "numpy": "numpy"}

TARGET_IMPORTS = {
    "gpytorch": ("import torch", "from gpytorch.kernels import Kernel"),
    "botorch": (
        "import torch",
        "from gpytorch.kernels import Kernel, ScaleKernel",
        "from botorch.models import SingleTaskGP",
        "from botorch.models.transforms import Normalize, Standardize",
    ),
    "sklearn": ("import numpy as np", "from sklearn.gaussian_process.kernels import Kernel"),
    "numpy": ("import numpy as np",),
}

VALUES = {
    ("torch", "array_like"): '''def array_like(values, x):
    """Numbers as a float64 tensor beside ``x``."""
    if isinstance(values, (list, tuple)) and any(isinstance(value, torch.Tensor) for value in values):
        values = torch.stack([torch.as_tensor(value, dtype=torch.float64) for value in values])
    return torch.as_tensor(values, dtype=torch.float64, device=x.device)''',
    ("torch", "joined"): '''def joined(*parts):
    """Features side by side."""
    return torch.cat(parts, dim=-1)''',
    ("torch", "stepwise"): '''def stepwise(function, points, parameters, x):
    """A program's values point by point, for one that torch.func.vmap refuses."""
    return torch.stack([array_like(function(point.clone(), parameters()), x).reshape(-1) for point in points])''',
    ("torch", "vectorized"): '''def vectorized(function, points, parameters, x):
    """A program's values at all points at once."""
    values = parameters()
    return torch.func.vmap(lambda point: array_like(function(point, values), x).reshape(-1))(points)''',
    ("numpy", "array_like"): '''def array_like(values, x):
    """Numbers as a float64 array."""
    if isinstance(values, (list, tuple)):
        values = [array_like(value, x) for value in values]
    return np.asarray(values.numpy() if hasattr(values, "numpy") else values, dtype=np.float64)''',
    ("numpy", "joined"): '''def joined(*parts):
    """Features side by side."""
    return np.concatenate(parts, axis=-1)''',
    ("numpy", "each"): '''def each(function, points, parameters, x):
    """A program's values point by point."""
    return np.stack([array_like(function(_own(point), parameters()), x).reshape(-1) for point in points])


def _own(point):
    return float(point) if np.ndim(point) == 0 else point.copy()''',
    ("numpy", "stepwise"): '''def stepwise(function, points, parameters, x):
    """A torch program's values point by point, for one that torch.func.vmap refuses."""
    tensors = torch.from_numpy(np.ascontiguousarray(points))
    return np.stack([array_like(function(point.clone(), parameters()), x).reshape(-1) for point in tensors])''',
    ("numpy", "vectorized"): '''def vectorized(function, points, parameters, x):
    """A torch program's values at all points at once."""
    values = parameters()

    def row(point):
        found = function(point, values)
        if isinstance(found, (list, tuple)):
            found = torch.stack([torch.as_tensor(item, dtype=torch.float64).reshape(()) for item in found])
        return torch.as_tensor(found, dtype=torch.float64).reshape(-1)

    return torch.func.vmap(row)(torch.from_numpy(np.ascontiguousarray(points))).numpy()''',
}
"""Functions by library and name."""

_TORCH_CLASS = '''class KERNEL_NAME(Kernel):
    """PROGRAM_NAME for GPyTorch; its own parameters are fixed, so wrap it in a ScaleKernel for an amplitude."""

    has_lengthscale = False

    def __init__(self, **options):
        super().__init__(**options)
        self.register_parameter("anchor", torch.nn.Parameter(torch.empty(0), requires_grad=False))

    def forward(self, x1, x2, diag=False, **params):
        """Covariances of ``... x n x d`` with ``... x m x d`` points; differentiable in both."""
        a, b = x1.to(torch.float64), x2.to(torch.float64)
        if diag:
            return covariance(a[..., :, None, :], b[..., :, None, :])[..., 0, 0].to(x1.dtype)
        return covariance(a, b).to(x1.dtype)'''

TARGETS = {
    "gpytorch": _TORCH_CLASS,
    "botorch": _TORCH_CLASS
    + '''


def model(train_X, train_Y, bounds=None):
    """A SingleTaskGP with this kernel; fit it with botorch.fit_gpytorch_mll.

    train_X is n x d and train_Y is n x 1, both double; bounds (2 x d) is the box that is mapped to the unit cube.
    """
    return SingleTaskGP(
        train_X,
        train_Y,
        covar_module=ScaleKernel(KERNEL_NAME()),
        input_transform=Normalize(train_X.shape[-1], bounds=bounds),
        outcome_transform=Standardize(1),
    )''',
    "sklearn": '''class KERNEL_NAME(Kernel):
    """PROGRAM_NAME for scikit-learn; fixed, so fit amplitude and noise around it: ConstantKernel() * k + WhiteKernel()."""

    def __init__(self):
        pass

    def __call__(self, X, Y=None, eval_gradient=False):
        """Covariances ``n x m``; with ``eval_gradient`` also the gradient in no hyperparameters."""
        x = np.asarray(X, dtype=np.float64)
        matrix = covariance(x, x if Y is None else np.asarray(Y, dtype=np.float64))
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X):
        """Variances ``n``."""
        return variances(np.asarray(X, dtype=np.float64))

    def is_stationary(self):
        """Nothing is claimed."""
        return False

    def __repr__(self):
        return "KERNEL_NAME()"''',
    "numpy": '''def gram(X, Z=None):
    """Covariances ``n x m`` of points given as rows."""
    x = np.asarray(X, dtype=np.float64)
    return covariance(x, x if Z is None else np.asarray(Z, dtype=np.float64))''',
}
"""Text of each target, with KERNEL_NAME and PROGRAM_NAME to be filled in."""
