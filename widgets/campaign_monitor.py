"""CampaignMonitor: start, pause, resume and stop a campaign in the background, and watch it; the same view on a finished archive."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import ipywidgets
import traitlets

from kernaut.episodes.registry import benchmark_names
from kernaut.report.campaign_view import (
    CampaignView,
    best_so_far,
    campaign_view,
    elite_drawing,
    elite_table,
    left_over_table,
    lineage_drawing,
    progress_sentence,
    rejection_table,
    transcript_table,
    trial_table,
)
from kernaut.report.page import Note, Part
from kernaut.report.reading import reading, stamp, typed_options
from kernaut.runs.background import BackgroundCampaign, search_command
from widgets.view import WIDE, View, follow, offer

POLL_SECONDS = 2.0
TABS = ("best so far", "elites", "lineage", "rejected", "trials", "transcript")


class CampaignMonitor(View):
    """A campaign of an archive.

    Traits:
        archive: its path; made by the first start.
        campaign: its name; the last one begun if empty.
        benchmark: what a campaign that is started here searches on: ``bbo``, ``greenhouse``, ``enzymes``, ``glucose``, or that of an installed package.
        runs, seed, workers: of such a campaign.
        episodes: its meta-training episodes of each family; few, so that something is seen soon.
        rounds: most drafts of each of its runs.
        options: further options of its command by name, such as ``{"chembench_root": "/data/autoscilab"}``; none after another benchmark is chosen.
        controls: whether a campaign can be started here; where not, the archive is only looked at.
        follow: whether to look again every few seconds at an archive that another process writes.
        state: ``idle``, ``running``, ``pausing``, ``paused``, ``stopped``, ``finished`` or ``failed``.
        progress: how far it is, one sentence.
    """

    archive = traitlets.Unicode("")
    campaign = traitlets.Unicode("")
    benchmark = traitlets.Unicode("bbo")
    runs = traitlets.Int(4, min=1, max=999)
    seed = traitlets.Int(0, min=0)
    workers = traitlets.Int(1, min=1, max=64)
    episodes = traitlets.Int(1, min=1, max=999)
    rounds = traitlets.Int(3, min=1, max=999)
    options = traitlets.Dict()
    controls = traitlets.Bool(True)
    follow = traitlets.Bool(False)
    state = traitlets.Unicode("idle")
    progress = traitlets.Unicode("")

    def __init__(self, archive: str = "", **traits: Any) -> None:
        super().__init__(archive=str(archive), **traits)
        self.process: BackgroundCampaign | None = None
        self.look: CampaignView | None = None
        self._polling: asyncio.TimerHandle | None = None
        self._seen: Any = None
        self._build()
        self.observe(self._another, names=["archive", "campaign"])
        self.observe(self._enable, names=["state", "controls"])
        self.observe(self._offer_options, names=["benchmark", "options"])
        self._offer_options()
        self._enable()
        if self.archive and Path(self.archive).exists():
            self._watch()

    def close(self) -> None:
        """Stop the campaign and close the widget."""
        self.stop()
        self.process = None  # ipywidgets closes once more when the interpreter ends
        super().close()

    def start(self, change: Any = None) -> None:
        """Start the campaign, or resume it after a pause."""
        with self.working():
            if self.process is None or self.state in ("idle", "stopped", "finished", "failed"):
                self.process = BackgroundCampaign(self._command(), f"{self.archive}.log")
            self.process.start()
            self._watch()

    def pause(self, change: Any = None) -> None:
        """End the process after what is closed is written; :meth:`start` resumes."""
        with self.working():
            if self.process is not None:
                self.process.pause()
            self._watch()

    def stop(self, change: Any = None) -> None:
        """End the process and wait for it."""
        with self.working():
            if self.process is not None:
                self.process.stop()
                self.refresh()
                self.state = "stopped" if self.process.state == "paused" else self.process.state
        self._look_no_more()

    def refresh(self, change: Any = None, *, quietly: bool = False) -> None:
        """Read the archive, and what the process says of itself."""
        with self.working(quietly=quietly):
            self.look, self._seen = None, None
            if self.process is not None:
                self.state = self.process.state
                self.said.value = self.process.last_words()[-1500:]
                if self.state == "failed":
                    words = [line for line in self.said.value.splitlines() if line.strip()]
                    self.complain(
                        words[-1] if words else "The campaign's process ended without a word.", details=self.said.value
                    )
            if self.process is not None and not Path(self.archive).exists():
                self.progress = "" if self.state == "failed" else "The archive is not there yet."
                self.sentence.value = Note(self.progress).html()
                return
            now = stamp(self.archive)
            with reading(self.archive) as opened:
                self._seen = now
                if self.process is not None and not opened.campaigns():
                    return
                self.look = campaign_view(opened, self.campaign)
            self._show()

    def static_parts(self) -> list[Part]:
        """The message, and every view of the campaign."""
        parts = super().static_parts()
        if self.look is None:
            return parts
        parts.append(Note(progress_sentence(self.look)))
        views = (
            best_so_far, elite_drawing, elite_table, lineage_drawing, rejection_table, left_over_table, trial_table,
        )  # fmt: skip
        return parts + [make(self.look) for make in views]

    def _command(self) -> list[str]:
        return search_command(
            self.benchmark, self.archive, runs=self.runs, episodes=self.episodes, rounds=self.rounds, seed=self.seed,
            workers=self.workers, campaign=self.campaign, options=self.options,
        )  # fmt: skip

    def _build(self) -> None:
        row = {"flex_flow": "row wrap"}
        self.type_archive = ipywidgets.Text(
            description="archive", continuous_update=False, style=WIDE, layout={"width": "420px"}
        )
        self.type_campaign = ipywidgets.Text(
            description="campaign", continuous_update=False, placeholder="the last one", style=WIDE
        )
        self.pick_benchmark = ipywidgets.Dropdown(
            options=[name for name in benchmark_names() if name != "table"], description="benchmark", style=WIDE
        )
        self.type_options = ipywidgets.Text(
            description="options", continuous_update=False, placeholder='{"difficulty": "hard"}', style=WIDE
        )
        self.pick_runs = ipywidgets.BoundedIntText(min=1, max=999, description="runs")
        self.pick_seed = ipywidgets.BoundedIntText(min=0, max=10**9, description="seed")
        self.start_button = ipywidgets.Button(description="Start", icon="play", tooltip="start or resume the campaign")
        self.pause_button = ipywidgets.Button(
            description="Pause", icon="pause", tooltip="end it politely; Resume goes on"
        )
        self.stop_button = ipywidgets.Button(description="Stop", icon="stop", tooltip="end it and wait for its end")
        self.again = ipywidgets.Button(description="Refresh", icon="refresh", tooltip="read the archive again")
        self.sentence, self.state_line = ipywidgets.HTML(), ipywidgets.HTML()
        self.bar = ipywidgets.IntProgress(min=0, max=1, description="runs")
        self.boxes = {name: ipywidgets.HTML() for name in TABS}
        self.tabs = ipywidgets.Tab(list(self.boxes.values()), titles=TABS)
        self.said = ipywidgets.Textarea(rows=6, disabled=True, layout={"width": "99%"})
        for name, control in (
            ("archive", self.type_archive), ("campaign", self.type_campaign), ("runs", self.pick_runs), ("seed", self.pick_seed),
            ("benchmark", self.pick_benchmark),
        ):  # fmt: skip
            traitlets.link((self, name), (control, "value"))
        follow(self.type_options, self._typed)
        for button, act in (
            (self.start_button, self.start), (self.pause_button, self.pause), (self.stop_button, self.stop), (self.again, self.refresh),
        ):  # fmt: skip
            button.on_click(act)
        fold = ipywidgets.Accordion([self.said], titles=("What the process says",), selected_index=None)
        buttons = [self.start_button, self.pause_button, self.stop_button, self.again, self.state_line]
        orders = ipywidgets.HBox([self.pick_benchmark, self.pick_runs, self.pick_seed, self.type_options], layout=row)
        self.own = [orders, self.start_button, self.pause_button, self.stop_button, self.state_line, fold]
        self.children = [
            ipywidgets.HBox([self.type_archive, self.type_campaign], layout=row), orders, ipywidgets.HBox(buttons, layout=row),
            self.bar, self.status, self.sentence, self.tabs, fold,
        ]  # fmt: skip

    def _another(self, change: Any = None) -> None:
        """Another archive or campaign: what was paused is not resumed under its name."""
        if self.process is not None and self.process.state not in ("running", "pausing"):
            self.process, self.said.value, self.state = None, "", "idle"
        self.refresh()

    def _offer_options(self, change: Any = None) -> None:
        if change is not None and change["name"] == "benchmark":
            self.options = {}  # they belong to the other benchmark's command
        offer(self.type_options, json.dumps(dict(self.options)) if self.options else "")

    def _typed(self, text: str) -> None:
        with self.working():
            self.options = typed_options(text)

    def _show(self) -> None:
        assert self.look is not None
        look = self.look
        self.progress = progress_sentence(look)
        self.sentence.value = Note(self.progress).html()
        self.bar.max, self.bar.value = max(look.runs, 1), look.closed
        views: dict[str, list[Part]] = {
            "best so far": [best_so_far(look)],
            "elites": [elite_drawing(look), elite_table(look)],
            "lineage": [lineage_drawing(look)],
            "rejected": [rejection_table(look), left_over_table(look)],
            "trials": [trial_table(look)],
            "transcript": [
                transcript_table(look.transcript)
                if look.transcript
                else Note("No model was asked: there is no transcript.")
            ],
        }
        for name, parts in views.items():
            self.boxes[name].value = "".join(part.html() for part in parts)

    def _watch(self) -> None:
        """Look, and again and again while the process runs, from the kernel's own event loop; once where there is none."""
        self.refresh()
        self._look_later()

    def _look_again(self) -> None:
        """Without a sign, and at an archive only where it was written since, so that a page that nobody looks at costs nothing."""
        if self.process is not None or self._seen is None or self._seen != stamp(self.archive):
            self.refresh(quietly=True)
        self._look_later()

    def _look_later(self) -> None:
        self._look_no_more()
        if self.follow or self.state in ("running", "pausing"):
            with suppress(RuntimeError):
                self._polling = asyncio.get_running_loop().call_later(POLL_SECONDS, self._look_again)

    def _look_no_more(self) -> None:
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None

    def _enable(self, change: Any = None) -> None:
        running = self.state in ("running", "pausing")
        self.start_button.disabled = self.type_archive.disabled = self.type_campaign.disabled = running
        self.start_button.description = "Resume" if self.state == "paused" else "Start"
        self.pause_button.disabled = self.state != "running"
        self.stop_button.disabled = not running
        self.state_line.value = f'<span role="status">{self.state}</span>'
        for control in self.own:
            control.layout.display = None if self.controls else "none"
