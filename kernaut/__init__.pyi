"""Types of the public names, which the module imports when they are used."""

from kernaut.archive.store import Archive as Archive
from kernaut.authors.grammar import GrammarAuthor as GrammarAuthor
from kernaut.episodes.benchmark import Benchmark as Benchmark
from kernaut.episodes.episode import Episode as Episode
from kernaut.episodes.registry import benchmark_named as benchmark_named
from kernaut.episodes.table import read_table as read_table
from kernaut.evaluation.decomposition import decompose as decompose
from kernaut.evaluation.forecast import forecast as forecast
from kernaut.evaluation.scoring import score_predictive as score_predictive
from kernaut.export.module import export_kernel as export_kernel
from kernaut.fitting.regression import fit as fit
from kernaut.kernels.adapters import gram as gram
from kernaut.kernels.adapters import sklearn_kernel as sklearn_kernel
from kernaut.kernels.interpreter import interpret as interpret
from kernaut.kernels.library import leaf as leaf
from kernaut.plugins import bundled as bundled
from kernaut.program.program import KernelProgram as KernelProgram
from kernaut.program.program import load_candidate as load_candidate
from kernaut.program.program import save_candidate as save_candidate
from kernaut.search.benchmarking import BenchmarkOptions as BenchmarkOptions
from kernaut.search.benchmarking import benchmark_report as benchmark_report
from kernaut.search.campaign import CampaignOptions as CampaignOptions
from kernaut.search.campaign import run_campaign as run_campaign
from kernaut.search.selection import load_selection as load_selection
from kernaut.search.selection import select as select
from kernaut.search.workbench import SearchOptions as SearchOptions
from kernaut.verification.verify import verify as verify

__version__: str
__all__: list[str]
