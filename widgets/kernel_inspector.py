"""KernelInspector: see what a kernel expects of functions, turn its parameters, or write one and watch the verdict."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import ipywidgets
import traitlets

from kernaut.evaluation.adjust import knobs, turned
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.contracts import CONTRACTS
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.program.templates import template
from kernaut.report.drawing import Drawing
from kernaut.report.kernel_pictures import VIEWS, Look, view_picture
from kernaut.report.page import Page, Part
from kernaut.report.reading import reading
from kernaut.report.subject_view import (
    about,
    archive_subject,
    file_subject,
    library_subjects,
    parameters_json,
    typed_subject,
    verdict,
)
from kernaut.verification.evidence import Evidence
from kernaut.verification.verify import verify
from widgets.view import WIDE, View, follow, picture_box, set_options, shown

ORIGINS = ("library", "archive", "file", "typed")
FIRST = "matern52-lengthscale-0.25"
STEPS = 200
PAUSE = 0.5
"""Seconds without a keystroke before a typed program is run."""


class KernelInspector(View):
    """One kernel, seen from all sides.

    Traits:
        origin: where the kernel comes from: ``library``, ``archive``, ``file`` or ``typed``.
        choice: the name of a library kernel, or the identifier of a program of the archive.
        archive: path of the archive.
        file: path of a candidate file.
        contract: of a typed program; choosing one puts its template into the editor.
        source: the text of a typed program.
        parameters: its parameters, JSON text.
        values: parameters turned away from the kernel's own, by name; the sliders set them.
        view: one of :data:`kernaut.report.kernel_pictures.VIEWS`.
        dimension: of the inputs.
        seed: of the noise that functions are drawn with.
        anchor: the place that covariances are shown around.
        tier: what verification established; empty for library kernels.
    """

    origin = traitlets.Enum(ORIGINS, default_value="library")
    choice = traitlets.Unicode(FIRST)
    archive = traitlets.Unicode("")
    file = traitlets.Unicode("")
    contract = traitlets.Enum(tuple(CONTRACTS), default_value="input_transform")
    source = traitlets.Unicode("")
    parameters = traitlets.Unicode("{}")
    values = traitlets.Dict()
    view = traitlets.Enum(tuple(VIEWS), default_value=next(iter(VIEWS)))
    dimension = traitlets.Int(2, min=1, max=8)
    seed = traitlets.Int(0, min=0)
    anchor = traitlets.Float(0.5, min=0.0, max=1.0)
    tier = traitlets.Unicode("")

    def __init__(self, program: KernelProgram | None = None, **traits: Any) -> None:
        super().__init__(**traits)
        self.subject: Subject | None = None
        self.evidence: Evidence | None = None
        self.drawn: Drawing | None = None
        self._kernel: KernautKernel | None = None
        self._space: tuple[ParameterSpec, ...] = ()
        self._waiting: asyncio.TimerHandle | None = None
        self._given = program
        self._build()
        if program is not None:
            self._edit(program)
            self.origin = "typed"
        elif self.origin == "typed" and not self.source:
            self._edit(template(self.contract))
        self.observe(self._choose, names=["origin", "choice", "archive", "file"])
        self.observe(self._take_template, names="contract")
        self.observe(self._typed, names=["source", "parameters"])
        self.observe(self._turn, names="values")
        self.observe(self._draw, names=["view", "dimension", "seed", "anchor"])
        self._choose()

    def close(self) -> None:
        """Close the widget and end the program's process."""
        self._wait_no_longer()
        self._forget()
        super().close()

    def static_parts(self) -> list[Part]:
        """The message, the picture of the chosen view, and everything about the kernel."""
        parts = super().static_parts()
        if self.drawn is not None:
            parts.append(self.drawn)
        return parts + (about(self.subject, self.evidence) if self.subject is not None else [])

    # Controls

    def _build(self) -> None:
        wide = ipywidgets.Layout(width="99%")
        self.pick_origin = ipywidgets.Dropdown(options=ORIGINS, description="kernel from", style=WIDE)
        self.pick_choice = ipywidgets.Dropdown(options=[self.choice], description="which", style=WIDE)
        self.type_file = ipywidgets.Text(description="candidate file", continuous_update=False, style=WIDE)
        self.type_archive = ipywidgets.Text(description="archive", continuous_update=False, style=WIDE)
        self.pick_contract = ipywidgets.Dropdown(options=tuple(CONTRACTS), description="contract", style=WIDE)
        self.type_source = ipywidgets.Textarea(
            description="source", rows=12, layout=wide, tooltip="the program's text"
        ).add_class("kernaut-source")
        self.type_parameters = ipywidgets.Textarea(description="parameters", rows=4, layout=wide)
        self.editor = ipywidgets.VBox([self.pick_contract, self.type_source, self.type_parameters])
        self.sliders = ipywidgets.VBox()
        self.pick_view = ipywidgets.Dropdown(options=tuple(VIEWS), description="view", style=WIDE)
        self.pick_dimension = ipywidgets.IntSlider(min=1, max=8, description="inputs", style=WIDE)
        self.pick_seed = ipywidgets.BoundedIntText(min=0, max=9999, description="noise draw", style=WIDE)
        self.pick_anchor = ipywidgets.FloatSlider(min=0.0, max=1.0, step=0.05, description="anchor", style=WIDE)
        self.picture = picture_box(270)
        self.verdict = ipywidgets.HTML()
        self.about = ipywidgets.HTML()
        fold = ipywidgets.Accordion(
            [self.about], titles=("Source, parameters, formulation, evidence",), selected_index=None
        )
        for name, control in (
            ("origin", self.pick_origin),
            ("file", self.type_file),
            ("archive", self.type_archive),
            ("contract", self.pick_contract),
            ("source", self.type_source),
            ("parameters", self.type_parameters),
            ("view", self.pick_view),
            ("dimension", self.pick_dimension),
            ("seed", self.pick_seed),
            ("anchor", self.pick_anchor),
        ):
            traitlets.link((self, name), (control, "value"))
        follow(self.pick_choice, self._picked)
        looks = ipywidgets.HBox(
            [self.pick_dimension, self.pick_seed, self.pick_anchor], layout={"flex_flow": "row wrap"}
        )
        chosen = [self.pick_origin, self.type_archive, self.pick_choice, self.type_file]
        top = ipywidgets.HBox(chosen, layout={"flex_flow": "row wrap"})
        self.children = [
            top, self.editor, self.verdict, self.sliders, self.pick_view, looks, self.status, self.picture, fold,
        ]  # fmt: skip

    def _picked(self, value: str | None) -> None:
        if value is not None:
            self.choice = value

    def _offer(self) -> None:
        """What there is to choose from, for the present origin."""
        self.pick_choice.layout.display = "" if self.origin in ("library", "archive") else "none"
        self.type_file.layout.display = "" if self.origin == "file" else "none"
        self.type_archive.layout.display = "" if self.origin == "archive" else "none"
        self.editor.layout.display = "" if self.origin == "typed" else "none"
        if self.origin == "library":
            names = list(library_subjects())
            self.choice = self.choice if self.choice in names else FIRST
            set_options(self.pick_choice, names, self.choice)
        elif self.origin == "archive":
            with reading(self.archive) as opened:
                programs = {record.program.id: record.program.name for record in opened.candidates()}
            if self.choice not in programs and programs and self.choice in library_subjects():
                self.choice = next(iter(programs))
            options = [(f"{name} ({key})", key) for key, name in programs.items()]
            set_options(self.pick_choice, options, self.choice if self.choice in programs else None)

    # What happens

    def _choose(self, change: Any = None) -> None:
        """Another kernel."""
        self._wait_no_longer()
        with self.working(), self.hold_trait_notifications():
            self._clear()
            self._offer()
            if self.origin == "typed":
                if not self.source:
                    self._edit(template(self.contract))
                self.subject = self._typed_subject()
            elif self.origin == "library":
                self.subject = library_subjects()[self.choice]
            elif self.origin == "file":
                self.subject = file_subject(self.file)
            else:
                with reading(self.archive) as opened:
                    self.subject = archive_subject(opened, self.choice)
            self._arrive()

    def _arrive(self) -> None:
        """Verify a new subject, offer its sliders and draw it."""
        assert self.subject is not None
        content = self.subject.content
        if isinstance(content, KernelProgram):
            self.evidence = verify(content, (self.dimension,), 0, resolve=self._resolve)
            self.tier = self.evidence.tier
            self.verdict.value = f"<b>{verdict(self.evidence)}</b>"
            if self.evidence.reason is not None:
                self.complain(self.evidence.reason)
        self.about.value = Page(tuple(about(self.subject, self.evidence))).html()
        self._offer_sliders()
        if self.evidence is None or self.evidence.tier != "none":
            self._interpret()
            self._draw()

    def _take_template(self, change: Any = None) -> None:
        self._edit(template(self.contract))
        if self.origin == "typed":
            self._choose()

    def _edit(self, program: KernelProgram) -> None:
        """Put a program into the editor."""
        self._space = program.space
        with self.hold_trait_notifications():
            self.contract, self.source, self.parameters = program.contract, program.source, parameters_json(program)

    def _typed_subject(self) -> Subject:
        """What stands in the editor; a program that was given keeps its name and identifier until it is changed."""
        found = typed_subject("typed", self.contract, self.source, self.parameters, self._space)
        given = self._given
        if given is None or (given.contract, given.source, parameters_json(given)) != (
            self.contract,
            self.source,
            self.parameters,
        ):
            return found
        return program_subject(given, "file")

    def _typed(self, change: Any = None) -> None:
        """Screen at once what is typed; run it after a pause."""
        if self.origin != "typed":
            return
        with self.working():
            self._typed_subject()
        if not self.message:
            self._soon(self._choose)
        else:
            self._clear()

    def _turn(self, change: Any = None) -> None:
        """Other parameter values."""
        if self.subject is not None:
            with self.working():
                self._interpret()
                self._draw()

    def _interpret(self) -> None:
        assert self.subject is not None
        self._forget()
        self._kernel = turned(self.subject, self.values).kernel(resolve=self._resolve)

    def _draw(self, change: Any = None) -> None:
        """Another picture of the same kernel."""
        if self._kernel is None:
            return
        with self.working():
            drawn = None
            try:
                drawn = view_picture(self.view, self._kernel, Look(self.dimension, self.seed, self.anchor))
            finally:
                self.drawn, self.picture.value = drawn, shown(drawn)

    def _resolve(self, program_id: str) -> KernelProgram:
        with reading(self.archive) as opened:
            return opened.program(program_id)

    def _forget(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _clear(self) -> None:
        self._forget()
        self.subject = self.evidence = self.drawn = None
        self.tier, self.values = "", {}
        self.picture.value = self.about.value = self.verdict.value = ""
        self.sliders.children = ()

    def _offer_sliders(self) -> None:
        assert self.subject is not None
        self.sliders.children = [self._slider(spec, value) for spec, value in knobs(self.subject)]

    def _slider(self, spec: ParameterSpec, value: Any) -> ipywidgets.Widget:
        options = {"description": spec.name, "style": WIDE}
        place: Callable[[float], float] = float
        low, high = spec.lower or 0.0, spec.upper or 0.0
        if spec.scale == "log":
            low, high, place = math.log10(spec.lower or 1.0), math.log10(spec.upper or 1.0), math.log10
        step = 0.0
        if spec.type == "categorical":
            control = ipywidgets.Dropdown(options=spec.choices, value=value, **options)
        elif spec.type == "int":
            control = ipywidgets.IntSlider(
                min=int(spec.lower or 0), max=int(spec.upper or 0), value=int(value), **options
            )
        elif spec.scale == "log":
            step = _step(low, high, place(value))
            control = ipywidgets.FloatLogSlider(min=low, max=high, step=step, value=value, **options)
        else:
            step = _step(low, high, place(value))
            control = ipywidgets.FloatSlider(min=low, max=high, step=step, value=value, **options)

        def moved(new: Any) -> None:
            """Take a value; a front end that rounds to its grid sends one back that nobody chose, less than half a step away."""
            new, now = _within(spec, new), self.values.get(spec.name, value)
            if not step or abs(place(new) - place(now)) >= 0.5 * step:
                self.values = {**self.values, spec.name: new}

        follow(control, moved)
        return control

    def _soon(self, act: Callable[[], None]) -> None:
        """After a pause where an event loop runs, at once where none does; a later call replaces an earlier one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            act()
            return
        self._wait_no_longer()
        self._waiting = loop.call_later(PAUSE, act)

    def _wait_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _step(low: float, high: float, place: float) -> float:
    """About a two-hundredth of a slider's way, so that the place of its value is a whole number of steps from its beginning."""
    count = round(STEPS * (place - low) / (high - low))
    return (place - low) / count if count else (high - low) / STEPS


def _within(spec: ParameterSpec, value: Any) -> Any:
    """A slider's value inside the range; sliders round."""
    if spec.type == "categorical":
        return value
    return min(max(value, spec.lower), spec.upper)
