"""Exact Gaussian-process inference for frozen kernels: the amplitude-noise grid, predictions, acquisition, rollouts, gradients."""

from __future__ import annotations
