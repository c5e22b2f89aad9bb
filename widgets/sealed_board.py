"""SealedBoard: the tasks and budgets of a sealed set, policies by micro and macro regret, regret against the budget with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets
import traitlets

from kernaut.report.page import Note, Part
from kernaut.report.sealed_view import (
    MEASURES,
    asked_report,
    budget_drawing,
    family_table,
    outcome_table,
    places_of,
    policies_of,
    policy_drawing,
    policy_table,
    require_sealed,
    sealed_report,
    task_table,
)
from kernaut.sealed.manifest import SPLITS, Manifest, read_manifest
from widgets.view import WIDE, View, follow, picture_box, set_options

NOTHING = "Name a report of kernaut sealed report, or the address of a service that runs."
NO_TASKS = "Name the public folder of kernaut sealed generate to see tasks and budgets."


class SealedBoard(View):
    """A sealed report.

    Traits:
        report: path of a report; a mapping is given to the constructor instead.
        service: address of a running service that is asked for the report of its closed runs, where no path is given.
        manifest: the public folder of the task set.
        measure: ``raw`` or ``clipped`` regret.
        place: what regret is shown on against the budget: ``macro``, ``micro`` or a family.
        policies: whose lines are shown; the best eight if empty.
        split: tasks of ``train``, ``validation``, ``test`` or ``all``.
        family: tasks of this family; any if empty.
    """

    report = traitlets.Unicode("")
    service = traitlets.Unicode("")
    manifest = traitlets.Unicode("")
    measure = traitlets.Enum(MEASURES, default_value=MEASURES[0])
    place = traitlets.Unicode("macro")
    policies = traitlets.List(traitlets.Unicode())
    split = traitlets.Enum(("all", *SPLITS), default_value="all")
    family = traitlets.Unicode("")

    def __init__(self, report: str | Mapping[str, Any] = "", **traits: Any) -> None:
        given = report if isinstance(report, Mapping) else None
        super().__init__(report="" if given is not None else str(report), **traits)
        self._given = given
        self.found: Mapping[str, Any] | None = None
        self.tasks: Manifest | None = None
        self._build()
        self.observe(self.refresh, names=["report", "service"])
        self.observe(self._load_tasks, names="manifest")
        self.observe(self._show, names=["measure", "place", "policies"])
        self.observe(self._show_tasks, names=["split", "family"])
        self.refresh()

    def static_parts(self) -> list[Part]:
        """The message, policies, regret against the budget over all and on each family, how episodes ended, families and tasks."""
        parts = super().static_parts()
        if self.found is not None:
            parts += [policy_drawing(self.found, self.measure), policy_table(self.found, self.measure)]
            places = [place for place in places_of(self.found) if place != self.place] if self.place == "macro" else []
            parts += [self._against_budget(place) for place in (self.place, *places)]
            parts.append(outcome_table(self.found))
        if self.tasks is not None:
            parts += [family_table(self.tasks, self.found), task_table(self.tasks, self.split, self.family)]
        return parts

    def refresh(self, change: Any = None) -> None:
        """Read or ask for the report again."""
        with self.working():
            self.found = None
            for box in (self.picture, self.table, self.curve, self.ended):
                box.value = ""
            if self.report:
                self.found = sealed_report(self.report)
            elif self.service:
                self.found = asked_report(self.service)
            elif self._given is not None:
                self.found = require_sealed(self._given, "the given report")
            else:
                self.picture.value = Note(NOTHING).html()
            if isinstance(change, dict) and self.found is not None:  # another report has other families and policies
                places, known = places_of(self.found), policies_of(self.found)
                with self.hold_trait_notifications():
                    self.place = self.place if self.place in places else places[0]
                    self.policies = [name for name in self.policies if name in known]
            self._show()
            self._load_tasks()

    def _build(self) -> None:
        row, wide = {"flex_flow": "row wrap"}, {"width": "420px"}
        self.type_report = ipywidgets.Text(description="report", continuous_update=False, style=WIDE, layout=wide)
        self.type_service = ipywidgets.Text(
            description="or service", continuous_update=False, placeholder="http://127.0.0.1:PORT", style=WIDE
        )
        self.type_manifest = ipywidgets.Text(description="task set", continuous_update=False, style=WIDE, layout=wide)
        self.again = ipywidgets.Button(
            description="Refresh", icon="refresh", tooltip="read or ask for the report again"
        )
        self.pick_measure = ipywidgets.ToggleButtons(options=MEASURES, description="regret")
        self.pick_place = ipywidgets.Dropdown(options=[self.place], description="regret on", style=WIDE)
        self.pick_policies = ipywidgets.SelectMultiple(description="policies", rows=7, style=WIDE, layout=wide)
        self.pick_split = ipywidgets.Dropdown(options=("all", *SPLITS), description="split")
        self.pick_family = ipywidgets.Dropdown(options=[("any", "")], description="family")
        self.picture, self.curve = picture_box(120), picture_box(340)
        self.table, self.ended, self.families, self.listing = (ipywidgets.HTML() for _ in range(4))
        for name, control in (
            ("report", self.type_report), ("service", self.type_service), ("manifest", self.type_manifest),
            ("measure", self.pick_measure), ("split", self.pick_split),
        ):  # fmt: skip
            traitlets.link((self, name), (control, "value"))
        follow(self.pick_place, lambda value: self.set_trait("place", value))
        follow(self.pick_policies, lambda value: self.set_trait("policies", list(value)))
        follow(self.pick_family, lambda value: self.set_trait("family", value))
        self.again.on_click(self.refresh)
        policies = ipywidgets.VBox([self.pick_measure, self.picture, self.table])
        budget = ipywidgets.VBox([ipywidgets.HBox([self.pick_place, self.pick_policies], layout=row), self.curve])
        tasks = ipywidgets.VBox(
            [self.families, ipywidgets.HBox([self.pick_split, self.pick_family], layout=row), self.listing]
        )
        self.tabs = ipywidgets.Tab(
            [policies, budget, self.ended, tasks],
            titles=("policies", "regret by budget", "endings", "tasks and budgets"),
        )
        self.children = [
            ipywidgets.HBox([self.type_report, self.type_service, self.again], layout=row), self.type_manifest, self.status, self.tabs,
        ]  # fmt: skip

    def _show(self, change: Any = None) -> None:
        with self.working():
            if self.found is None:
                self.table.value = self.curve.value = self.ended.value = ""
                return
            names, places = policies_of(self.found, self.measure), places_of(self.found)
            set_options(self.pick_policies, names, [name for name in self.policies if name in names])
            set_options(self.pick_place, places, self.place if self.place in places else places[0])
            self.picture.value = policy_drawing(self.found, self.measure).html()
            self.table.value = policy_table(self.found, self.measure).html()
            self.ended.value = outcome_table(self.found).html()
            curve = ""
            try:
                curve = self._against_budget(self.place).html()
            finally:  # once, so that the page does not jump
                self.curve.value = curve

    def _against_budget(self, place: str) -> Part:
        assert self.found is not None
        return budget_drawing(self.found, place, self.policies)

    def _load_tasks(self, change: Any = None) -> None:
        with self.working():
            self.tasks, self.families.value, self.listing.value = None, Note(NO_TASKS).html(), ""
            if not self.manifest:
                return
            self.tasks = read_manifest(self.manifest)
            self.families.value = family_table(self.tasks, self.found).html()
            known = sorted({task.family for task in self.tasks.tasks.values()})
            self.family = self.family if self.family in known else ""
            set_options(self.pick_family, [("any", ""), *((name, name) for name in known)], self.family)
            self._show_tasks()

    def _show_tasks(self, change: Any = None) -> None:
        with self.working():
            self.listing.value = ""
            if self.tasks is not None:
                self.listing.value = task_table(self.tasks, self.split, self.family).html()
