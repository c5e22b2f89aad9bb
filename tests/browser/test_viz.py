"""What a person does at ``kernaut viz``: look at an archive that grows, choose a program, move a slider, take a lesson."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from kernaut.archive.store import Archive
from tests.browser.conftest import Watched
from tests.browser.test_jupyterlab import change_and_see
from tests.marked import ENVIRONMENT, left_over, marked
from tests.widgets.conftest import fill, made_program

COMMAND = "import sys; from kernaut.cli.main import main; main()"
COUNT = 12
OTHER = 4
"""A program of the archive that is not the best one."""

PRIOR = 'img[alt*="functions from the prior"]'


@contextmanager
def served(folder: Path, *words: str) -> Iterator[tuple[str, list[psutil.Process]]]:
    """The address that ``kernaut viz`` prints, and its processes; they have ended afterwards."""
    before = marked()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND, "viz", *words],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}", address), process.stderr
        yield address, list(marked() - before)
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert left_over(before) == []


@pytest.fixture
def folder() -> Iterator[Path]:
    """One whose path is short, for a picture that shows it."""
    with TemporaryDirectory(prefix="kernaut-") as place:
        yield Path(place)


def test_an_archive_is_a_page_that_grows_with_it(watched: Watched, folder: Path) -> None:
    with Archive.create(folder / "made.sqlite") as archive:
        fill(archive, COUNT)
    with served(folder, "--archive", "made.sqlite") as (address, processes):
        bound = {c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}
        assert bound == {"127.0.0.1"}
        page = watched.page
        page.goto(address.split("?")[0] + "?token=" + "0" * 32)
        assert page.url.split("?")[0].endswith("/login")
        assert page.locator("text=made").count() == 0
        page.goto(address)
        page.locator(f"text={COUNT} of {COUNT + 1} runs closed").first.wait_for()
        page.locator(PRIOR).first.wait_for()
        assert page.locator(".jp-InputArea-editor, .jp-CodeCell .highlight, .jp-InputPrompt:visible").count() == 0
        listed = page.locator("select[size]", has=page.locator("option", has_text=f"made_{OTHER} ")).first
        assert listed.locator("option").count() == COUNT
        page.get_by_role("heading", name="How the search went").scroll_into_view_if_needed()
        watched.keep("viz")
        before = page.locator(PRIOR).first.get_attribute("src")
        names = [text.split()[0] for text in listed.locator("option").all_text_contents()]
        listed.select_option(index=names.index(f"made_{OTHER}"))
        page.wait_for_function(
            "([s, b]) => { const e = document.querySelector(s); return e !== null && e.src !== b; }",
            arg=[PRIOR, before],
        )
        change_and_see(page, made_program(OTHER).space[0].name, PRIOR)
        with Archive.open(folder / "made.sqlite") as archive:
            fill(archive, 1, first=COUNT)
        page.locator(f"text={COUNT + 1} of {COUNT + 1} runs closed").first.wait_for()
        listed.locator("option", has_text=f"made_{COUNT} ").first.wait_for(state="attached")
        page.reload()  # a page that was made ready before it was asked for, and before or after that run
        page.locator(f"text={COUNT + 1} of {COUNT + 1} runs closed").first.wait_for()
        watched.require_quiet()


def test_a_lesson_is_an_application(watched: Watched, tmp_path: Path) -> None:
    with served(tmp_path, "--notebook", "kernel_playground") as (address, _):
        page = watched.page
        page.goto(address)
        page.locator(PRIOR).first.wait_for()
        assert page.locator(".jp-InputArea-editor").count() == 0
        change_and_see(page, "lengthscale", PRIOR)
        solution = page.locator("details", has_text="About four times as often").first
        solution.locator("summary").click()
        solution.locator("text=About four times as often").wait_for()
        watched.keep("lesson")
        watched.require_quiet()
