"""The scan refuses tasks that hold their answers."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from typing import Any

import numpy as np
import pytest

from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.sealed.families.registry import BUILT_IN, family_named
from kernaut.sealed.generation import instance
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.scan import require_sealed
from kernaut.sealed.sealing import SealedKey

KEY = SealedKey(bytes(range(32)))
HAAR = instance(family_named("haar_encode"), 0, 5, KEY, {})
LABELS = instance(family_named("fm_kernel_loss"), 0, 5, KEY, {})


@pytest.mark.parametrize("name", BUILT_IN)
def test_honest_tasks_pass(name: str) -> None:
    family = family_named(name)
    for number in range(15):
        task, targets = instance(family, number, number, KEY, {})
        require_sealed(task, targets, {"J_star": 0.0, "J_random": -1.234567891})


def with_p(task: PublicTask, **more: Any) -> PublicTask:
    return dataclasses.replace(task, p_i={**thaw(task.p_i), **more})


def with_input(task: PublicTask, **more: Any) -> PublicTask:
    return dataclasses.replace(task, input={**task.input, **more})


@pytest.mark.parametrize(
    "name", ["label", "labels", "targets", "j_star", "optimum", "sha256", "truth", "encoding", "hidden_x", "y"]
)
def test_names_of_answers_are_refused(name: str) -> None:
    task, targets = HAAR
    with pytest.raises(InputError, match="names"):
        require_sealed(with_p(task, **{name: 1}), targets, {})
    with pytest.raises(InputError, match="names"):
        require_sealed(with_p(task, deep={"list": [{name: 1}]}), targets, {})
    with pytest.raises(InputError, match="names"):
        require_sealed(with_input(task, **{name: np.arange(2.0)}), targets, {})


C = HAAR[1]["coefficients"]
NUMBERS = {
    "itself": lambda c: c,
    "negative": lambda c: -c,
    "reversed": lambda c: c[::-1],
    "sorted": np.sort,
    "accumulated": np.cumsum,
    "affine": lambda c: 3.7 * c - 0.2,
    "among others": lambda c: np.concatenate([[0.1, 0.2], 0.5 * c, [0.3]]),
    "one number": lambda c: np.array([0.1, c[3], 0.2]),
    "standardized": lambda c: (c - c.mean()) / c.std(),
    "in a column": lambda c: np.column_stack([np.arange(len(c)), c + 1.0]),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_hidden_numbers_are_found_in_public_arrays(form: str) -> None:
    task, targets = HAAR
    with pytest.raises(InputError, match="Found"):
        require_sealed(with_input(task, more=np.asarray(NUMBERS[form](C), dtype=np.float64)), targets, {})


TEXTS = {
    "list": lambda c: [float(x) for x in c],
    "text": lambda c: ",".join(map(repr, map(float, c))),
    "short text": lambda c: ",".join(f"{x:.6g}" for x in c),
    "hex": lambda c: c.astype("<f4").tobytes().hex(),
    "base64": lambda c: base64.b64encode(c.tobytes()).decode(),
    "shifted base64": lambda c: base64.b64encode(b"ab" + c.tobytes()).decode(),
    "big-endian base64": lambda c: base64.b64encode(c.astype(">f8").tobytes()).decode(),
    "sha256": lambda c: hashlib.sha256(c.tobytes()).hexdigest(),
    "half a sha256": lambda c: hashlib.sha256(c.tobytes()).hexdigest()[:20],
    "md5 of negative": lambda c: hashlib.md5((-c).tobytes()).hexdigest(),
    "blake2b of text": lambda c: hashlib.blake2b(",".join(map(str, map(float, c))).encode()).hexdigest(),
}


@pytest.mark.parametrize("form", TEXTS)
def test_hidden_numbers_are_found_in_public_texts(form: str) -> None:
    task, targets = HAAR
    with pytest.raises(InputError, match="Found"):
        require_sealed(with_p(task, note=TEXTS[form](C)), targets, {})


Y = LABELS[1]["labels"]
LABEL_FORMS: dict[str, Any] = {
    "list": [int(y) for y in Y],
    "flags": "".join("1" if y > 0 else "0" for y in Y),
    "flipped flags": [int(y < 0) for y in Y],
    "spaces": " ".join(str(int(y)) for y in Y),
    "sha1": hashlib.sha1(Y.astype("i1").tobytes()).hexdigest(),
    "bytes": base64.b64encode(Y.astype("i1").tobytes()).decode(),
}


@pytest.mark.parametrize("form", LABEL_FORMS)
def test_hidden_labels_are_found(form: str) -> None:
    task, targets = LABELS
    with pytest.raises(InputError, match="Found"):
        require_sealed(with_p(task, note=LABEL_FORMS[form]), targets, {})


def test_labels_as_numbers_and_bits_are_found() -> None:
    task, targets = LABELS
    with pytest.raises(InputError, match="Found"):
        require_sealed(with_input(task, more=2.0 - 0.5 * Y), targets, {})
    forty = {"labels": np.where(np.random.default_rng(0).uniform(size=48) < 0.5, 1.0, -1.0)}
    bits = base64.b64encode(b"xyz" + np.packbits(forty["labels"] > 0).tobytes() + b"xyz").decode()
    require_sealed(task, forty, {})
    with pytest.raises(InputError, match="Found"):
        require_sealed(with_p(task, note=np.packbits(forty["labels"] > 0).tobytes().hex(), more=bits), forty, {})


def test_a_hidden_optimum_is_found_as_a_number() -> None:
    task, targets = LABELS
    with pytest.raises(InputError, match="J_star"):
        require_sealed(with_p(task, note=0.123456789123), targets, {"J_star": -0.123456789123})
    with pytest.raises(InputError, match="J_star"):
        require_sealed(with_input(task, more=np.array([0.123456789123])), targets, {"J_star": 0.123456789123})
    require_sealed(with_p(task, note=0.5), targets, {"J_star": 0.5})
