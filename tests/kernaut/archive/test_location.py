from pathlib import Path

import pytest

from kernaut.archive.location import Location, locate
from kernaut.errors import ArchiveError


def test_paths_become_absolute_and_have_a_held_out_sibling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for where in ("runs.sqlite", Path("runs.sqlite"), f"sqlite:///{tmp_path}/runs.sqlite"):
        location = locate(where)
        assert location == Location(path=tmp_path / "runs.sqlite")
        assert location.held_out.path == tmp_path / "runs.heldout.sqlite"
    assert locate(location) is location


def test_another_database_keeps_its_password_to_itself() -> None:
    location = locate("postgresql://user:hidden-word@host/kernaut")
    assert location.path is None
    assert "hidden-word" not in str(location)
    assert "hidden-word" in (location.held_out.url or "")
    assert (location.held_out.url or "").endswith("/kernaut_heldout")


@pytest.mark.parametrize(
    "where", ["", "  ", ":memory:", "sqlite://", "sqlite:///:memory:", "postgresql://host", "a b://"]
)
def test_what_names_no_database_is_refused(where: str) -> None:
    with pytest.raises(ArchiveError, match="Expected"):
        locate(where)
