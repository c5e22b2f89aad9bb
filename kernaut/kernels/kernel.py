"""The GPyTorch kernel that carries a form and its parameters.

All parameters that can be tuned stand in one frozen :class:`torch.nn.Parameter`, ``values`` (``*batch_shape x p``, float64).
Arithmetic is float64; results have the dtype of the inputs.  Sums and products are forms, not sub-kernels, so that batches,
indexing, copies and pickles concern this one parameter only.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from gpytorch.kernels import Kernel
from gpytorch.models.exact_prediction_strategies import DefaultPredictionStrategy, LinearPredictionStrategy
from linear_operator.operators import LinearOperator, LowRankRootLinearOperator, MatmulLinearOperator
from torch import Tensor

from kernaut.errors import InputError
from kernaut.kernels.form import Embedding, Form, broadcast
from kernaut.program.base_node import Base
from kernaut.program.program import KernelProgram


class KernautKernel(Kernel):
    """A positive semi-definite kernel of n x d inputs.

    Args:
        form: the mathematics.
        names: a name for each tunable parameter.
        numbers: all parameters of the form; those of ``names`` come first, the others stay fixed.
        identity: the program or base node this kernel was made of.
        batch_shape: one kernel for each element; all start from the same numbers.
        active_dims: the input columns to use.

    Attributes:
        values: the tunable parameters, ``*batch_shape x p``; not trained unless ``values.requires_grad_()`` is called.
        parameter_names: their names.

    Example:
        >>> kernel = base_kernel({"kind": "rbf", "lengthscale": 0.5})
        >>> kernel(torch.rand(10, 3)).to_dense().shape
        torch.Size([10, 10])
    """

    has_lengthscale = False
    values: torch.nn.Parameter
    anchor: torch.nn.Parameter

    def __init__(
        self,
        form: Form,
        names: Sequence[str],
        numbers: Sequence[float],
        identity: KernelProgram | Base,
        *,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        super().__init__(batch_shape=torch.Size(batch_shape or ()), active_dims=active_dims)
        self.form = form
        self.identity = identity
        self.parameter_names = tuple(names)
        self._fixed = torch.tensor(numbers[len(self.parameter_names) :], dtype=torch.float64)
        start = torch.tensor(numbers[: len(self.parameter_names)], dtype=torch.float64)
        values = start.expand(*self._batch_shape, len(start)).clone()
        self.register_parameter("values", torch.nn.Parameter(values, requires_grad=False))
        # GPyTorch takes a kernel's dtype from its parameters; this empty one follows .float() and .double() in its stead.
        self.register_parameter("anchor", torch.nn.Parameter(torch.empty(0), requires_grad=False))

    def embed(self, x: Tensor) -> Embedding:
        """Everything the kernel needs of points.

        Args:
            x: ``*b x n x d`` points (all columns; ``active_dims`` are selected here).

        Returns:
            Float64 tensors of ``*b x n x k`` (``*b`` broadcast with the batch shape), which can be cut or gathered along -2.

        Raises:
            SandboxFailure: when the kernel's program gives no value.
        """
        x = x.to(torch.float64)
        if self.active_dims is not None:
            x = x.index_select(-1, self.active_dims)
        theta = self.theta()
        embedding = self.form.embed(x, theta)
        if theta.dim() == 1:
            return embedding
        batch = broadcast(theta.shape[:-1], x.shape[:-2])
        return tuple(tensor.expand(*batch, *tensor.shape[-2:]) for tensor in embedding)

    def cross(self, a: Embedding, b: Embedding) -> Tensor:
        """Covariances ``*b x n x m`` of embedded points."""
        return self.form.cross(a, b, self.theta())

    def diagonal(self, a: Embedding) -> Tensor:
        """Variances ``*b x n`` of embedded points."""
        return self.form.diagonal(a, self.theta())

    def features(self, x: Tensor) -> Tensor:
        """Feature vectors ``*b x n x m`` whose inner products are the covariances.

        Raises:
            InputError: unless :attr:`low_rank`.
        """
        if self.active_dims is not None:
            x = x.index_select(-1, self.active_dims)
        return self.form.features(x.to(torch.float64), self.theta())

    def theta(self) -> Tensor:
        """All parameters of the form, ``*batch_shape x size``: the tunable values, then the fixed numbers."""
        values = self.values.to(torch.float64)
        if not len(self._fixed):
            return values
        fixed = self._fixed.to(values.device)
        return torch.cat([values, fixed.expand(*values.shape[:-1], len(fixed))], dim=-1)

    @property
    def stationary(self) -> bool:
        """Whether the covariance depends on the difference of two points alone."""
        return self.form.stationary(self.theta())

    @property
    def is_stationary(self) -> bool:
        """GPyTorch's name for :attr:`stationary`."""
        return self.stationary

    @property
    def low_rank(self) -> bool:
        """Whether the kernel has :meth:`features`, so that exact inference costs O(n m^2)."""
        return self.form.low_rank(self.theta())

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that GPyTorch asked for; arithmetic is float64 whatever it is.

        Raises:
            RuntimeError: when parameters registered on this kernel from outside have other dtypes.
        """
        found = {parameter.dtype for name, parameter in self.named_parameters() if name != "values"}
        if len(found) > 1:
            raise RuntimeError(f"The kernel's parameters have multiple dtypes: {found}.")
        return found.pop()

    def close(self) -> None:
        """End the kernel's child processes now; they start again when needed."""
        self.form.close()

    def forward(
        self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any
    ) -> Tensor | LinearOperator:
        """Covariances of ``*b x n x d`` with ``*b x m x d`` points, active columns already selected.

        Returns:
            ``*b x n x m`` in the dtype of ``x1``: a low-rank operator where the kernel has features, a tensor otherwise;
            ``*b x n`` with ``diag``.

        Raises:
            InputError: for ``last_dim_is_batch``, which Kernaut's kernels do not take.
            SandboxFailure: when the kernel's program gives no value.
        """
        if last_dim_is_batch:
            raise InputError(
                "Expected last_dim_is_batch=False. Got True.",
                hint="Use an additive_feature_map, or one kernel a coordinate with active_dims.",
            )
        theta = self.theta()
        batch = broadcast(x1.shape[:-2], x2.shape[:-2], theta.shape[:-1])
        same = _same_points(x1, x2)
        first, second = x1.to(torch.float64), x2.to(torch.float64)
        if diag and not same:
            pairs = self._pairs(first, second, theta)
            return pairs.expand(*batch, x1.shape[-2]).to(x1.dtype)
        if diag:
            variances = self.form.diagonal(self.form.embed(first, theta), theta)
            return variances.expand(*batch, x1.shape[-2]).to(x1.dtype)
        if self.form.low_rank(theta):
            left = self.form.features(first, theta).to(x1.dtype)
            left = left.expand(*batch, *left.shape[-2:])
            if same:
                return LowRankRootLinearOperator(left)
            right = self.form.features(second, theta).to(x1.dtype)
            return MatmulLinearOperator(left, right.expand(*batch, *right.shape[-2:]).mT)
        a, b = self._both(first, second, theta, same)
        result = self.form.cross(a, b, theta)
        return result.expand(*batch, x1.shape[-2], x2.shape[-2]).to(x1.dtype)

    def expand_batch(self, *sizes: Any) -> KernautKernel:
        """A copy whose parameters are repeated to a batch shape.

        Raises:
            RuntimeError: when the present batch shape does not broadcast to it.
        """
        shape = torch.Size(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
        if shape == self.batch_shape:
            return self
        if broadcast(shape, self.batch_shape) != shape:
            raise RuntimeError(f"Cannot expand a kernel with batch shape {self.batch_shape} to new shape {shape}")
        return self._with_values(self.values.data.expand(*shape, self.values.shape[-1]).clone())

    def __getitem__(self, index: Any) -> KernautKernel:
        """The kernel of some batch elements.

        Raises:
            IndexError: for more indices than batch dimensions (GPyTorch then expands the batch and asks again).
        """
        if not self.batch_shape:
            return self
        places = tuple(index) if isinstance(index, (tuple, list)) else (index,)
        if sum(place is not None and place is not Ellipsis for place in places) > len(self.batch_shape):
            raise IndexError(f"Too many indices for a kernel of batch shape {tuple(self.batch_shape)}: {places}")
        if Ellipsis in [place for place in places if not isinstance(place, Tensor)]:
            places = (*places, slice(None))
        return self._with_values(self.values.data[places].clone())

    def prediction_strategy(
        self, train_inputs: Any, train_prior_dist: Any, train_labels: Any, likelihood: Any
    ) -> DefaultPredictionStrategy:
        """In feature space where the kernel has features (Searle's identity), by Cholesky otherwise."""
        strategy = LinearPredictionStrategy if self.low_rank else DefaultPredictionStrategy
        return strategy(train_inputs, train_prior_dist, train_labels, likelihood)

    def _with_values(self, values: Tensor) -> KernautKernel:
        """A copy with other parameter values, whose batch shape follows theirs."""
        copy = deepcopy(self)
        copy._batch_shape = values.shape[:-1]
        copy.values = torch.nn.Parameter(values, requires_grad=self.values.requires_grad)
        return copy

    def _both(self, x1: Tensor, x2: Tensor, theta: Tensor, same: bool) -> tuple[Embedding, Embedding]:
        """Embeddings of both sets of points, from one request where their batch shapes agree."""
        if same:
            both = self.form.embed(x1, theta)
            return both, both
        if x1.shape[:-2] != x2.shape[:-2]:
            return self.form.embed(x1, theta), self.form.embed(x2, theta)
        both = self.form.embed(torch.cat([x1, x2], dim=-2), theta)
        n = x1.shape[-2]
        return tuple(t[..., :n, :] for t in both), tuple(t[..., n:, :] for t in both)

    def _pairs(self, x1: Tensor, x2: Tensor, theta: Tensor) -> Tensor:
        """Covariances ``*b x n`` of each point of ``x1`` with its partner in ``x2``."""
        a, b = self._both(x1, x2, theta, same=False)
        lone = ([tensor.unsqueeze(-2) for tensor in side] for side in (a, b))
        left, right = (tuple(side) for side in lone)
        spread = theta.unsqueeze(-2) if theta.dim() > 1 else theta
        return self.form.cross(left, right, spread)[..., 0, 0]


def _same_points(x1: Tensor, x2: Tensor) -> bool:
    """Whether both are the same points for gradients, too: one tensor, two views of the same memory, or equal constants."""
    if x1 is x2:
        return True
    if x1.shape != x2.shape or x1.requires_grad != x2.requires_grad:
        return False
    if x1.requires_grad:
        return x1.data_ptr() == x2.data_ptr() and x1.stride() == x2.stride()
    return torch.equal(x1, x2)
