"""The archive: a SQLAlchemy store of programs, evidence, evaluations, campaigns and how often held-out data were opened.

The search archive holds what an author may read; validation and test outcomes live in a sibling file
(:mod:`kernaut.archive.heldout`).
"""

from __future__ import annotations
