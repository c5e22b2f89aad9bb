from __future__ import annotations

import base64
import io
from pathlib import Path

import altair as alt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from kernaut.errors import InputError
from kernaut.report.picture import VEGALITE_MIME, chart_picture, figure_picture


def chart() -> alt.Chart:
    return alt.Chart(alt.Data(values=[{"x": 1, "y": 3}])).mark_point().encode(x="x:Q", y="y:Q").properties(width=120)


def test_a_chart_has_a_live_form_a_picture_and_words_but_no_html() -> None:
    data, metadata = chart_picture(chart(), "one point")._repr_mimebundle_()
    assert set(data) == {VEGALITE_MIME, "image/png", "text/plain"}
    assert data[VEGALITE_MIME]["description"] == "one point"
    assert "v5" in data[VEGALITE_MIME]["$schema"]  # the version that JupyterLab 4 draws
    assert metadata["image/png"]["alt"] == data["text/plain"] == "one point"
    drawn = imread(io.BytesIO(base64.b64decode(data["image/png"])))
    assert drawn.shape[1] == pytest.approx(2 * metadata["image/png"]["width"], abs=2)
    assert float(np.ptp(drawn[..., :3])) > 0.5


def test_a_figure_has_no_live_form() -> None:
    figure = Figure(figsize=(2.0, 1.0))
    figure.subplots().plot([1, 3, 2])
    picture = figure_picture(figure, "a line")
    assert set(picture._repr_mimebundle_()[0]) == {"image/png", "text/plain"}
    assert picture.size == (144, 72)
    assert repr(picture) == "a line"


def test_pictures_are_saved_by_suffix(tmp_path: Path) -> None:
    picture = chart_picture(chart(), "one point")
    assert picture.save(tmp_path / "c.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "<svg" in picture.save(tmp_path / "c.svg").read_text(encoding="utf-8")
    assert '"description": "one point"' in picture.save(tmp_path / "c.json").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"\.png, \.svg, \.json"):
        picture.save(tmp_path / "c.gif")
    figure = Figure(figsize=(1.0, 1.0))
    with pytest.raises(InputError, match=r"ends in \.png\. Got"):
        figure_picture(figure, "empty").save(tmp_path / "f.svg")


def test_the_same_figure_has_the_same_bytes() -> None:
    assert figure_picture(Figure(figsize=(1.0, 1.0)), "a").png == figure_picture(Figure(figsize=(1.0, 1.0)), "a").png
