"""EpisodeExplorer: one episode, any number of kernels side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets
import traitlets

from kernaut.episodes.episode import SPLITS, Episode
from kernaut.episodes.registry import benchmark_named, benchmark_names
from kernaut.errors import KernautError
from kernaut.evaluation.evaluate import Setting
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.program import KernelProgram
from kernaut.report.drawing import Drawing
from kernaut.report.episode_view import (
    EPISODE_VIEWS,
    EpisodeFit,
    fit_episode,
    grid_likelihood,
    likelihood_drawing,
    parts_drawing,
    posterior_drawing,
    regret_drawing,
    regret_outcome,
    residual_drawing,
    score_table,
)
from kernaut.report.page import Note, Part, Table
from kernaut.report.reading import count_look, reading, typed_options
from kernaut.report.subject_view import library_subjects
from widgets.view import WIDE, View, follow, offer, picture_box, set_options, shown

MOST = 4
"""Kernels side by side."""
EPISODES = 20
"""Episodes of each family to choose from."""


class EpisodeExplorer(View):
    """How kernels fit one episode.

    Traits:
        benchmark, split, family, episode: which episode; the last is its number within the family. Opening validation or test is counted as
            a look in the archive, where one is named; where it cannot be counted, nothing is shown.
        options: what the benchmark is made with, such as ``{"chembench_root": "/data/autoscilab"}``; none after another benchmark is chosen.
        kernels: names of the kernels shown, at most four.
        archive: path of an archive whose candidates can be chosen too.
        view: ``posterior``, ``residuals``, ``likelihood``, ``parts`` (summands) or ``regret``.
        coordinate: the input that varies along the line, from 0; the slider counts from 1, as pictures do.
        through: the query point that the line goes through.
    """

    benchmark = traitlets.Unicode("bbo")
    split = traitlets.Enum(SPLITS, default_value="train")
    family = traitlets.Unicode("")
    episode = traitlets.Int(0, min=0)
    options = traitlets.Dict()
    kernels = traitlets.List(traitlets.Unicode())
    archive = traitlets.Unicode("")
    view = traitlets.Enum(EPISODE_VIEWS, default_value="posterior")
    coordinate = traitlets.Int(0, min=0)
    through = traitlets.Int(0, min=0)

    def __init__(
        self, programs: Sequence[KernelProgram] = (), options: Mapping[str, Any] | None = None, **traits: Any
    ) -> None:
        super().__init__(options=dict(options or {}), **traits)
        self._own = {program.name: program_subject(program, "file") for program in programs}
        self._counted = False
        self.warned = ""
        self._alive: dict[str, KernautKernel] = {}
        self._known: dict[str, KernelProgram] = {}
        self.subjects: dict[str, Subject] = {}
        self.fits: list[EpisodeFit] = []
        self.drawings: list[Drawing] = []
        self.scores: Table | None = None
        self._build()
        self._load()
        if not self.kernels:
            self.kernels = [*list(self.subjects)[: max(1, min(2, len(self._own)))]]
        self.observe(self._load, names=["benchmark", "split", "archive", "options"])
        self.observe(self._show, names=["family", "episode", "kernels", "view", "coordinate", "through"])
        self._show()

    def close(self) -> None:
        """Close the widget and end the programs' processes."""
        self._forget()
        super().close()

    def static_parts(self) -> list[Part]:
        """The message, what a look at held-out outcomes costs, the pictures of the chosen view, and the scores."""
        parts = [*super().static_parts(), *([Note(self.warned)] if self.warned else []), *self.drawings]
        return parts + ([self.scores] if self.scores is not None else [])

    def _build(self) -> None:
        row = {"flex_flow": "row wrap"}
        self.pick_benchmark = ipywidgets.Dropdown(options=benchmark_names(), description="benchmark", style=WIDE)
        self.pick_split = ipywidgets.Dropdown(options=SPLITS, description="split", style=WIDE)
        self.pick_family = ipywidgets.Dropdown(options=[""], description="family", style=WIDE)
        self.pick_episode = ipywidgets.BoundedIntText(min=0, max=EPISODES - 1, description="episode", style=WIDE)
        self.pick_kernels = ipywidgets.SelectMultiple(
            description="kernels", rows=6, style=WIDE, layout={"width": "420px"}
        )
        self.type_options = ipywidgets.Text(
            description="options", continuous_update=False, placeholder='{"difficulty": "hard"}', style=WIDE
        )
        self.pick_view = ipywidgets.ToggleButtons(options=EPISODE_VIEWS)
        self.pick_coordinate = ipywidgets.IntSlider(min=1, max=1, description="input", style=WIDE)
        self.pick_through = ipywidgets.IntSlider(min=0, max=31, description="through query", style=WIDE)
        self.picture = picture_box(290)
        self.table = ipywidgets.HTML()
        self.warning = ipywidgets.HTML()
        for name, control in (
            ("benchmark", self.pick_benchmark), ("split", self.pick_split), ("episode", self.pick_episode),
            ("view", self.pick_view), ("through", self.pick_through),
        ):  # fmt: skip
            traitlets.link((self, name), (control, "value"))
        counted = (lambda place: place + 1, lambda number: number - 1)  # pictures name the first one "input 1"
        traitlets.link((self, "coordinate"), (self.pick_coordinate, "value"), transform=counted)
        follow(self.type_options, self._typed)
        follow(self.pick_family, lambda value: self.set_trait("family", value or ""))
        follow(self.pick_kernels, lambda value: self.set_trait("kernels", list(value)))
        self.children = [
            ipywidgets.HBox(
                [self.pick_benchmark, self.type_options, self.pick_split, self.pick_family, self.pick_episode], layout=row
            ),
            ipywidgets.HBox([self.pick_kernels, ipywidgets.VBox([self.pick_coordinate, self.pick_through])], layout=row),
            self.pick_view, self.warning, self.status, self.picture, self.table,
        ]  # fmt: skip

    def _load(self, change: Any = None) -> None:
        """Another benchmark, split or archive."""
        with self.working():
            if change is not None and change["name"] == "benchmark" and self.options:
                self.options = {}  # they belong to the other benchmark; this loads
                return
            self._forget()
            self._counted = False
            self._clear()
            self.warned = self.warning.value = ""
            offer(self.type_options, json.dumps(dict(self.options)) if self.options else "")
            made = benchmark_named(self.benchmark, **self.options)
            families = made.families(self.split)
            self._setting = Setting(self.benchmark, self.split, 1, self.options)
            self.subjects = dict(self._own)
            if self.archive:
                with reading(self.archive) as opened:
                    candidates = [record.program for record in opened.candidates()]
                self._known = {program.id: program for program in candidates}
                self.subjects |= {f"{program.name} {program.id}": program_subject(program) for program in candidates}
            self.subjects |= library_subjects()
            set_options(self.pick_kernels, list(self.subjects), [k for k in self.kernels if k in self.subjects])
            if self.family not in families:
                set_options(self.pick_family, families, families[0])
                self.family = families[0]
            else:
                set_options(self.pick_family, families, self.family)
            if change is not None:
                self._show()

    def chosen(self) -> Episode:
        """The episode that is shown.

        Raises:
            InputError: when there is none of that number.
            ArchiveError: when the look cannot be counted.
        """
        self._open_split()
        made = benchmark_named(self.benchmark, **self.options)
        found = [e for e in made.episodes(self.split, self.episode + 1) if e.family == self.family]
        return found[self.episode]

    def _open_split(self) -> None:
        """Count the look, once for each time that a held-out split is opened, before an outcome is shown."""
        if self.split == "train" or self._counted:
            return
        counted = "No archive is named here: this look is counted nowhere."
        if self.archive:
            times = count_look(self.archive, self.benchmark, self.split, "episode explorer")
            counted = f"Counted in the archive, as opening {times} of {self.split} of {self.benchmark}."
        self._counted = True
        spent = f"These are {self.split} episodes: what you choose after looking at them is no longer judged by them."
        self.warned = f"{spent} {counted}"
        self.warning.value = Note(self.warned).html()

    def _typed(self, text: str) -> None:
        with self.working():
            self.options = typed_options(text)

    def _show(self, change: Any = None) -> None:
        """Fit and draw; the picture is replaced at once, so that it does not blink."""
        with self.working():
            try:
                self._fit_and_draw()
            except BaseException:
                self._clear()
                raise

    def _fit_and_draw(self) -> None:
        episode = self.chosen()
        if [*self.pick_kernels.value] != self.kernels:
            set_options(self.pick_kernels, self.pick_kernels.options, [k for k in self.kernels if k in self.subjects])
        self.pick_coordinate.max = episode.dimension
        self.pick_through.max = len(episode.query_targets) - 1
        fits, failures = [], []
        for name in self.kernels[:MOST]:
            try:
                fits.append(fit_episode(name, self._kernel(name), episode, self.coordinate, self.through))
            except KernautError as error:
                failures.append(f"{name}: {error.message}")
        self.fits = fits
        if fits:
            self.drawings = self._drawings(episode)
            self.scores = score_table(self.fits)
            self.picture.value = "".join(map(shown, self.drawings))
            self.table.value = self.scores.html()
        else:
            self._clear()
        if failures:
            self.complain(f"{len(failures)} of {len(self.kernels)} kernels gave no fit. {' '.join(failures)}")
        elif not fits:
            self.picture.value = Note("Choose at least one kernel.").html()

    def _clear(self) -> None:
        self.fits, self.drawings, self.scores = [], [], None
        self.picture.value = self.table.value = ""

    def _drawings(self, episode: Episode) -> list[Drawing]:
        if self.view == "posterior":
            return [posterior_drawing(self.fits)]
        if self.view == "residuals":
            return [residual_drawing(self.fits)]
        names = [fit.name for fit in self.fits]
        if self.view == "likelihood":
            return [likelihood_drawing([(name, grid_likelihood(self._kernel(name), episode)) for name in names])]
        if self.view == "parts":
            return [parts_drawing(name, self._kernel(name), episode, self.coordinate, self.through) for name in names]
        outcomes = [regret_outcome(self._kernel(name), self._setting, self.family, self.episode) for name in names]
        return [regret_drawing(list(zip(names, outcomes, strict=True)))]

    def _kernel(self, name: str) -> KernautKernel:
        if name not in self._alive:
            self._alive[name] = self.subjects[name].kernel(resolve=self._known.__getitem__)
        return self._alive[name]

    def _forget(self) -> None:
        for kernel in self._alive.values():
            kernel.close()
        self._alive = {}
