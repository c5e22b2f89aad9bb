"""The sealed key and its streams."""

from __future__ import annotations

import hashlib
import hmac
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.sealed.places import VARIABLE
from kernaut.sealed.sealing import SealedKey, new_key, read_key, write_key

SECRET = bytes(range(32))


def test_a_tag_is_hmac_sha256_of_canonical_json() -> None:
    payload = {"b": [1, 2.5], "a": "ü"}
    expected = hmac.new(SECRET, '{"a":"ü","b":[1,2.5]}'.encode(), hashlib.sha256).hexdigest()
    assert SealedKey(SECRET).tag(payload) == expected


def test_a_stream_is_shake_of_the_tag_of_the_task() -> None:
    name = hmac.new(SECRET, b"v41-x-0001", hashlib.sha256).hexdigest() + "|7|draw"
    data = hashlib.shake_256(f"{name}|0".encode()).digest(8)
    expected = ((int.from_bytes(data, "little") >> 11) + 0.5) / 2**53
    assert SealedKey(SECRET).stream("v41-x-0001", 7, "draw").uniform(1)[0] == expected


def test_streams_differ_by_key_task_seed_purpose_and_place() -> None:
    key = SealedKey(SECRET)
    streams = [
        key.stream("v41-x-0001", 7, "draw"),
        SealedKey(SECRET[::-1]).stream("v41-x-0001", 7, "draw"),
        key.stream("v41-x-0002", 7, "draw"),
        key.stream("v41-x-0001", 8, "draw"),
        key.stream("v41-x-0001", 7, "noise"),
    ]
    draws = [stream.uniform(4) for stream in streams] + [streams[0].uniform(4)]
    assert len({draw.tobytes() for draw in draws}) == 6
    np.testing.assert_array_equal(key.stream("v41-x-0001", 7, "draw").uniform(4), draws[0])


def test_draws_have_their_distributions() -> None:
    stream = SealedKey(SECRET).stream("v41-x-0001", 0, "draw")
    uniform, normal = stream.uniform((100, 100)), stream.normal((100, 100))
    assert 0.0 < uniform.min() < 1e-3 and 0.999 < uniform.max() < 1.0
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1.0) < 0.03
    assert abs(np.mean(normal**4) - 3.0) < 0.3


def test_a_key_shows_itself_nowhere() -> None:
    key = SealedKey(SECRET)
    assert SECRET.hex() not in repr(key) + str(key) + key.id
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(key)
    assert not hasattr(key, "__dict__")


def test_a_new_key_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "home"))
    key = new_key()
    path = write_key(key)
    assert path == tmp_path / "home" / "keys" / f"{key.id}.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert read_key(path).id == key.id
    assert new_key().id != key.id
    with pytest.raises(InputError, match="new file"):
        write_key(key, path)


@pytest.mark.parametrize("content", ["", "zz" * 32, "ab" * 31, "ab" * 33, "ä" * 64])
def test_a_bad_key_file_is_refused_without_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "k"
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(InputError) as caught:
        read_key(path)
    assert not content or content not in str(caught.value)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = write_key(new_key(), tmp_path / "k")
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        read_key(path)
    with pytest.raises(InputError, match="--key-file"):
        read_key(tmp_path / "none")
