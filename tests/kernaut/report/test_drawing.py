from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.report.drawing import Panel, drawing
from kernaut.report.marks import ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_data_lands_where_the_axes_say() -> None:
    panel = Panel("x", "y", width=300, height=200, x_range=(0.0, 10.0), y_range=(0.0, 4.0))
    panel.line([0.0, 10.0], [0.0, 4.0])
    root = ET.fromstring(drawing([panel], "a line").svg)
    (line,) = root.iter(f"{SVG}polyline")
    start, end = (tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split())
    assert start == (58.0, 24.0 + 134.0)  # lower left
    assert end == (58.0 + 228.0, 24.0)  # upper right


def test_panels_stand_side_by_side_and_words_are_escaped() -> None:
    panels = [Panel(title='<b> & "c"', width=200), Panel(width=300, height=100)]
    made = drawing(panels, 'less < more & "quoted"')
    assert (made.width, made.height) == (500, 260)
    assert ET.fromstring(made.svg).attrib["aria-label"] == 'less < more & "quoted"'
    assert 'alt="less &lt; more &amp; &quot;quoted&quot;"' in made.html()


def test_every_mark_is_drawn() -> None:
    panel = Panel(x_range=(0.0, 1.0), y_range=(0.0, 1.0))
    panel.band([0.0, 1.0], [0.1, 0.2], [0.5, 0.6])
    panel.points([0.2, 0.3, 0.4], [0.2, 0.1, 0.9], 1, "points", hollow=True)
    panel.step([0.0, 0.5, 1.0], [0.9, 0.4, 0.2], "best")
    panel.cross(0.5, 0.5)
    panel.rule(x=0.3)
    panel.map(np.array([[0.0, 0.5], [1.0, 0.2]]), "viridis", 0.0, 1.0)
    root = ET.fromstring(drawing([panel], "all").svg)
    counts = {tag: len(list(root.iter(SVG + tag))) for tag in ("polygon", "circle", "polyline", "path", "image")}
    assert counts == {"polygon": 1, "circle": 4, "polyline": 1, "path": 1, "image": 2}
    bars = Panel(categories=("a", "b"))
    bars.bars([1.0, 2.0])
    rects = [r for r in ET.fromstring(drawing([bars], "bars").svg).iter(f"{SVG}rect") if "stroke-width" in r.attrib]
    assert float(rects[1].attrib["width"]) == pytest.approx(2 * float(rects[0].attrib["width"]), rel=0.01)


@pytest.mark.parametrize(("low", "high", "found"), [(0.0, 1.0, 6), (-3.0, 7.0, 5), (0.0, 0.03, 4), (10.0, 12.0, 5)])
def test_ticks_are_round_and_few(low: float, high: float, found: int) -> None:
    values = ticks(low, high)
    assert len(values) == found
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in values)


def test_what_is_counted_has_whole_ticks() -> None:
    assert ticks(0.5, 2.5, whole=True) == [1.0, 2.0]
    assert 0.8 in ticks(0.5, 1.5)
    panel = Panel("run", x_range=(0.5, 2.5), y_range=(10.0, 20.0), whole=True)
    texts = [node.text for node in ET.fromstring(drawing([panel], "runs").svg).iter(f"{SVG}text")]
    assert texts[:2] == ["1", "2"] and "1.5" not in texts


def test_a_legend_stands_above_the_axes_and_wraps() -> None:
    panel = Panel("x", "y", "a title", width=300, height=260)
    for number in range(5):
        panel.line([0.0, 1.0], [0.0, 1.0], number, f"policy {number}")
    panel.points([0.5], [0.5], 0, "policy 0")
    root = ET.fromstring(drawing([panel], "lines").svg)
    top = min(float(rect.attrib["y"]) for rect in root.iter(f"{SVG}rect") if rect.attrib.get("fill") == "none")
    places = {node.text: (float(node.attrib["x"]), float(node.attrib["y"])) for node in root.iter(f"{SVG}text")}
    named = [places[f"policy {number}"] for number in range(5)]
    assert all(16.0 < y < top for _, y in named) and len({y for _, y in named}) > 1
    assert all(x + 6.2 * len("policy 0") <= 300 for x, _ in named)
    assert [node.text for node in root.iter(f"{SVG}text")].count("policy 0") == 1


@pytest.mark.parametrize(("shape", "corners"), [("square", 4), ("triangle", 3), ("diamond", 4)])
def test_points_have_shapes_and_room_at_the_sides(shape: str, corners: int) -> None:
    panel = Panel()
    panel.points([0.0, 1.0], [0.0, 1.0], 2, "marks", shape=shape)
    root = ET.fromstring(drawing([panel], "marks").svg)
    found = [node.attrib["points"].split() for node in root.iter(f"{SVG}polygon")]
    assert [len(marks) for marks in found] == [corners] * 3  # two points, and the legend's
    (frame,) = [rect.attrib for rect in root.iter(f"{SVG}rect") if rect.attrib.get("fill") == "none"]
    left, right = float(frame["x"]), float(frame["x"]) + float(frame["width"])
    assert all(left < float(corner.split(",")[0]) < right for marks in found[:2] for corner in marks)


def test_bars_stand_on_others_and_spans_widen_the_axis() -> None:
    panel = Panel(categories=("a", "b"))
    panel.bars([1.0, 2.0], 2, "correct")
    panel.bars([3.0, 2.5], 1, "incorrect", base=[1.0, 2.0])
    panel.spans([0.5, 1.0], [4.0, 3.0], [0, 1])
    root = ET.fromstring(drawing([panel], "bars").svg)
    bars = [r for r in root.iter(f"{SVG}rect") if r.attrib.get("height") == "14"]
    assert float(bars[2].attrib["x"]) == pytest.approx(
        float(bars[0].attrib["x"]) + float(bars[0].attrib["width"]), abs=0.2
    )
    (right,) = {
        float(r.attrib["x"]) + float(r.attrib["width"])
        for r in root.iter(f"{SVG}rect")
        if r.attrib.get("fill") == "none"
    }
    ends = [float(path.attrib["d"].split("H")[1].split()[0]) for path in root.iter(f"{SVG}path")]
    assert ends[0] == pytest.approx(right) and ends[1] < right


def test_a_logarithmic_axis_is_equal_in_factors() -> None:
    panel = Panel(y_range=(0.01, 100.0), log_y=True)
    panel.points([0.0, 1.0, 2.0], [0.1, 1.0, 10.0])
    ys = [float(c.attrib["cy"]) for c in ET.fromstring(drawing([panel], "log").svg).iter(f"{SVG}circle")]
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2], abs=0.2)


def test_constant_and_empty_data_have_axes_too(tmp_path: Path) -> None:
    flat = Panel()
    flat.line([0.0, 1.0], [3.0, 3.0])
    for panel in (flat, Panel()):
        made = drawing([panel], "nothing much")
        assert made.picture().png.startswith(b"\x89PNG")
    assert made.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert made.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="svg"):
        made.save(tmp_path / "a.pdf")
