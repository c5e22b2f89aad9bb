"""The tool session: budgets, states of drafts, what is journalled, and that nothing but meta-training is scored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernaut.archive.records import Entries
from kernaut.authors.author import Brief
from kernaut.authors.genome import TRANSFORM_BASES, Genome
from kernaut.authors.grammar import write_program
from kernaut.errors import BudgetSpent, InputError, ProgramRefused
from kernaut.program.program import KernelProgram
from kernaut.search.session import Session
from kernaut.search.workbench import SearchOptions, Workbench, prepare

BRIEF = Brief(3, 5, "open_ended", None, (), (2, 5, 6, 8), 10, 100)


@pytest.fixture(scope="module")
def bench() -> Workbench:
    return prepare(SearchOptions(seed=5, episodes_per_family=1))


def _program(blocks: tuple[str, ...] = ("centred_line", "radial_bowl")) -> KernelProgram:
    return write_program(Genome("input_transform", blocks, TRANSFORM_BASES[1]), BRIEF)


def _session(bench: Workbench, journal: list[Entries], brief: Brief = BRIEF) -> Session:
    return Session("c", brief, bench, {}, {}, journal.append)


def test_a_whole_run_is_journalled_at_submission_and_closed_with_its_trials(bench: Workbench) -> None:
    journal: list[Entries] = []
    session = _session(bench, journal)
    program = _program()
    assert session.stage_candidate(program).draft_index == 0
    assert session.verify_staged_candidate()["accepted"]
    tuned = session.optimize_parameters(4, 5)
    assert tuned.fitness is not None
    assert not journal
    submission = session.submit_staged_candidate()
    assert submission.accepted
    (entry,) = journal
    (accepted,) = entry.accepted
    assert accepted.program_id == submission.program_id == tuned.program.id == entry.programs[0].id
    assert (accepted.campaign_id, accepted.run_index, accepted.position) == ("c", 3, 0)
    assert {evaluation.split for evaluation in entry.evaluations} == {"train"}
    assert entry.evidence[0].accepted
    closing = session.entries()
    assert [draft.state for draft in closing.drafts] == ["accepted"]
    methods = [trial.method for trial in closing.trials]
    assert methods[:4] == ["initial", "halton", "halton", "halton"]
    assert "refinement" in methods
    fitnesses = [
        trial.fitness for trial in closing.trials if trial.method == "refinement" and trial.fitness is not None
    ]
    assert tuned.fitness == max(fitnesses)


def test_gradient_steps_find_better_settings_than_trials_alone(bench: Workbench) -> None:
    trials, gradient = (_session(bench, []) for _ in range(2))
    for session in (trials, gradient):
        session.stage_candidate(_program())
    plain = trials.optimize_parameters(4, 0)
    refined = gradient.optimize_parameters(4, 10)
    assert plain.fitness is not None
    assert refined.fitness is not None
    assert refined.fitness > plain.fitness


def test_a_second_copy_of_an_accepted_program_is_a_duplicate(bench: Workbench) -> None:
    session = _session(bench, [])
    first = session.submit_candidate(_program())
    again = session.submit_candidate(replace(_program(), name="again"))
    assert first.novelty_band != "duplicate"
    assert again.novelty_band == "duplicate"


def test_numpy_programs_are_tuned_by_trials(bench: Workbench) -> None:
    program = replace(
        _program(),
        source="import numpy as np\n\ndef transform_point(x, parameters):\n    return parameters['line_weight'] * np.sin(x)\n",
    )
    session = _session(bench, [])
    session.stage_candidate(program)
    tuned = session.optimize_parameters(3, 5)
    assert tuned.fitness is not None
    assert "gradient" not in {trial.method for trial in session.entries().trials}


def test_budget_is_counted_over_all_tools(bench: Workbench) -> None:
    session = _session(bench, [], replace(BRIEF, max_tool_calls=2))
    session.stage_candidate(_program())
    session.verify_staged_candidate()
    with pytest.raises(BudgetSpent, match="at most 2 tool calls"):
        session.optimize_parameters(1, 0)


def test_refusals_are_kept_with_their_reason(bench: Workbench) -> None:
    session = _session(bench, [])
    with pytest.raises(InputError, match="Got none"):
        session.verify_staged_candidate()
    with pytest.raises(ProgramRefused, match="formulation"):
        session.stage_candidate(replace(_program(), formulation=None))
    with pytest.raises(ProgramRefused, match="parents"):
        session.stage_candidate(replace(_program(), parents=("0123456789abcdef",)))
    with pytest.raises(ProgramRefused, match="attribute"):
        session.stage_candidate(
            replace(_program(), source="import torch\ndef transform_point(x, parameters):\n    return torch.sys\n")
        )
    with pytest.raises(InputError, match="Got none"):
        session.optimize_parameters(1, 0)
    assert [draft.state for draft in session.entries().drafts] == ["refused"] * 3
    assert all(draft.reason for draft in session.entries().drafts)


def test_a_program_below_t2_is_stored_nowhere(bench: Workbench) -> None:
    journal: list[Entries] = []
    session = _session(bench, journal)
    broken = replace(
        _program(),
        source="import torch\n\ndef transform_point(x, parameters):\n    return x / (x - x)\n",
        name="broken",
    )
    session.stage_candidate(broken)
    assert not session.verify_staged_candidate()["accepted"]
    submission = session.submit_staged_candidate()
    assert not submission.accepted
    assert submission.reason
    assert not journal
    assert [draft.state for draft in session.entries().drafts] == ["rejected"]


def test_lineage_counts_only_changed_sources(bench: Workbench) -> None:
    parent = _program()
    same = replace(parent, name="same", parents=(parent.id,), source=parent.source + "\n# a comment\n")
    other = replace(_program(("centred_line", "cosine_bank")), parents=(parent.id,))
    for child, counts in ((same, False), (other, True)):
        journal: list[Entries] = []
        session = Session("c", BRIEF, bench, {parent.id: parent}, {}, journal.append)
        assert session.submit_candidate(child).accepted
        assert [(edge.kind, edge.counts) for edge in journal[0].lineage] == [("revision", counts)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"novelty_threshold": -0.1}, "novelty threshold"),
        ({"elite_score": "best"}, "elite score"),
        ({"episodes_per_family": 1000}, "999"),
        ({"benchmark": "golf"}, "benchmark"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SearchOptions(**options)  # type: ignore[arg-type]
