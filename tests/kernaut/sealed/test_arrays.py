"""Arrays as text."""

from __future__ import annotations

import base64
import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kernaut.errors import InputError
from kernaut.sealed.arrays import decode_arrays, encode_arrays


@given(arrays(np.float64, array_shapes(max_dims=3, max_side=5), elements=st.floats(-1e300, 1e300)))
def test_floats_come_back_bit_for_bit(array: np.ndarray) -> None:
    back = decode_arrays(encode_arrays({"a": array, "b": np.arange(3)}), "x")
    assert back["a"].tobytes() == array.tobytes()
    assert back["a"].shape == array.shape
    assert back["b"].dtype == np.int64


def test_equal_arrays_have_equal_texts_whatever_their_layout_and_order() -> None:
    array = np.arange(12.0).reshape(3, 4)
    one = encode_arrays({"a": array, "b": array[0]})
    two = encode_arrays({"b": array[0].copy(), "a": np.asfortranarray(array).astype(">f8")})
    assert one == two
    assert one != encode_arrays({"a": array.T, "b": array[0]})


def test_read_arrays_cannot_be_changed() -> None:
    back = decode_arrays(encode_arrays({"a": np.arange(3.0)}), "x")["a"]
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1.0


@pytest.mark.parametrize(
    "bad", [{"A": np.ones(2)}, {"a": np.array([np.nan])}, {"a": np.array(["x"])}, {"a": np.array([None])}]
)
def test_what_has_no_fixed_form_is_refused(bad: dict[str, np.ndarray]) -> None:
    with pytest.raises(InputError, match="Expected"):
        encode_arrays(bad)


def npz(name: str, data: bytes) -> str:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return base64.b64encode(buffer.getvalue()).decode()


def npy(array: np.ndarray, *, pickled: bool = False) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=pickled)
    return stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "not base64!",
        base64.b64encode(b"no archive").decode(),
        npz("a.npy", b"no array"),
        npz("a.npy", pickle.dumps({"a": 1})),
        npz("a.npy", npy(np.array([{"x": 1}], dtype=object), pickled=True)),
        npz("a.npy", npy(np.arange(3, dtype=np.int32))),
        npz("../a.npy", npy(np.arange(3.0))),
        17,
    ],
)
def test_what_is_no_such_text_is_refused(text: object) -> None:
    with pytest.raises(InputError, match="Expected"):
        decode_arrays(text, "x")  # type: ignore[arg-type]


def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(20 * 1024 * 1024))
    with pytest.raises(InputError, match="at most"):
        decode_arrays(base64.b64encode(buffer.getvalue()).decode(), "x")
