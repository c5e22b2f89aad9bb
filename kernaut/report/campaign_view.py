"""A campaign while it runs and afterwards: progress, the best so far, elites, lineage, what was rejected and why, trials, transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernaut.archive.records import TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.program.formulation import NICHES
from kernaut.report.drawing import Drawing, Panel, drawing
from kernaut.report.page import Table, table
from kernaut.search.campaign import campaign_report

BANDS = ("duplicate", "near_reference", "distinct", "strongly_distinct")
LONGEST_REASON = 110


@dataclass(frozen=True, eq=False)
class CampaignView:
    """What an archive holds of one campaign.

    Args:
        report: of :func:`kernaut.search.campaign.campaign_report`.
        closed: runs that are done.
        drafts: drafts by state.
        rejected: reasons, shortened, with how many drafts they ended.
        trials: per method, how many were scored, how many failed, and the best fitness.
        transcript: of the last run that has one.
    """

    report: Mapping[str, Any]
    closed: int
    drafts: Mapping[str, int]
    rejected: tuple[tuple[str, int], ...]
    trials: tuple[tuple[str, int, int, float | None], ...]
    transcript: tuple[TranscriptRecord, ...]

    @property
    def runs(self) -> int:
        """Runs of the campaign."""
        return int(self.report["campaign"]["runs"])

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The accepted program of smallest mean CRPS on meta-training; None before there is one."""
        return min(self.report["accepted"], key=lambda entry: entry["scores"]["mean_crps"], default=None)


def campaign_view(archive: Archive, campaign_id: str = "") -> CampaignView:
    """Look at one campaign.

    Args:
        archive: opened, read-only is enough.
        campaign_id: its name; the last one begun if empty.

    Raises:
        InputError: when the archive holds no campaign.
        ArchiveError: for an unknown name.
    """
    if not campaign_id:
        campaigns = archive.campaigns()
        if not campaigns:
            raise InputError("Expected an archive with a campaign. Got one without.", hint="Start one.")
        campaign_id = campaigns[-1].id
    report = campaign_report(archive, campaign_id)
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    trials: dict[str, tuple[int, int, float | None]] = {}
    transcript: tuple[TranscriptRecord, ...] = ()
    for run in archive.runs(campaign_id):
        for draft in archive.drafts(campaign_id, run.index):
            states[draft.state] += 1
            if draft.reason:
                reasons[_short(draft.reason)] += 1
        for trial in archive.trials(campaign_id, run.index):
            scored, failed, best = trials.get(trial.method, (0, 0, None))
            if trial.fitness is None:
                trials[trial.method] = (scored, failed + 1, best)
            else:
                trials[trial.method] = (scored + 1, failed, trial.fitness if best is None else max(best, trial.fitness))
        transcript = archive.transcript(campaign_id, run.index) or transcript
    return CampaignView(
        report,
        sum(run["status"] == "closed" for run in report["runs"]),
        dict(states),
        tuple(reasons.most_common()),
        tuple((method, *found) for method, found in sorted(trials.items())),
        transcript,
    )


def progress_sentence(view: CampaignView) -> str:
    """How far it is, in a sentence."""
    best = view.best
    found = f"; best mean CRPS {best['scores']['mean_crps']:.4f} ({best['name']})" if best else "; nothing accepted yet"
    return f"{view.report['campaign']['id']}: {view.closed} of {view.runs} runs closed, {len(view.report['accepted'])} programs accepted{found}."


def best_so_far(view: CampaignView) -> Drawing:
    """What each run brought, and the best so far, on meta-training; lower is better."""
    panel = Panel("run", "mean CRPS, lower is better", width=560, height=260)
    entries = view.report["accepted"]
    panel.x_range = (0.5, max(view.runs, 1) + 0.5)
    if not entries:
        return drawing([panel], "No program is accepted yet.")
    runs = np.array([entry["run"] + 1 for entry in entries], dtype=float)
    values = np.array([entry["scores"]["mean_crps"] for entry in entries])
    order = np.argsort(runs, kind="stable")
    runs, values = runs[order], values[order]
    best = np.minimum.accumulate(values)
    panel.step([*runs, max(view.closed, runs[-1])], [*best, best[-1]], "best so far")
    panel.points(runs, values, 0, "accepted program")
    return drawing(
        [panel], f"Mean CRPS of {len(values)} accepted programs by run; best so far {best[-1]:.4f} (lower is better)."
    )


def elite_table(view: CampaignView) -> Table:
    """The best program of each niche and novelty band (over all feature growths): its mean CRPS."""
    scores = {entry["candidate_id"]: entry["scores"]["mean_crps"] for entry in view.report["accepted"]}
    cells: dict[tuple[str, str], float] = {}
    for elite in view.report["elites"]:
        place, value = (elite["niche"], elite["novelty_band"]), scores[elite["candidate_id"]]
        cells[place] = min(value, cells.get(place, value))
    rows = [(niche.replace("_", " "), *(cells.get((niche, band)) for band in BANDS)) for niche in NICHES]
    return table(("niche", *(band.replace("_", " ") for band in BANDS)), rows, "Elites: mean CRPS, lower is better")


def lineage_drawing(view: CampaignView) -> Drawing:
    """Accepted programs by run and score, joined to their parents."""
    panel = Panel("run", "mean CRPS, lower is better", width=560, height=260, x_range=(0.5, max(view.runs, 1) + 0.5))
    entries = {entry["candidate_id"]: entry for entry in view.report["accepted"]}
    joined = 0
    for entry in entries.values():
        for parent in entry["parents"]:
            if parent in entries:
                ends = (entries[parent], entry)
                panel.line(
                    [e["run"] + 1 for e in ends], [e["scores"]["mean_crps"] for e in ends], width=1.0, colour="#888888"
                )
                joined += 1
    roots = [e for e in entries.values() if not set(e["parents"]) & set(entries)]
    others = [e for e in entries.values() if set(e["parents"]) & set(entries)]
    for style, label, group in ((3, "new root", roots), (0, "with a parent", others)):
        if group:
            scores = [e["scores"]["mean_crps"] for e in group]
            panel.points([e["run"] + 1 for e in group], scores, style, label, hollow=style == 0)
    return drawing(
        [panel],
        f"Lineage of {len(entries)} accepted programs: {len(roots)} new roots, {joined} links from parent to child.",
    )


def rejection_table(view: CampaignView) -> Table:
    """Why drafts were not accepted, the most frequent reason first."""
    states = ", ".join(f"{count} {state}" for state, count in sorted(view.drafts.items())) or "none yet"
    return table(("reason", "drafts"), view.rejected, f"Drafts: {states}")


def trial_table(view: CampaignView) -> Table:
    """Tuning trials by method."""
    return table(
        ("method", "scored", "failed", "best fitness"), view.trials, "Tuning trials; a larger fitness is better"
    )


def transcript_table(records: Sequence[TranscriptRecord], longest: int = 600) -> Table:
    """What a language model was told and answered, each message shortened."""
    rows = [(record.position, record.role, str(record.content)[:longest]) for record in records]
    return table(("", "role", "content"), rows, "Transcript of the last run that has one")


def _short(reason: str) -> str:
    """A reason without what differs from draft to draft."""
    words = " ".join(reason.split())
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 1] + "…"
