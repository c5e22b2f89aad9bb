from __future__ import annotations

from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.program.program import KernelProgram
from kernaut.program.templates import template
from kernaut.report.document import archive_sections, kernel_parts, render, run_sections
from tests.widgets.conftest import fill


@pytest.fixture
def sections(tmp_path: Path) -> list[tuple[str, tuple[object, ...]]]:
    with Archive.create(tmp_path / "a.sqlite") as archive:
        fill(archive, 2)
    with Archive.open(tmp_path / "a.sqlite", read_only=True) as archive:
        return archive_sections(archive, most=1)  # type: ignore[return-value]


def test_an_archives_report_has_protocol_programs_kernel_and_failures(sections: list, tmp_path: Path) -> None:  # type: ignore[type-arg]
    heads = [head for head, _ in sections]
    assert heads[:2] == ["Campaign made", "Programs"] and heads[2].startswith("Kernel made_")
    page = render("A <report>", sections, "html")
    assert "A &lt;report&gt;" in page and page.count("data:image/svg+xml") == 2
    assert "Expected finite values. Got none." in page and "2.13.0" in page
    assert "http" not in page
    text = render("A report", sections, "md", tmp_path / "figures")
    assert "](figures/figure-1.png)" in text and (tmp_path / "figures" / "figure-1.png").exists()
    paper = render("50 % & more", sections, "latex", tmp_path / "figures")
    assert r"\title{50 \% \& more}" in paper and r"\includegraphics" in paper
    assert paper.count(r"\begin{verbatim}") == paper.count(r"\end{verbatim}") == 1
    with pytest.raises(InputError, match="html"):
        render("x", sections, "pdf")  # type: ignore[arg-type]


def test_an_empty_archive_has_no_report(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "a.sqlite") as archive, pytest.raises(InputError, match="accepted programs"):
        archive_sections(archive)


def test_a_program_that_fails_is_reported_as_it_is() -> None:
    program = KernelProgram(
        "broken", "input_transform", "def transform_point(x, parameters):\n    return x / 0.0\n", {}
    )
    assert "could not be described" in " ".join(map(repr, kernel_parts(program, 2)))


def test_a_runs_report_shows_result_kernel_and_versions() -> None:
    report = {
        "summary": {"columns": ["kernel", "CRPS"], "rows": [["a", 0.5]], "lines": ["", "well done"]},
        "selected": {"candidate": template("feature_map").to_json()},
    }
    found = run_sections(report, {"python": "3.11.2", "packages": {"torch": "2.13.0", "zlib": "1"}}, {"seed": 3})
    assert [head for head, _ in found] == ["Parameters", "Result", "Kernel my_feature_map", "Versions"]
    page = render("run", found, "html")
    assert "well done" in page and "2.13.0" in page and "zlib" not in page
