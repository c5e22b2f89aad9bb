"""ipywidgets over Kernaut's public names: traits in, traits out, no mathematics."""

from __future__ import annotations
