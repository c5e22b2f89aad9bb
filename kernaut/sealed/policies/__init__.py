"""Built-in policies, untrusted side; each runs in a confined process and sees one public task and the answers to its queries."""

from __future__ import annotations
