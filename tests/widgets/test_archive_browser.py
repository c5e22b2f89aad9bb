from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernaut.program.program import load_candidate
from tests.widgets.conftest import delete_program, held
from widgets.archive_browser import ArchiveBrowser

Make = Callable[[int], tuple[str, list[str]]]


def test_rows_are_found_and_charted(make_archive: Make) -> None:
    path, ids = make_archive(8)
    browser = ArchiveBrowser(path)
    assert browser.message == "" and browser.count == 8
    (output,) = browser.output.outputs
    assert set(output["data"]) == {"application/vnd.vegalite.v5+json", "text/plain"}
    browser.type_words.value = "made_3"
    assert browser.count == 1 and browser.pick.options[0][1] == ids[3]
    browser.type_words.value = ""
    browser.pick_contract.value = "spectral"
    assert browser.count == 2
    browser.contract = ""
    browser.pick_sort.value = "name"
    assert browser.table is not None and browser.table.rows[0][0] == "made_0"


def test_two_programs_are_compared_and_one_exported(make_archive: Make, tmp_path: Path) -> None:
    path, ids = make_archive(3)
    browser = ArchiveBrowser(path, folder=str(tmp_path / "out"))
    browser.pick.value = ids[0]
    assert browser.selected == ids[0] and "transform_point" in browser.compared.value
    browser.pick_other.value = ids[1]
    assert "+++ made_1" in browser.compared.value and "episode" in browser.compared.value
    browser.export()
    assert load_candidate(browser.exported).id == ids[0]
    assert "score against" not in browser.message


def test_an_empty_archive_says_so(empty: str) -> None:
    browser = ArchiveBrowser(empty)
    assert "Nothing here yet" in browser.message and "Nothing here yet" in browser.status.value
    browser.selected = "0123456789abcdef"
    assert "0123456789abcdef" in browser.message


def test_a_missing_and_a_foreign_file_are_messages(tmp_path: Path) -> None:
    browser = ArchiveBrowser(str(tmp_path / "nothing.sqlite"))
    assert "nothing.sqlite" in browser.message
    (tmp_path / "foreign.sqlite").write_text("hello")
    browser.type_archive.value = str(tmp_path / "foreign.sqlite")
    assert "foreign.sqlite" in browser.message and browser.count == 0


def test_an_archive_that_another_process_holds_is_a_message_and_works_afterwards(make_archive: Make) -> None:
    path, _ = make_archive(2)
    with held(path):
        browser = ArchiveBrowser(path)
        assert "locked by another process" in browser.message
    browser.again.click()
    assert browser.message == "" and browser.count == 2


def test_a_program_deleted_meanwhile_is_a_message(make_archive: Make) -> None:
    path, ids = make_archive(2)
    browser = ArchiveBrowser(path)
    delete_program(path, ids[1])
    browser.pick.value = ids[1]
    assert ids[1] in browser.message
    browser.pick.value = ids[0]
    assert browser.message == ""


@pytest.mark.parametrize("count", [1, 60])
def test_the_static_form_is_pictures_and_tables(make_archive: Make, count: int) -> None:
    browser = ArchiveBrowser(make_archive(count)[0])
    assert f"of {count} programs" in repr(browser.static())
    assert "data:image/png" in browser.static().html()
