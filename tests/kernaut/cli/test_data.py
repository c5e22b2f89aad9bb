from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kernaut.episodes.noaa import SOURCES
from kernaut.episodes.records import load_record, write_records
from kernaut.errors import InputError
from kernaut.plugins import bundled

Run = Callable[..., Any]


def pages() -> dict[str, str]:
    """The bundled records in the source's own forms, one month longer, CO2 with a revised value."""
    found = {}
    for gas, source in SOURCES.items():
        lines = (bundled("data", "greenhouse") / f"{gas}.csv").read_text().splitlines()[1:]
        year, month, value = lines[-1].split(",")
        index = 12 * int(year) + int(month)
        lines.append(f"{index // 12},{index % 12 + 1},{value}")
        if gas == "co2":
            lines[5] = lines[5].rsplit(",", 1)[0] + ",300.5"
        if source.column is None:
            rows = [f"{','.join(line.split(',')[:2])},0.0,{line.split(',')[2]},0.1" for line in lines]
            found[source.path] = (
                "# a comment\nyear,month,decimal,average,average_unc\n" + "\n".join(rows) + "\n1900,1,0.0,-9.99,0\n"
            )
        else:
            rows = ["  ".join([*line.split(",")[:2], "1.0", line.split(",")[2]]) for line in lines]
            head = f"# text\nHATS_{source.column}_YYYY HATS_{source.column}_MM HATS_NH_{source.column} HATS_Global_{source.column}\n"
            found[source.path] = head + "1900 1 nan nan\n" + "\n".join(rows) + "\n"
    return found


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, str]]]:
    content = pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = content.get(self.path)
            self.send_response(200 if text is not None else 404)
            if "lacking" in content:
                self.send_header("Content-Length", str(len(text or "") + 10))
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, format: str, *args: object) -> None:
            return

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}", content
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def test_current_records_are_fetched_compared_and_written_beside(run: Run, server: Any, tmp_path: Path) -> None:
    address, _ = server
    result = run("data", "refresh", "greenhouse", "--server", address, "--out", "new")
    assert result.exit_code == 0, result.output
    assert "co2: 1 months added, 0 removed, 1 revised" in result.stdout
    assert "cfc11: 1 months added, 0 removed, 0 revised" in result.stdout
    assert len(load_record(tmp_path / "new", "co2")) == 570
    assert len(load_record(bundled("data", "greenhouse"), "co2")) == 569
    again = run("data", "refresh", "greenhouse", "--server", address, "--out", "new")
    assert again.exit_code == 0
    assert "co2: unchanged" in again.stdout
    assert "nothing written" in again.stderr


def test_records_are_never_overwritten_silently(
    run: Run, refused: Callable[..., str], server: Any, tmp_path: Path
) -> None:
    address, content = server
    assert run("data", "refresh", "greenhouse", "--server", address, "--out", "new").exit_code == 0
    path = SOURCES["n2o"].path
    content[path] = content[path].replace("316.3,", "316.9,", 1)
    before = (tmp_path / "new" / "n2o.csv").read_bytes()
    result = run("data", "refresh", "greenhouse", "--server", address, "--out", "new")
    assert result.exit_code == 2
    assert "Expected --overwrite" in result.stderr
    assert "n2o: 0 months added, 0 removed, 1 revised" in result.stdout
    assert (tmp_path / "new" / "n2o.csv").read_bytes() == before
    assert run("data", "refresh", "greenhouse", "--server", address, "--out", "new", "--overwrite").exit_code == 0
    assert (tmp_path / "new" / "n2o.csv").read_bytes() != before


def test_a_server_that_lacks_a_record_or_answers_nonsense(refused: Callable[..., str], server: Any) -> None:
    address, content = server
    content[SOURCES["sf6"].path] = "year,month\n1,2\n"
    assert "Expected columns of year, month and global mean" in refused(
        "data", "refresh", "greenhouse", "--server", address
    )
    del content[SOURCES["sf6"].path]
    assert "to answer. Got: HTTP Error 404" in refused("data", "refresh", "greenhouse", "--server", address)
    assert "begins with http" in refused("data", "refresh", "greenhouse", "--server", "ftp://x")


@pytest.mark.parametrize("address", ["http://127.0.0.1:port", "http://a b/", "https://[::1", "http://\u00e9 /"])
def test_addresses_that_are_none(refused: Callable[..., str], address: str) -> None:
    assert "to answer. Got:" in refused("data", "refresh", "greenhouse", "--server", address)


def test_a_broken_answer_and_a_folder_that_is_none(refused: Callable[..., str], server: Any, tmp_path: Path) -> None:
    address, content = server
    words = ("data", "refresh", "greenhouse", "--server", address, "--out")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "Expected a folder at file. Got a file." in refused(*words, "file")
    content["lacking"] = "the end of every answer"
    assert "10 more expected" in refused(*words, "new")
    del content["lacking"]
    content[SOURCES["co2"].path] = "year,month,decimal,average\ninf,1,0,3\n"
    assert "Expected a year, a month and a value" in refused(*words, "new")


def test_records_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    record = (bundled("data", "greenhouse") / "co2.csv").read_bytes()
    with pytest.raises(InputError, match="Expected a folder to write records to"):
        write_records(tmp_path / "file" / "new", {"co2": ("ppm", record)}, "a test")
