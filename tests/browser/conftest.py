"""JupyterLab and Chromium for the tests here; without a browser they fail and say how to get one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as PageTimeout

from kernaut.plugins import bundled
from tests.marked import ENVIRONMENT

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 240_000
"""Milliseconds that anything in a page may take; the machine may be busy."""
ATTEMPTS = 5
BEGUN = """() => [...document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell .jp-InputPrompt')]
    .some(prompt => /\\[[*\\d]/.test(prompt.textContent))"""
"""Whether a code cell of the notebook in sight is running or was run."""
ICONS = ("fontawesome", "font-awesome", ".woff")
SCREENSHOTS = os.environ.get("KERNAUT_SCREENSHOTS")
"""A folder that pictures of the pages are kept in; ``docs/images`` makes those of the documentation."""


def set_parameters(path: Path, **values: object) -> None:
    """Change values in a notebook's parameters cell, as a reader would."""
    book = nbformat.read(path, as_version=4)
    (cell,) = (cell for cell in book.cells if "parameters" in cell.metadata.get("tags", ()))
    lines = [line for line in cell.source.splitlines() if line.split(" = ")[0] not in values]
    assert len(lines) == len(cell.source.splitlines()) - len(values)
    cell.source = "\n".join([*lines, *(f"{name} = {value!r}" for name, value in values.items())])
    nbformat.write(book, path)


@dataclass
class Watched:
    """A page, and what it complained about or asked other machines for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def keep(self, name: str, element: Any = None) -> None:
        """A screenshot, where a folder is named for it."""
        if SCREENSHOTS:
            (element or self.page).screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))

    def require_quiet(self) -> None:
        assert self.outside == []
        assert [line for line in self.complaints if not any(icon in line for icon in ICONS)] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next((found for found in map(shutil.which, NAMES) if found), None)
    if path is None:
        pytest.fail(
            "Expected Chromium for the browser tests. Got none. Try: apt-get update && apt-get install -y chromium"
        )
    with sync_playwright() as driver:  # its event loop must not outlive this module: widgets wait in a running loop
        made = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield made
        made.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(PATIENCE)
    found = Watched(page)

    def outside(url: str) -> bool:
        return not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "http://localhost", "data:", "blob:"))

    page.on("console", lambda m: found.complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", lambda request: found.outside.append(request.url) if outside(request.url) else None)
    yield found
    page.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """JupyterLab's address with its token, and its folder with copies of the notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(bundled("notebooks"), folder / "notebooks")
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}))
    tracker = folder / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text(json.dumps({"windowingMode": "none"}))  # every cell stands in the page, scrolled to or not
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--expose-app-in-browser",
        f"--port={port}",
    ]
    command += ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=secret", f"--ServerApp.root_dir={folder}"]
    command += [f"--LabApp.user_settings_dir={folder / 'settings'}", f"--LabApp.workspaces_dir={folder / 'workspaces'}"]
    environment = {**os.environ, **ENVIRONMENT, "KERNAUT_SEALED_HOME": str(folder / "sealed")}
    environment.pop("KERNAUT_RUN_DIRECTORY", None)
    with (folder / "lab.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 0.5).close()
                break
            except OSError:
                time.sleep(0.3)
        else:
            pytest.fail(f"Expected JupyterLab to start. Got: {(folder / 'lab.log').read_text()[-2000:]}")
        yield f"http://127.0.0.1:{port}/lab/tree/{{path}}?token=secret&reset", folder
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture
def run_in_lab(lab: tuple[str, Path], watched: Watched) -> Callable[[str], Watched]:
    """Open a notebook of the workspace and run it from the top; comes back when its last cell has begun to show its widgets."""
    address, _ = lab

    def run(path: str) -> Watched:
        page = watched.page
        page.goto(address.format(path=path))
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
        page.locator("text=| Idle").wait_for()
        if page.locator("#filebrowser:visible").count():
            page.evaluate('window.jupyterapp.commands.execute("application:toggle-left-area"), 0')
        select = page.locator(".jp-Dialog").get_by_role("button", name="Select")
        for _ in range(ATTEMPTS):
            page.evaluate('window.jupyterapp.commands.execute("notebook:run-all-cells"), 0')
            with suppress(PageTimeout):  # JupyterLab may ask which kernel, although the notebook names it
                select.click(timeout=3000)
            with suppress(PageTimeout):  # and lets a command go that comes before the kernel is connected
                page.wait_for_function(BEGUN, timeout=20_000)
                break
        else:
            pytest.fail(f"Expected the cells of {path} to be run. Got no numbered cell in {ATTEMPTS} attempts.")
        return watched

    return run
