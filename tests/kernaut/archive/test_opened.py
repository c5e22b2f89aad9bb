from pathlib import Path

from kernaut.archive.store import Archive


def test_closing_removes_the_side_files_and_using_it_again_reopens(archive: Archive, tmp_path: Path) -> None:
    assert repr(archive) == f"Archive('{tmp_path}/search.sqlite')"
    with archive:
        assert archive.campaigns()
    assert [file.name for file in tmp_path.iterdir()] == ["search.sqlite"]
    assert archive.campaigns()
    with Archive.open(archive.location, read_only=True) as reader:
        assert repr(reader).endswith(", read_only=True)")
