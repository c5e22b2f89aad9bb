"""The command line: one module for each group of commands, assembled in :mod:`kernaut.cli.commands`.

Commands import what they need when they run, so that ``kernaut --help`` does not wait for torch.
"""

from __future__ import annotations
