from __future__ import annotations

from kernaut.report.drawing import Panel, drawing
from kernaut.report.page import Note, Page, Source, record_table, table


def test_a_page_is_html_with_every_picture_inside_and_text() -> None:
    page = Page((Note("a < b"), table(("name", "value"), [("x_y", 0.5)], "caption"), drawing([Panel()], "a picture")))
    bundle = page._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "a &lt; b" in bundle["text/html"]
    assert 'alt="a picture"' in bundle["text/html"]
    assert "data:image/png;base64," in bundle["text/html"]
    assert (
        "caption" in bundle["text/plain"] and "0.5000" in bundle["text/plain"] and "a picture" in bundle["text/plain"]
    )


def test_differences_are_marked_and_programs_words_escaped() -> None:
    shown = Source("--- a\n+++ b\n+new <script>\n-old\n same").html()
    assert shown.count("background:#dfeffb") == 1
    assert shown.count("background:#fbe5d6") == 1
    assert "<script>" not in shown


def test_a_record_is_a_table_of_two_columns() -> None:
    assert record_table({"a": 1, "b": None}).rows == (("a", 1), ("b", None))
