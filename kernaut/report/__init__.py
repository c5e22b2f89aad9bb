"""What people look at: overviews of archives, comparison tables, charts and program cards, each with a form that needs no browser."""

from __future__ import annotations
