"""Who proposes kernel programs: the offline grammar author, later a language model; all use the same tools."""

from __future__ import annotations
