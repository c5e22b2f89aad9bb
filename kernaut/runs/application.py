"""A notebook as a web application on this machine: Voila in a process of its own, bound to 127.0.0.1, behind a token, without code cells."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from jupyter_core.paths import jupyter_path

from kernaut.errors import InputError, KernautError
from kernaut.runs.headless import KERNEL, LIVE_VARIABLE
from kernaut.runs.notebook import find_notebook

HOST = "127.0.0.1"
ARCHIVE_VARIABLE = "KERNAUT_ARCHIVE"
START_SECONDS = 60.0
GRACE_SECONDS = 10.0
TEMPLATE = "kernaut"
CULL_SECONDS = 600
"""Kernels of pages that were closed end after that time."""
READY = ("inspect_archive", "kernel_playground", "episode_fits")
"""Notebooks whose page is made before it is asked for, so that it opens at once; others start searches, or read what changes."""
REFILL_SECONDS = 5.0
"""After a page took the kernel that was ready, before the next one is made ready: the page is drawn first."""
QUICKLY = 'import sys; sys.modules["rfc3987_syntax"] = None; '
"""jsonschema does without; building its grammar takes seconds at each start."""
VOILA = QUICKLY + "from voila.app import main; main()"
LAUNCH = QUICKLY + "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"


class Application:
    """A served notebook; also a context manager that ends it.

    Args:
        name_or_path: of the notebook.
        archive: for ``inspect_archive``: what it shows.
        port: 0 takes a free one.
        workspace: where notebooks are looked for, and the kernels' working directory.

    Raises:
        NotebookInputError: for an unknown notebook.
        InputError: for a port that is taken.
    """

    def __init__(
        self, name_or_path: str | Path, *, archive: Path | None = None, port: int = 0, workspace: Path | None = None
    ) -> None:
        base = Path.cwd() if workspace is None else workspace
        self.notebook = find_notebook(name_or_path, base)
        self.port = _free_port(port)
        self.token = secrets.token_hex(16)
        self._folder = tempfile.TemporaryDirectory(prefix="kernaut-viz-")
        folder = Path(self._folder.name)
        _offer_this_interpreter(folder)
        _offer_template(folder)
        served = folder / "served" / self.notebook.name
        served.parent.mkdir()
        served.write_bytes(self.notebook.read_bytes())
        environment = {
            **os.environ,
            "JUPYTER_PATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("JUPYTER_PATH")))),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            LIVE_VARIABLE: "1",  # a kernel that is made ready before its page is asked for knows of no page
        }
        environment.pop("KERNAUT_RUN_DIRECTORY", None)
        if archive is not None:
            environment[ARCHIVE_VARIABLE] = str(archive)
        self._log = (folder / "voila.log").open("w+b")
        options = {
            "VoilaConfiguration.template": TEMPLATE,
            "VoilaConfiguration.strip_sources": "True",
            "VoilaConfiguration.show_tracebacks": "True",
            "VoilaConfiguration.preheat_kernel": str(self.notebook.stem in READY),
            "VoilaConfiguration.default_pool_size": "1",
            "VoilaKernelManager.fill_delay": str(REFILL_SECONDS),
            "MappingKernelManager.cull_idle_timeout": str(CULL_SECONDS),
            "MappingKernelManager.cull_interval": "60",
            "MappingKernelManager.kernel_info_timeout": "60",
            "MultiKernelManager.default_kernel_name": KERNEL,
        }
        command = [
            sys.executable,
            "-P",
            "-c",
            VOILA,
            str(served),
            "--no-browser",
            f"--port={self.port}",
            f"--Voila.ip={HOST}",
        ]
        command += [
            "--token=" + self.token,
            "--Voila.open_browser=False",
            *(f"--{key}={value}" for key, value in options.items()),
        ]
        self._process = subprocess.Popen(
            command, cwd=base, env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
        )

    @property
    def url(self) -> str:
        """The page's address with its token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until it answers; the page itself is made when it is first asked for.

        Raises:
            KernautError: when it ends, or does not answer in time.
        """
        until = monotonic() + seconds
        while monotonic() < until:
            if self._process.poll() is not None:
                raise KernautError(f"Expected Voila to start. Got: {self.last_words()}")
            with suppress(OSError), socket.create_connection((HOST, self.port), 0.5):
                return
            sleep(0.2)
        raise KernautError(f"Expected Voila to answer within {seconds:g} s. Got no answer: {self.last_words()}")

    def wait(self) -> None:
        """Wait until it ends.

        Raises:
            KernautError: when it ends by itself.
        """
        self._process.wait()
        raise KernautError(f"Expected Voila to go on serving. Got its end: {self.last_words()}")

    def last_words(self) -> str:
        """The end of what Voila wrote."""
        self._log.flush()
        text = Path(self._log.name).read_text(encoding="utf-8", errors="replace") if not self._log.closed else ""
        return " ".join(text[-600:].split())

    def close(self) -> None:
        """End the server and its kernels."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        self._folder.cleanup()


def _free_port(port: int) -> int:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise InputError(
            f"Expected a free port. Got {port}: {error.strerror}.", hint="Leave --port out to take any."
        ) from error


def _offer_this_interpreter(folder: Path) -> None:
    """A kernel of this interpreter, before any other called ``python3``."""
    spec = folder / "kernels" / KERNEL
    spec.mkdir(parents=True)
    command = [sys.executable, "-P", "-c", LAUNCH, "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "Kernaut", "language": "python"}), encoding="utf-8"
    )


def _offer_template(folder: Path) -> None:
    """Voila's page without the style sheets that it asks another host for: icons come with the front end."""
    source = next(Path(place) / "voila" / "templates" / "lab" for place in jupyter_path() if _has_template(Path(place)))
    made = folder / "voila" / "templates" / TEMPLATE
    made.mkdir(parents=True)
    page = (source / "index.html.j2").read_text(encoding="utf-8")
    kept = [line for line in page.splitlines() if not ("<link" in line and "https://" in line)]
    (made / "index.html.j2").write_text("\n".join(kept) + "\n", encoding="utf-8")
    (made / "conf.json").write_text(json.dumps({"base_template": "lab"}), encoding="utf-8")


def _has_template(place: Path) -> bool:
    return (place / "voila" / "templates" / "lab" / "index.html.j2").is_file()
