"""CollisionBrowser: signature classes of an evaluator, colliding candidates side by side, its operators with their evidence, and the next operator by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import traitlets

from kernaut.report.authoring_view import (
    TEMPLATES,
    asked,
    export_union,
    judged,
    judgement_parts,
    proposed,
    require_labels,
    require_target,
    silence,
    typed_operator,
)
from kernaut.report.collision_view import (
    Admitted,
    EvaluatorView,
    Labelled,
    SignatureClass,
    class_drawing,
    class_table,
    evaluator_view,
    labelled_candidates,
    ledger_table,
    operator_parts,
    pool_table,
    run_sentence,
    short_signature,
    signature_classes,
)
from kernaut.report.page import Note, Part
from kernaut.report.pair_view import candidate_name, first_pair, pair_parts
from kernaut.report.reading import reading
from widgets.collision_controls import NO_LABELS, CollisionControls
from widgets.view import follow, offer, set_options

MOST_CLASSES, MOST_MEMBERS = 60, 300


class CollisionBrowser(CollisionControls):
    """One run of evaluator evolution.

    Traits:
        archive: its path.
        campaign: a campaign of ``kernaut cegar run``; the last one if empty.
        run: which of its closed runs, from 0.
        operators: how many of the pool's operators are in use, the first ones; -1 for all.
        signature: the class that is looked at.
        left, right: positions of the two candidates that are compared; -1 for none.
        operator: which operator of the pool is shown in full, from 0; -1 for none.
        level, defect, source: of the operator that is written here.
        decision: what became of it: ``admitted``, ``not admitted``, ``screened out``, ``refused``; empty before it is judged.
        cache: folder of a domain's banks and verdicts; the user's cache if empty.
        folder: where :meth:`export` writes; ``exported`` is the file that was written last.
        loaded: whether the candidates are there.
    """

    archive = traitlets.Unicode("")
    campaign = traitlets.Unicode("")
    run = traitlets.Int(0, min=0)
    operators = traitlets.Int(-1, min=-1)
    signature = traitlets.Unicode("")
    left = traitlets.Int(-1, min=-1)
    right = traitlets.Int(-1, min=-1)
    operator = traitlets.Int(-1, min=-1)
    level = traitlets.Enum((1, 2), default_value=1)
    defect = traitlets.Unicode("")
    source = traitlets.Unicode(TEMPLATES[1])
    decision = traitlets.Unicode("")
    cache = traitlets.Unicode("")
    folder = traitlets.Unicode(".")
    exported = traitlets.Unicode("")
    loaded = traitlets.Bool(False)

    def __init__(self, archive: str = "", domain: Any = None, **traits: Any) -> None:
        super().__init__(archive=str(archive), **traits)
        self._domain = domain
        self.look: EvaluatorView | None = None
        self.labelled: Labelled | None = None
        self.added: tuple[Admitted, ...] = ()
        self.attempts: list[Any] = []
        self.classes: list[SignatureClass] = []
        self.pair: list[Part] = []
        self.judgement: list[Part] = []
        self._build()
        self.observe(self.refresh, names=["archive", "campaign", "run"])
        self.observe(self._show_classes, names="operators")
        self.observe(self._show_members, names="signature")
        self.observe(self._show_pair, names=["left", "right"])
        self.observe(self._show_operator, names="operator")
        self.observe(self._another_level, names="level")
        self.observe(self._check, names=["source", "defect"])
        self.refresh()

    @property
    def pool(self) -> tuple[Admitted, ...]:
        """The operators in use."""
        return self.everyone if self.operators < 0 else self.everyone[: self.operators]

    @property
    def everyone(self) -> tuple[Admitted, ...]:
        """The run's operators, then those admitted here."""
        return (*(self.look.pool if self.look is not None else ()), *self.added)

    def static_parts(self) -> list[Part]:
        """The message, the classes, the pair, the pool, the attempts, and the judgement of what was written here."""
        parts = super().static_parts()
        if self.look is None:
            return parts
        parts += [Note(run_sentence(self.look)), class_drawing(self.classes), class_table(self.classes), *self.pair]
        labelled = self.labelled
        return [*parts, pool_table(self.everyone, labelled), ledger_table(self.look), *self.judgement]

    def refresh(self, change: Any = None) -> None:
        """Read the archive again; what was admitted here is dropped."""
        with self.working():
            self._clear()
            with reading(self.archive) as opened:
                self.look = evaluator_view(opened, self.campaign, self.run)
                if self._domain is not None:
                    self.labelled = labelled_candidates(opened, self.look, domain=self._domain)
            self.loaded = self.labelled is not None
            self.sentence.value = Note(run_sentence(self.look)).html()
            self.tried.value = ledger_table(self.look).html()
            elsewhere = isinstance(change, dict)  # another archive, campaign or run, not the button
            self._show_pool(-1 if elsewhere else self.operators)

    def load(self, change: Any = None) -> None:
        """Open the campaign's tasks and candidates, training alone; ``code`` makes its bank on the first time, ``kernels`` fits its programs."""
        with self.working():
            with reading(self.archive) as opened:
                self.look = self.look or evaluator_view(opened, self.campaign, self.run)
                self.labelled = labelled_candidates(opened, self.look, domain=self._domain, cache=self.cache)
            self.loaded = True
            self._show_pool(self.operators)

    def propose(self, change: Any = None) -> None:
        """Let the offline author answer the request for the chosen class; :meth:`judge` judges it."""
        with self.working():
            look, labelled = require_labels(self.look, self.labelled)
            target = require_target(labelled, self.pool, self.signature)
            operator = proposed(look, labelled, asked(look, labelled, self.pool, target, self.level, self.attempts))
            self.set_trait("defect", operator.defect)
            self.set_trait("source", operator.source)

    def judge(self, change: Any = None) -> None:
        """Rules, gate and screens for what is written here; what is admitted joins the pool of this view."""
        with self.working():
            self.decision, self.judgement, self.verdict.value = "", [], ""
            look, labelled = require_labels(self.look, self.labelled)
            operator = typed_operator(self.source, self.level, self.defect)
            target = require_target(labelled, self.pool, self.signature)
            request = asked(look, labelled, self.pool, target, self.level, self.attempts)
            found, attempt = judged(look, labelled, operator, self.pool, target, request)
            self.attempts = [*self.attempts, attempt]
            self.judgement, self.decision = judgement_parts(found), found.decision
            self.verdict.value = "".join(part.html() for part in self.judgement)
            if quiet := found.reason if found.decision == "refused" else silence(found, labelled):
                self.complain(quiet)
            if found.decision == "admitted" and found.verdicts is not None and found.gate is not None:
                self.added = (*self.added, Admitted(operator, found.verdicts, found.gate.to_json(), "by hand"))
                self._show_pool()

    def export(self, change: Any = None) -> None:
        """Write the operators in use as one rule, which ``kernaut cegar export --rule`` turns into a program."""
        with self.working():
            look, _ = require_labels(self.look, self.labelled)
            self.exported = str(export_union(look, self.pool, self.folder))
            self.written.value = Note(f"written to {self.exported}").html()

    def _clear(self) -> None:
        self.look = self.labelled = None
        self.added, self.attempts, self.classes, self.pair, self.judgement = (), [], [], [], []
        self.loaded, self.decision = False, ""
        for box in (
            self.sentence,
            self.picture,
            self.table,
            self.compared,
            self.pooled,
            self.shown,
            self.tried,
            self.verdict,
        ):
            box.value = ""

    def _build(self) -> None:
        self.place_controls()
        for name, control in (
            ("archive", self.type_archive), ("campaign", self.type_campaign), ("run", self.pick_run), ("level", self.pick_level),
            ("defect", self.type_defect), ("source", self.type_source), ("folder", self.type_folder),
        ):  # fmt: skip
            traitlets.link((self, name), (control, "value"))
        for name, control in (
            ("operators", self.slider), ("signature", self.pick_class), ("left", self.pick_left), ("right", self.pick_right),
            ("operator", self.pick_operator),
        ):  # fmt: skip
            follow(control, partial(self.set_trait, name))
        for button, act in (
            (self.again, self.refresh), (self.load_button, self.load), (self.ask, self.propose), (self.try_it, self.judge), (self.write, self.export),
        ):  # fmt: skip
            button.on_click(act)

    def _show_pool(self, used: int = -1) -> None:
        """Another pool: its table, its classes, and all of it in use unless said otherwise."""
        everyone = self.everyone
        used = used if 0 <= used <= len(everyone) else len(everyone)
        self.slider.offering = True
        self.slider.max = len(everyone)
        self.slider.offering = False
        self.pooled.value = pool_table(everyone, self.labelled).html()
        named = [("none", -1), *((f"{n + 1}: {entry.operator.defect}", n) for n, entry in enumerate(everyone))]
        self.operator = min(self.operator, len(everyone) - 1)
        set_options(self.pick_operator, named, self.operator)
        self.words.value = "" if self.labelled is None else Note(self.labelled.domain.interface).html()
        if self.operators == used:
            self._show_classes()
        self.operators = used

    def _show_classes(self, change: Any = None) -> None:
        with self.working():
            if self.look is None:
                return
            if self.operators < 0 or self.operators > len(self.everyone):
                self.operators = len(self.everyone)
                return
            offer(self.slider, self.operators)
            self.classes = signature_classes(self.look, self.pool, self.labelled)
            drawn = class_drawing(self.classes)
            self.picture.value, self.table.value = drawn.html(), class_table(self.classes).html()
            shown = sorted(self.classes, key=lambda found: not found.collides)[:MOST_CLASSES]
            names = [
                (f"{short_signature(c.signature)}: {len(c.members)}{' collide' if c.collides else ''}", c.signature)
                for c in shown
            ]
            known = [signature for _, signature in names]
            chosen = self.signature if self.signature in known else known[0] if known else ""
            set_options(self.pick_class, names or [("none", "")], chosen)
            if self.signature == chosen:
                self._show_members()
            self.signature = chosen

    def _show_members(self, change: Any = None) -> None:
        with self.working():
            found = next((c for c in self.classes if c.signature == self.signature), None)
            if found is None or self.labelled is None:
                self.pair, self.compared.value = [], Note(NO_LABELS).html()
                return
            labelled = self.labelled
            if not found.collides:
                one, two = (*found.members, -1)[:2]
                sides = (found.members, found.members)
            else:
                one, two = first_pair(labelled, found)
                sides = (found.correct or (), found.incorrect or ())
            for control, places, chosen in ((self.pick_left, sides[0], one), (self.pick_right, sides[1], two)):
                kept = list(dict.fromkeys([chosen, *places]))[:MOST_MEMBERS]
                names = [("none" if p < 0 else candidate_name(labelled, p), p) for p in kept]
                control.description = (
                    "candidate" if not found.collides else "correct" if control is self.pick_left else "incorrect"
                )
                set_options(control, names, chosen)
            with self.hold_trait_notifications():
                self.left, self.right = one, two
            self._show_pair()

    def _show_pair(self, change: Any = None) -> None:
        with self.working():
            self.pair = []
            try:
                if self.labelled is not None and min(self.left, self.right) >= 0:
                    self.pair = pair_parts(self.labelled, self.left, self.right, self.everyone, len(self.pool))
            finally:  # once, so that the page does not jump
                self.compared.value = "".join(part.html() for part in self.pair)

    def _show_operator(self, change: Any = None) -> None:
        with self.working():
            self.shown.value = ""
            if 0 <= self.operator < len(self.everyone):
                self.shown.value = "".join(part.html() for part in operator_parts(self.everyone[self.operator]))

    def _another_level(self, change: Any) -> None:
        if self.source.strip() in ("", TEMPLATES[change["old"]].strip()):
            self.source = TEMPLATES[self.level]
        else:
            self._check()

    def _check(self, change: Any = None) -> None:
        """The rules of a source, as it is typed."""
        with self.working():
            self.decision, self.judgement, self.verdict.value = "", [], ""
            typed_operator(self.source, self.level, self.defect)
            self.verdict.value = Note("The rules of a source are kept; Judge asks gate and screens.").html()
        if self.message:
            self.verdict.value = Note(self.message).html()  # beside the editor too: the status line stands far above it
