"""ArchiveBrowser: search, sort and filter the programs of an archive, see score against cost, compare two, export one."""

from __future__ import annotations

from typing import Any

import ipywidgets
import traitlets

from kernaut.program.contracts import CONTRACTS
from kernaut.program.formulation import NICHES
from kernaut.report.archive_view import (
    SORTS,
    export_program,
    found_rows,
    row_table,
    score_cost_chart,
    score_difference,
    source_difference,
)
from kernaut.report.inspection import candidate_rows
from kernaut.report.page import Note, Part, Source, Table
from kernaut.report.picture import Chart
from kernaut.report.reading import reading
from widgets.view import WIDE, View, follow, set_options

ANY = "any"
NOTHING = "Nothing here yet: the archive holds no accepted program."


class ArchiveBrowser(View):
    """The programs of an archive.

    Traits:
        archive: its path.
        words: what names contain or identifiers begin with.
        contract, niche: only programs of these; empty for any.
        sort: ``mean CRPS``, ``seconds``, ``name`` or ``tunable parameters``.
        selected, other: identifiers of the program that is looked at, and of the one it is compared with.
        folder: where :meth:`export` writes.
        exported: the file that was written last.
        count: how many programs match.
    """

    archive = traitlets.Unicode("")
    words = traitlets.Unicode("")
    contract = traitlets.Unicode("")
    niche = traitlets.Unicode("")
    sort = traitlets.Enum(SORTS, default_value=SORTS[0])
    selected = traitlets.Unicode("")
    other = traitlets.Unicode("")
    folder = traitlets.Unicode(".")
    exported = traitlets.Unicode("")
    count = traitlets.Int(0)

    def __init__(self, archive: str = "", **traits: Any) -> None:
        super().__init__(archive=str(archive), **traits)
        self.rows: list[Any] = []
        self.table: Table | None = None
        self.chart: Chart | None = None
        self.comparison: list[Part] = []
        self._build()
        self.observe(self.refresh, names="archive")
        self.observe(self._filter, names=["words", "contract", "niche", "sort"])
        self.observe(self._show_pair, names=["selected", "other"])
        self.refresh()

    def static_parts(self) -> list[Part]:
        """The message, score against cost, the table and the comparison."""
        parts = super().static_parts()
        parts += [self.chart] if self.chart is not None else []
        parts += [self.table] if self.table is not None else []
        return parts + self.comparison

    def refresh(self, change: Any = None) -> None:
        """Read the archive again."""
        with self.working():
            self.rows, self.chart, self.table, self.comparison, self.count = [], None, None, [], 0
            self.output.outputs = ()
            self.listing.value = self.compared.value = ""
            set_options(self.pick, [], None)
            set_options(self.pick_other, [], None)
            with reading(self.archive) as opened:
                self.rows = candidate_rows(opened)
            if not self.rows:
                self.complain(NOTHING)
                return
            if any(row.get("mean_crps") is not None for row in self.rows):
                self.chart = score_cost_chart(self.rows)
                self.output.outputs = ({"output_type": "display_data", "data": self.chart.live(), "metadata": {}},)
            self._filter()

    def export(self, change: Any = None) -> None:
        """Write the selected program as a candidate file into ``folder``."""
        with self.working():
            with reading(self.archive) as opened:
                program = opened.program(self.selected)
            self.exported = str(export_program(program, self.folder))
            self.written.value = Note(f"written to {self.exported}").html()

    def _build(self) -> None:
        row = {"flex_flow": "row wrap"}
        self.type_archive = ipywidgets.Text(
            description="archive", continuous_update=False, style=WIDE, layout={"width": "420px"}
        )
        self.again = ipywidgets.Button(description="Refresh", icon="refresh", tooltip="read the archive again")
        self.type_words = ipywidgets.Text(description="search", placeholder="part of a name", style=WIDE)
        self.pick_contract = ipywidgets.Dropdown(
            options=[(ANY, ""), *((name, name) for name in CONTRACTS)], description="contract"
        )
        self.pick_niche = ipywidgets.Dropdown(
            options=[(ANY, ""), *((name, name) for name in NICHES)], description="niche"
        )
        self.pick_sort = ipywidgets.Dropdown(options=SORTS, description="sort by")
        self.pick = ipywidgets.Select(description="program", rows=8, style=WIDE, layout={"width": "420px"})
        self.pick_other = ipywidgets.Select(description="compare with", rows=8, style=WIDE, layout={"width": "420px"})
        self.write = ipywidgets.Button(
            description="Export", icon="download", tooltip="write the program as a candidate file"
        )
        self.type_folder = ipywidgets.Text(description="to folder", continuous_update=False, style=WIDE)
        self.output = ipywidgets.Output()
        self.listing, self.compared, self.written = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        for name, control in (
            ("archive", self.type_archive), ("words", self.type_words), ("contract", self.pick_contract),
            ("niche", self.pick_niche), ("sort", self.pick_sort), ("folder", self.type_folder),
        ):  # fmt: skip
            traitlets.link((self, name), (control, "value"))
        follow(self.pick, lambda value: self.set_trait("selected", value or ""))
        follow(self.pick_other, lambda value: self.set_trait("other", value or ""))
        self.again.on_click(self.refresh)
        self.write.on_click(self.export)
        fold = ipywidgets.Accordion([self.listing], titles=("All matching programs",), selected_index=None)
        self.children = [
            ipywidgets.HBox([self.type_archive, self.again], layout=row), self.status, self.output,
            ipywidgets.HBox([self.type_words, self.pick_contract, self.pick_niche, self.pick_sort], layout=row), fold,
            ipywidgets.HBox([self.pick, self.pick_other], layout=row),
            ipywidgets.HBox([self.write, self.type_folder, self.written], layout=row), self.compared,
        ]  # fmt: skip

    def _filter(self, change: Any = None) -> None:
        with self.working():
            rows = found_rows(self.rows, words=self.words, contract=self.contract, niche=self.niche, sort=self.sort)
            self.count = len(rows)
            self.table = row_table(rows)
            self.listing.value = self.table.html()
            options = [(f"{row['name']} ({row['candidate_id'][:8]})", row["candidate_id"]) for row in rows]
            keys = [key for _, key in options]
            set_options(self.pick, options, self.selected if self.selected in keys else None)
            set_options(self.pick_other, options, self.other if self.other in keys else None)

    def _show_pair(self, change: Any = None) -> None:
        with self.working():
            self.comparison, self.compared.value = [], ""
            if not self.selected:
                return
            with reading(self.archive) as opened:
                program = opened.program(self.selected)
                self.comparison = [Source(program.source)]
                if self.other and self.other != self.selected:
                    self.comparison = [source_difference(program, opened.program(self.other))]
                    self.comparison.append(score_difference(opened, self.selected, self.other))
            self.compared.value = "".join(part.html() for part in self.comparison)
