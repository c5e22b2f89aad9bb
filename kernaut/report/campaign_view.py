"""A campaign while it runs and afterwards: progress, the best so far, elites, lineage, what was rejected and why, trials, transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernaut.archive.records import TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.archive.tally import LEFT_OVER, LeftOver
from kernaut.errors import InputError
from kernaut.program.formulation import FEATURE_GROWTHS, NICHES
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
        left_over: drafts that their authors tuned or verified and did not submit, the best first.
        trials: per method, how many were scored, how many failed, and the best fitness.
        transcript: of the last run that has one.
    """

    report: Mapping[str, Any]
    closed: int
    drafts: Mapping[str, int]
    rejected: tuple[tuple[str, int], ...]
    left_over: tuple[LeftOver, ...]
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
    found = archive.tally(campaign_id)
    reasons: Counter[str] = Counter()
    for reason, count in found.reasons:
        reasons[_short(reason)] += count
    return CampaignView(
        report,
        sum(run["status"] == "closed" for run in report["runs"]),
        found.states,
        tuple(reasons.most_common()),
        found.left_over,
        found.trials,
        () if found.talked is None else archive.transcript(campaign_id, found.talked),
    )


def progress_sentence(view: CampaignView) -> str:
    """How far it is, in a sentence."""
    best = view.best
    found = f"; best mean CRPS {best['scores']['mean_crps']:.4f} ({best['name']})" if best else "; nothing accepted yet"
    return f"{view.report['campaign']['id']}: {view.closed} of {view.runs} runs closed, {_counted(len(view.report['accepted']), 'program')} accepted{found}."


def best_so_far(view: CampaignView) -> Drawing:
    """What each run brought, and the best so far, on meta-training; lower is better."""
    panel = Panel("run", "mean CRPS, lower is better", width=560, height=280, whole=True)
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
        [panel],
        f"Mean CRPS of {_counted(len(values), 'accepted program')} by run; best so far {best[-1]:.4f} (lower is better).",
    )


def elite_table(view: CampaignView) -> Table:
    """The elites: the program of best elite score in each cell of niche, feature growth and novelty band."""
    entries = {entry["candidate_id"]: entry for entry in view.report["accepted"]}
    rows = []
    for elite in sorted(view.report["elites"], key=lambda e: (NICHES.index(e["niche"]), e["feature_growth"])):
        entry = entries[elite["candidate_id"]]
        place = (_words(elite["niche"]), elite["feature_growth"], _words(elite["novelty_band"]))
        rows.append((*place, entry["name"], entry["candidate_id"], entry["scores"]["mean_crps"]))
    columns = ("niche", "feature growth", "novelty", "name", "identifier", "mean CRPS")
    return table(columns, rows, f"Elites: mean CRPS, lower is better; {_counted(len(rows), 'cell')} filled")


def elite_drawing(view: CampaignView) -> Drawing:
    """The elite grid: niches down, novelty bands across, one panel a feature growth that has an elite."""
    scores = {entry["candidate_id"]: entry["scores"]["mean_crps"] for entry in view.report["accepted"]}
    cells = {
        (elite["feature_growth"], elite["niche"], elite["novelty_band"]): scores[elite["candidate_id"]]
        for elite in view.report["elites"]
    }
    growths = [growth for growth in FEATURE_GROWTHS if any(cell[0] == growth for cell in cells)]
    low, high = (min(cells.values()), max(cells.values())) if cells else (0.0, 1.0)
    panels = []
    for growth in growths or [""]:
        panel = Panel(
            "novelty; mean CRPS in the cells, lower (lighter) is better",
            title=f"feature growth: {growth}" if growth else "no elite yet", width=470, height=270,
            categories=tuple(map(_words, NICHES)), columns=tuple(map(_words, BANDS)),
        )  # fmt: skip
        values = [[cells.get((growth, niche, band)) for band in BANDS] for niche in NICHES]
        panel.cells(values, "cividis_r", low, high)
        panels.append(panel)
    best = ""
    if cells:
        (growth, niche, band), value = min(cells.items(), key=lambda item: (item[1], item[0]))
        best = f"; the best, {value:.4f}, is in {_words(niche)}, {growth}, {_words(band)}"
    words = f"Elite grid, mean CRPS of the best program of each cell, lower is better: {len(cells)} of {len(NICHES) * len(BANDS) * len(FEATURE_GROWTHS)} cells filled{best}."
    return drawing(panels, words)


def lineage_drawing(view: CampaignView) -> Drawing:
    """Accepted programs by run and score, joined to their parents."""
    panel = Panel("run", "mean CRPS, lower is better", width=560, height=280, whole=True)
    panel.x_range = (0.5, max(view.runs, 1) + 0.5)
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
            shape = "circle" if style == 0 else "diamond"
            panel.points([e["run"] + 1 for e in group], scores, style, label, hollow=style == 0, shape=shape)
    return drawing(
        [panel],
        f"Lineage of {len(entries)} accepted programs: {len(roots)} new roots, {joined} links from parent to child.",
    )


def rejection_table(view: CampaignView) -> Table:
    """Why drafts were not accepted, the most frequent reason first."""
    states = ", ".join(f"{count} {state}" for state, count in sorted(view.drafts.items())) or "none yet"
    return table(("reason", "drafts"), view.rejected or (("none", 0),), f"Drafts: {states}")


def left_over_table(view: CampaignView) -> Table:
    """Drafts that were staged, verified or tuned, and not submitted; the best tuned first."""
    count = sum(view.drafts.get(state, 0) for state in LEFT_OVER)
    accepted = {entry["name"] for entry in view.report["accepted"]}
    rows = []
    for draft in view.left_over:
        state = f"{draft.state}; accepted with other parameters" if draft.name in accepted else draft.state
        rows.append((draft.name, draft.contract, draft.run_index + 1, state, draft.fitness))
    shown = "" if count == len(rows) else f", the best {len(rows)} are shown"
    columns = ("name", "contract", "run", "state", "best fitness")
    return table(
        columns, rows, f"Not submitted by their authors: {_counted(count, 'draft')}{shown}; a larger fitness is better"
    )


def trial_table(view: CampaignView) -> Table:
    """Tuning trials by method."""
    return table(
        ("method", "scored", "failed", "best fitness"), view.trials, "Tuning trials; a larger fitness is better"
    )


def transcript_table(records: Sequence[TranscriptRecord], longest: int = 600) -> Table:
    """What a language model was told and answered, each message shortened."""
    rows = [(record.position, record.role, str(record.content)[:longest]) for record in records]
    return table(("", "role", "content"), rows, "Transcript of the last run that has one")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _short(reason: str) -> str:
    """A reason without what differs from draft to draft."""
    words = " ".join(reason.split())
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 1] + "…"


def _counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
