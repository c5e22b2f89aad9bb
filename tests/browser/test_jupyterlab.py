"""What a person does in JupyterLab: run a lesson, move a slider, select points, start and pause a campaign; on one server, in one browser."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
from playwright.sync_api import Page

from kernaut.archive.store import Archive
from tests.browser.conftest import PATIENCE, Watched, set_parameters
from tests.widgets.conftest import fill

Run = Callable[[str], Watched]
HASH = """() => { const c = document.querySelector(".vega-embed canvas, .jp-RenderedVegaCommon5 canvas, canvas.marks");
const half = Math.floor(c.width * 0.62); const d = c.getContext("2d").getImageData(half, 0, c.width - half, c.height).data;
let h = 0; for (let i = 0; i < d.length; i += 1) h = (h * 31 + d[i]) | 0; return h; }"""


def wait_for_report(folder: Path, page: Page) -> dict[str, object]:
    """The report that the last cell writes beside a notebook run by hand."""
    path = folder / "notebooks" / "papermill_runs" / "by-hand" / "report.json"
    until = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < until:
        if path.exists():
            found: dict[str, object] = json.loads(path.read_text())
            path.unlink()
            return found
        assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"] >> text=Traceback').count() == 0
        page.wait_for_timeout(300)
    raise AssertionError("no report")


def small_notebook(folder: Path, name: str, source: str) -> str:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, folder / f"{name}.ipynb")
    return f"{name}.ipynb"


def test_the_playground_runs_and_a_slider_moves_the_picture(lab: tuple[str, Path], run_in_lab: Run) -> None:
    watched = run_in_lab("notebooks/kernel_playground.ipynb")
    page = watched.page
    picture = page.locator('img[alt*="functions from the prior"]').first
    picture.wait_for()
    report = wait_for_report(lab[1], page)
    assert report["mirror error"] == 0.0
    change_and_see(page, "lengthscale", 'img[alt*="functions from the prior"]')
    page.evaluate(
        "s => document.querySelector(s).scrollIntoView({block: 'center'})", 'img[alt*="functions from the prior"]'
    )
    watched.keep("kernel-inspector")
    watched.require_quiet()


def test_the_tour_ends_with_a_discovered_kernel(lab: tuple[str, Path], run_in_lab: Run) -> None:
    set_parameters(lab[1] / "notebooks" / "tour.ipynb", runs=1)
    watched = run_in_lab("notebooks/tour.ipynb")
    page = watched.page
    page.locator("text=1 of 1 runs closed").first.wait_for()
    report = wait_for_report(lab[1], page)
    assert report["tier"] == "T2" and report["message"] == ""
    page.locator("text=1 program").first.wait_for(state="attached")
    page.locator(".jp-CodeCell", has_text="Beside a standard kernel").evaluate("cell => cell.scrollIntoView()")
    watched.keep("tour")
    watched.require_quiet()


def change_and_see(page: Page, slider: str, picture: str) -> None:
    row = page.locator(".widget-hslider", has_text=slider).first
    shown = page.locator(picture).first
    before = shown.get_attribute("src")
    row.scroll_into_view_if_needed()
    handle = row.locator(".noUi-handle").first
    handle.focus()
    for _ in range(12):
        handle.press("ArrowLeft")
    page.wait_for_function(
        "([s, b]) => { const e = document.querySelector(s); return e !== null && e.src !== b; }", arg=[picture, before]
    )


def test_selected_points_filter_the_other_chart(lab: tuple[str, Path], run_in_lab: Run) -> None:
    with Archive.create(lab[1] / "made.sqlite") as archive:
        fill(archive, 12)
    source = "from widgets.archive_browser import ArchiveBrowser\nArchiveBrowser('made.sqlite')"
    watched = run_in_lab(small_notebook(lab[1], "browser", source))
    page = watched.page
    canvas = page.locator("canvas").first
    canvas.wait_for()
    page.wait_for_timeout(500)
    before = page.evaluate(HASH)
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 205, box["y"] + 70)
    page.mouse.down()
    page.mouse.move(box["x"] + 330, box["y"] + 260, steps=8)
    page.mouse.up()
    page.wait_for_timeout(500)
    assert page.evaluate(HASH) != before
    watched.keep("archive-browser")
    watched.require_quiet()


def test_a_campaign_starts_and_pauses_while_the_kernel_stays_free(lab: tuple[str, Path], run_in_lab: Run) -> None:
    source = "from widgets.campaign_monitor import CampaignMonitor\nCampaignMonitor('search.sqlite', runs=2)"
    watched = run_in_lab(small_notebook(lab[1], "monitor", source))
    page = watched.page
    page.locator(".jp-OutputArea button", has_text="Start").click()
    page.locator('span[role="status"]', has_text="running").wait_for()
    page.locator("text=runs closed").first.wait_for()
    page.locator(".jp-OutputArea").get_by_text("elites", exact=True).click()
    page.locator("text=Elites: mean CRPS").wait_for()
    page.locator(".jp-OutputArea button", has_text="Pause").click()
    page.locator('span[role="status"]', has_text="paused").wait_for()
    page.locator(".jp-OutputArea button", has_text="Resume").wait_for()
    watched.require_quiet()
