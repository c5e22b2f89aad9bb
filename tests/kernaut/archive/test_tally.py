from __future__ import annotations

from collections import Counter

import pytest

from kernaut.archive.records import DraftRecord, Entries, TranscriptRecord, TrialRecord
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError


def filled(archive: Archive) -> None:
    """Two runs of three drafts each; the second run's drafts are better, and it alone has a transcript."""
    for run in range(2):
        archive.open_run("c", run, generation=0)
        states = (("tuned", None), ("unverified", "Expected T2. Got T1."), ("verified", None))
        drafts = [
            DraftRecord("c", run, place, {"name": f"d{run}{place}", "contract": "spectral"}, state, reason=reason)
            for place, (state, reason) in enumerate(states)
        ]
        trials = [
            TrialRecord("c", run, 0, 0, "halton", {"gain": 1.0}, -0.5 + 0.1 * run),
            TrialRecord("c", run, 0, 1, "refinement", {"gain": 1.0}, -0.9),
            TrialRecord("c", run, 0, 2, "halton", {"gain": 2.0}, None, reason="no fit"),
        ]
        words = [TranscriptRecord("c", 1, 0, "assistant", {"text": "hello"})] if run else []
        archive.record(Entries(drafts=tuple(drafts), trials=tuple(trials), transcripts=tuple(words)))


def test_it_agrees_with_counting_record_by_record(archive: Archive) -> None:
    filled(archive)
    found = archive.tally("c")
    drafts = [draft for run in archive.runs("c") for draft in archive.drafts("c", run.index)]
    trials = [trial for run in archive.runs("c") for trial in archive.trials("c", run.index)]
    assert found.states == Counter(draft.state for draft in drafts)
    assert dict(found.reasons) == Counter(draft.reason for draft in drafts if draft.reason)
    for method, scored, failed, best in found.trials:
        own = [trial for trial in trials if trial.method == method]
        values = [trial.fitness for trial in own if trial.fitness is not None]
        assert (scored, failed, best) == (len(values), len(own) - len(values), max(values))
    assert {method for method, *_ in found.trials} == {"halton", "refinement"}
    assert found.talked == 1


def test_drafts_left_unsubmitted_come_with_their_best_trial_best_first(archive: Archive) -> None:
    filled(archive)
    found = [(draft.name, draft.state, draft.fitness) for draft in archive.tally("c").left_over]
    assert found == [
        ("d10", "tuned", -0.4),
        ("d00", "tuned", -0.5),
        ("d02", "verified", None),
        ("d12", "verified", None),
    ]


def test_a_campaign_without_runs_and_an_unknown_one(archive: Archive) -> None:
    found = archive.tally("c")
    assert (found.states, found.reasons, found.left_over, found.trials, found.talked) == ({}, (), (), (), None)
    with pytest.raises(ArchiveError, match="nothing"):
        archive.tally("nothing")
