"""The search: tools an author calls, tuning, novelty, elites, campaigns, and selection on validation."""

from __future__ import annotations
