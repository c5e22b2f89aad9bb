"""What every view shares: a spinner while it works, a message with its details folded away, and a static form for runs without a reader.

A view is a box of ipywidgets with documented traits; setting a trait from Python does what the control in the browser does.  The cell's output is the live
box where a front end can run it (JupyterLab, Notebook, VS Code, Voila), and the static form elsewhere.
"""

from __future__ import annotations

import html
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets
import traitlets

from kernaut.errors import KernautError
from kernaut.report.page import Note, Page, Part
from kernaut.runs.headless import has_front_end

SPINNER = (
    '<span role="status" style="display:inline-block;width:12px;height:12px;border:2px solid #0072B2;border-right-color:transparent;'
    'border-radius:50%;animation:kernaut-turn 0.8s linear infinite"></span> working'
    "<style>@keyframes kernaut-turn {to {transform: rotate(360deg)}}</style>"
)
WIDE = {"description_width": "initial"}


class View(ipywidgets.VBox):
    """A box with a status line.

    Traits:
        busy: whether it is working; read only in effect.
        message: what went wrong last, one sentence; empty when nothing did.
        details: more about it, folded away in the browser.
    """

    busy = traitlets.Bool(False)
    message = traitlets.Unicode("")
    details = traitlets.Unicode("")

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.status = ipywidgets.HTML(
            layout={"min_height": "28px"}
        )  # the spinner's line, so that nothing below it jumps
        self._depth = self._complaints = 0
        self.observe(self._show_status, names=["busy", "message", "details"])

    @contextmanager
    def working(self, *, quietly: bool = False) -> Iterator[None]:
        """Show the spinner meanwhile, and an error of Kernaut's as the message; anything else is shown and raised.

        Args:
            quietly: for what the view does by itself again and again: no spinner, and a message stays until it is another.
        """
        self._depth += 1
        if self._depth == 1 and not quietly:
            self.busy, self.message, self.details = True, "", ""
        earlier = self._complaints
        try:
            yield
            if quietly and self._complaints == earlier:
                self.message = self.details = ""
        except KernautError as error:
            self.complain(error.message, error.hint or "", "".join(traceback.format_exception(error)))
        except BaseException as error:
            self.complain(f"Unexpected {type(error).__name__}: {error}", "", "".join(traceback.format_exception(error)))
            raise
        finally:
            self._depth -= 1
            self.busy = self._depth > 0

    def complain(self, message: str, hint: str = "", details: str = "") -> None:
        """Show a message; the hint and the details are folded away."""
        self._complaints += 1
        self.details = "\n\n".join(filter(None, (hint, details)))
        self.message = message

    def static(self) -> Page:
        """The view as pictures, tables and text; each view adds its own."""
        return Page(tuple(self.static_parts()) or (Note("Nothing to show."),))

    def static_parts(self) -> list[Part]:
        """What :meth:`static` shows, the message first."""
        return [Note(self.message)] if self.message else []

    def _show_status(self, change: Any = None) -> None:
        parts = [SPINNER] if self.busy else []
        if self.message:
            fold = (
                f"<details><summary>details</summary><pre>{html.escape(self.details)}</pre></details>"
                if self.details
                else ""
            )
            parts.append(
                f'<div role="alert" style="border-left:4px solid #D55E00;padding-left:8px">{html.escape(self.message)}{fold}</div>'
            )
        self.status.value = "".join(parts)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **options: Any) -> Any:
        if not has_front_end():
            return self.static()._repr_mimebundle_()
        bundle = super()._repr_mimebundle_(include=include, exclude=exclude, **options)
        return {**bundle, "text/plain": f"{type(self).__name__}: run the cell again to use it"}


def shown(part: Part | None) -> str:
    """A part as HTML for an ``ipywidgets.HTML``; empty for none."""
    return "" if part is None else part.html()


def picture_box(height: int = 0) -> ipywidgets.HTML:
    """Where a picture is shown; as high as the picture at least, so that the page does not jump."""
    return ipywidgets.HTML(layout=ipywidgets.Layout(min_height=f"{height}px") if height else ipywidgets.Layout())


def offer(control: Any, value: Any) -> None:
    """Give a control a value that :func:`follow` does not take for the reader's."""
    control.offering = True
    control.value = value
    control.offering = False


def set_options(control: Any, options: Any, value: Any) -> None:
    """Give a selection control other options and a value among them; what :func:`follow` attached hears only of the reader's choices."""
    control.offering = True
    control.options = tuple(options)
    control.value = value
    control.offering = False


def follow(control: Any, act: Callable[[Any], None]) -> None:
    """Call ``act(new value)`` whenever a reader, or a test in a reader's stead, changes a control's value."""

    def changed(change: Any) -> None:
        if not getattr(control, "offering", False):
            act(change["new"])

    control.observe(changed, names="value")
