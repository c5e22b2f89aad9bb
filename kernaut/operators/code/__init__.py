"""Domain ``code``: Python-programming tasks with visible checks and hidden tests, their candidates and operators."""

from __future__ import annotations
