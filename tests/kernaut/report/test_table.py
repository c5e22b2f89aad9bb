from __future__ import annotations

from kernaut.report.table import aligned, cell, escaped, markdown


def test_numbers_stand_to_the_right_with_four_digits() -> None:
    text = aligned(("name", "value", "n"), [["a", 0.123456, 12], ["longer", None, 7]])
    assert text.splitlines() == [
        "name     value   n",
        "------  ------  --",
        "a       0.1235  12",
        "longer       -   7",
    ]


def test_markdown_has_alignment_and_bold_rows() -> None:
    lines = markdown(("name", "value"), [["a_b", 1.0], ["c", 2.0]], strong=(1,)).splitlines()
    assert lines == ["| name | value |", "| :--- | ---: |", "| a\\_b | 1.0000 |", "| **c** | **2.0000** |"]


def test_what_programs_say_cannot_become_markup() -> None:
    assert escaped("<script>x|y</script>\n*now* [a](b) `c`") == (
        "&lt;script&gt;x\\|y&lt;/script&gt; \\*now\\* \\[a\\](b) \\`c\\`"
    )


def test_cells() -> None:
    assert [cell(value) for value in (None, True, False, 3, 0.5, "x")] == ["-", "yes", "no", "3", "0.5000", "x"]


def test_a_table_without_rows_is_its_heading() -> None:
    assert aligned(("a", "b"), []).splitlines() == ["a  b", "-  -"]
