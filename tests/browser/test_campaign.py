"""A campaign that is started and paused in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Watched
from tests.browser.test_jupyterlab import small_notebook

Run = Callable[[str], Watched]


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
