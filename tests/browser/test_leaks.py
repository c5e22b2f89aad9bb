"""That nothing is left behind: no process after restart-and-run-all, no growing memory while sliders move for ten minutes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Watched, set_parameters
from tests.browser.test_jupyterlab import wait_for_report
from tests.marked import left_over, marked
from tests.notebooks.executed import SMOKE

Run = Callable[[str], Watched]
MINUTES = 10
GROWTH = 10.0
"""Megabytes by which a kernel may grow from the second minute with one kernel to the last; the first one fills caches."""
NOTEBOOKS = ("tour", "kernel_playground", "inspect_archive", "episode_fits", "runs", "collisions", "sealed_tasks")
"""Those with widgets; tests/notebooks/test_papermill.py sees that no notebook leaves a process behind where nobody is there to run them."""


def shut_down(page: Page) -> None:
    """End every kernel, as the list of running kernels does."""
    page.evaluate(
        """async () => { const manager = window.jupyterapp.serviceManager;
        await manager.sessions.shutdownAll(); await manager.kernels.shutdownAll(); }"""
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_process_outlives_restart_and_run_all(name: str, lab: tuple[str, Path], run_in_lab: Run) -> None:
    server = {process for process in marked() if "jupyterlab" in process.cmdline()}
    set_parameters(lab[1] / "notebooks" / f"{name}.ipynb", **SMOKE[name])
    watched = run_in_lab(f"notebooks/{name}.ipynb")
    page = watched.page
    wait_for_report(lab[1], page)
    watched.require_quiet()  # what JupyterLab says of requests that a restart cut off is its own
    page.evaluate('window.jupyterapp.commands.execute("notebook:restart-run-all"), 0')
    page.locator(".jp-Dialog").get_by_role("button", name="Confirm").click()
    wait_for_report(lab[1], page)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    print(name, "has", len(marked() - server), "processes")
    shut_down(page)
    assert left_over(server) == []
    assert watched.outside == []


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_ten_slider_minutes_take_no_more_memory(lab: tuple[str, Path], run_in_lab: Run) -> None:
    before = marked()
    watched = run_in_lab("notebooks/kernel_playground.ipynb")
    page = watched.page
    wait_for_report(lab[1], page)
    (kernel,) = (process for process in marked() - before if "ipykernel_launcher" in process.cmdline())
    memory, moves, pictures = [], 0, set()
    for minute in range(MINUTES):
        if minute == MINUTES // 2:  # from a library kernel to a program in its sandbox
            page.locator(".jp-OutputArea select").first.select_option("typed")
            page.locator(".widget-hslider", has_text="bend").first.wait_for()
        names = ("lengthscale", "anchor") if minute < MINUTES // 2 else ("bend", "anchor")
        sliders = [page.locator(".widget-hslider", has_text=name).first for name in names]
        until = time.monotonic() + 60
        key = "ArrowRight" if minute % 2 else "ArrowLeft"
        while time.monotonic() < until:
            sliders[moves % 2].locator(".noUi-handle").first.press(key if moves % 40 < 30 else "ArrowDown")
            moves += 1
            page.wait_for_timeout(150)
        pictures.add(page.locator('img[alt*="functions from the prior"]').first.get_attribute("src") or "")
        memory.append(kernel.memory_info().rss / 1e6)
        others = len(marked() - before)
        print(f"minute {minute + 1}: {memory[-1]:.0f} MB, {moves} moves, {others} processes", flush=True)
    assert len(pictures) > 2
    assert memory[MINUTES // 2 - 1] - memory[1] < GROWTH
    assert memory[-1] - memory[MINUTES // 2 + 1] < GROWTH
    watched.require_quiet()
