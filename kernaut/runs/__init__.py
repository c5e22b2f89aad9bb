"""Headless runs of notebooks: papermill in a process of its own, typed parameters, live progress, nothing overwritten."""

from __future__ import annotations
