"""The controls of a collision browser, and where they stand; what they do is said in :mod:`widgets.collision_browser`."""

from __future__ import annotations

import ipywidgets

from widgets.view import WIDE, View, picture_box

NO_LABELS = "Labels, sources and fits come with Load candidates; it opens training tasks alone."


class CollisionControls(View):
    """A view with the controls of a collision browser; they do nothing yet."""

    def place_controls(self) -> None:
        """Make them and put them into the box."""
        row, wide = {"flex_flow": "row wrap"}, {"width": "420px"}
        self.type_archive = ipywidgets.Text(description="archive", continuous_update=False, style=WIDE, layout=wide)
        self.type_campaign = ipywidgets.Text(
            description="campaign", continuous_update=False, placeholder="the last one", style=WIDE
        )
        self.pick_run = ipywidgets.BoundedIntText(min=0, max=999, description="run")
        self.again = ipywidgets.Button(description="Refresh", icon="refresh", tooltip="read the archive again")
        self.load_button = ipywidgets.Button(description="Load candidates", icon="folder-open", tooltip=NO_LABELS)
        self.slider = ipywidgets.IntSlider(min=0, max=0, description="operators in use", style=WIDE, layout=wide)
        self.pick_class = ipywidgets.Dropdown(options=[("none", "")], description="class", style=WIDE, layout=wide)
        self.pick_left = ipywidgets.Dropdown(options=[("none", -1)], description="correct", style=WIDE, layout=wide)
        self.pick_right = ipywidgets.Dropdown(options=[("none", -1)], description="incorrect", style=WIDE, layout=wide)
        self.pick_operator = ipywidgets.Dropdown(
            options=[("none", -1)], description="operator", style=WIDE, layout=wide
        )
        self.pick_level = ipywidgets.ToggleButtons(
            options=[("level 1: one candidate", 1), ("level 2: its peers too", 2)], style={"button_width": "auto"}
        )
        self.type_defect = ipywidgets.Text(
            description="flags", placeholder="the defect, in words", style=WIDE, layout=wide
        )
        self.type_source = ipywidgets.Textarea(rows=14, description="source", layout={"width": "99%"}, style=WIDE)
        self.type_source.add_class("kernaut-source")
        self.ask = ipywidgets.Button(description="Propose", icon="magic", tooltip="let the offline author write one")
        self.try_it = ipywidgets.Button(description="Judge", icon="balance-scale", tooltip="rules, gate and screens")
        self.write = ipywidgets.Button(
            description="Export", icon="download", tooltip="write the operators in use as one rule"
        )
        self.type_folder = ipywidgets.Text(description="to folder", continuous_update=False, style=WIDE)
        self.picture = picture_box(120)
        (
            self.sentence,
            self.table,
            self.compared,
            self.pooled,
            self.shown,
            self.tried,
            self.verdict,
            self.written,
            self.words,
        ) = (ipywidgets.HTML() for _ in range(9))
        fold = ipywidgets.Accordion([self.words], titles=("What an operator is given",), selected_index=None)
        author = [
            self.pick_level,
            self.type_defect,
            self.type_source,
            ipywidgets.HBox([self.ask, self.try_it]),
            self.verdict,
            fold,
        ]
        pool = [
            self.pooled,
            self.pick_operator,
            self.shown,
            ipywidgets.HBox([self.write, self.type_folder, self.written], layout=row),
        ]
        pair = [ipywidgets.HBox([self.pick_left, self.pick_right], layout=row), self.compared]
        boxes = [ipywidgets.VBox(part) for part in (pair, pool, [self.tried], author)]
        self.tabs = ipywidgets.Tab(boxes, titles=("pair", "operators", "attempts", "next operator"))
        all_classes = ipywidgets.Accordion([self.table], titles=("All classes",), selected_index=None)
        self.children = [
            ipywidgets.HBox([self.type_archive, self.type_campaign, self.pick_run, self.again, self.load_button], layout=row),
            self.status, self.sentence, self.slider, self.picture, all_classes, self.pick_class, self.tabs,
        ]  # fmt: skip
