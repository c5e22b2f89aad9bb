"""Scores of predictions and of optimization runs: pure functions of arrays, no episode, kernel or file in sight."""

from __future__ import annotations
