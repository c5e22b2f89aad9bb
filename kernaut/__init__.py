"""Kernaut discovers Gaussian-process kernels that transfer to tasks the search never saw.

The public names are those of ``__all__``; each is imported when it is first used, so that ``import kernaut`` takes no time, typing included.  They are described in
``docs/python-api.md``.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "Archive": "kernaut.archive.store",
    "Benchmark": "kernaut.episodes.benchmark",
    "BenchmarkOptions": "kernaut.search.benchmarking",
    "CampaignOptions": "kernaut.search.campaign",
    "Episode": "kernaut.episodes.episode",
    "GrammarAuthor": "kernaut.authors.grammar",
    "KernelProgram": "kernaut.program.program",
    "SearchOptions": "kernaut.search.workbench",
    "benchmark_named": "kernaut.episodes.registry",
    "benchmark_report": "kernaut.search.benchmarking",
    "bundled": "kernaut.plugins",
    "decompose": "kernaut.evaluation.decomposition",
    "export_kernel": "kernaut.export.module",
    "fit": "kernaut.fitting.regression",
    "forecast": "kernaut.evaluation.forecast",
    "gram": "kernaut.kernels.adapters",
    "interpret": "kernaut.kernels.interpreter",
    "leaf": "kernaut.kernels.library",
    "load_candidate": "kernaut.program.program",
    "load_selection": "kernaut.search.selection",
    "read_table": "kernaut.episodes.table",
    "run_campaign": "kernaut.search.campaign",
    "save_candidate": "kernaut.program.program",
    "score_predictive": "kernaut.evaluation.scoring",
    "select": "kernaut.search.selection",
    "sklearn_kernel": "kernaut.kernels.adapters",
    "verify": "kernaut.verification.verify",
}
"""The module that defines each public name."""

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kernaut' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *_HOMES})
