"""EvalCEGAR: an executable evaluator that grows from its own blind spots (operators, collisions, admission, composition)."""

from __future__ import annotations
