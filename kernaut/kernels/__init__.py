"""Kernels: trusted code that turns a kernel program, or a library leaf, into a GPyTorch kernel.

Forms (:mod:`kernaut.kernels.form`) hold the mathematics; :mod:`kernaut.kernels.kernel` holds what GPyTorch needs.
"""

from __future__ import annotations
