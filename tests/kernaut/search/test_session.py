"""The tool session: budgets, states of drafts, what is journalled, and that nothing but meta-training is scored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernaut.archive.records import Entries, TranscriptRecord
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


def test_discoveries_are_no_closures_and_no_accepted_source_with_other_parameters(bench: Workbench) -> None:
    session = _session(bench, [], replace(BRIEF, discovery=True))
    program = _program()
    assert session.submit_candidate(program).accepted
    height = next(iter(spec.name for spec in program.space))
    again = replace(program.with_parameters({height: program.space[0].lower}), name="again", parents=(program.id,))
    with pytest.raises(ProgramRefused, match=f"differs from every accepted one.*{program.id}"):
        session.stage_candidate(replace(again, source="# other words\n" + again.source))
    closure = "def closure_tree(parameters):\n    return {'op': 'base', 'kind': 'rbf'}\n"
    tree = replace(program, name="tree", contract="closure", source=closure, parameters={}, space=())
    with pytest.raises(ProgramRefused, match="closure tree"):
        session.submit_candidate(tree)
    other = replace(_program(("centred_line", "cosine_bank")), parents=(program.id,))
    assert session.stage_candidate(other).program.parents == (program.id,)  # an accepted program of this very run
    assert _session(bench, []).submit_candidate(tree).accepted


def test_a_formulation_holds_for_the_programs_after_it(bench: Workbench) -> None:
    session = _session(bench, [])
    program = _program()
    assert program.formulation is not None
    session.propose_formulation(program.formulation)
    assert session.submit_candidate(replace(program, formulation=None)).accepted


def test_what_an_earlier_attempt_got_accepted_is_given_again_unmeasured(bench: Workbench) -> None:
    first: list[Entries] = []
    _session(bench, first).submit_candidate(_program(("cosine_bank",)))
    whole: list[Entries] = []
    begun = _session(bench, whole)
    expected = begun.submit_candidate(_program())
    later: list[Entries] = []
    held = whole[0].accepted
    resumed = Session("c", BRIEF, bench, {}, {}, later.append, held=held)
    assert resumed.submit_candidate(_program()) == expected
    assert later == []
    assert resumed.submit_candidate(_program(("cosine_bank",))).accepted
    assert [record.position for record in later[0].accepted] == [1]


def test_what_is_looked_up_is_what_was_accepted(bench: Workbench) -> None:
    session = _session(bench, [])
    assert session.query_archive(None, None, 5)["programs"] == []
    program = _program()
    submission = session.submit_candidate(program)
    (row,) = session.query_archive("open_ended", "input_transform", 5)["programs"]
    assert (row["candidate_id"], row["score"]) == (submission.program_id, submission.score)
    assert session.query_archive("spectral_periodic", None, 5)["matching"] == 0
    references = session.query_archive(None, None, 5)["references"]
    assert [entry["mean_crps"] for entry in references] == sorted(entry["mean_crps"] for entry in references)
    assert session.inspect_candidate(program.id)["source"] == program.source
    with pytest.raises(InputError, match=program.id):
        session.inspect_candidate("0123")
    scores = session.evaluate_candidate(program)
    assert scores["mean_crps"] == pytest.approx(row["mean_crps"])
    assert set(scores["crps_by_family"]) == {"branin", "ackley", "cosine", "hartmann", "levy"}
    assert session.verify_candidate(program)["accepted"]
    assert len(session.submissions) == 1


def test_a_conversation_is_noted_at_once_after_what_was_there(bench: Workbench) -> None:
    journal: list[Entries] = []
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "estimated": False, "cost": None}
    earlier = (
        TranscriptRecord("c", 3, 0, "system", {"text": "x"}),
        TranscriptRecord("c", 3, 1, "assistant", {}, usage),
    )
    session = Session("c", BRIEF, bench, {}, {}, journal.append, transcript=earlier)
    session.note("assistant", {"text": "y"}, usage)
    assert session.transcript() == earlier
    assert [entry.position for entry in journal[0].transcripts] == [2]
    assert (session.spending.calls, session.spending.tokens) == (2, 22)
