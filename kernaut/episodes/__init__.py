"""Meta-learning episodes: small regression data sets and optimization tasks, split into train, validation and test."""

from __future__ import annotations
