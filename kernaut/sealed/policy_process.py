"""The confined process of one episode: load the policy, let it act, pass its queries on.  Untrusted side.

Everything goes over one socket in frames (:mod:`kernaut.sandbox.messages`): float64 buffers out, short JSON texts in; nothing is ever unpickled.
"""

from __future__ import annotations

import importlib
import json
import socket
import types
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernaut.errors import BudgetSpent, InputError
from kernaut.sandbox import messages
from kernaut.sandbox.execution import Caught
from kernaut.sandbox.messages import Frame
from kernaut.sealed.manifest import task_from_json
from kernaut.sealed.policies.registry import BUILT_IN
from kernaut.sealed.policy import Answer, Array, Policy
from kernaut.seeds import generator

# kinds, runner to policy
START, ANSWER, SPENT = 32, 33, 34
# kinds, policy to runner
HELLO, QUERY, FINAL, MALFORMED, FAILED = 48, 49, 50, 51, 52

_MAX_TEXT = 1000
_MODULE = "kernaut_policy"


def serve(peer: socket.socket, protections: Mapping[str, Any]) -> None:
    """Say what is enforced, then play one episode.

    Args:
        peer: the data socket.
        protections: what confines this process.
    """
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    messages.send(peer, Frame(HELLO, text=json.dumps(dict(protections)).encode()))
    request = messages.receive(peer, 1 << 40)
    if request is None or request.kind != START:
        return
    final: Any = None
    with Caught() as caught:
        final = _play(peer, json.loads(request.text))
    if caught.error is not None:
        messages.send(peer, Frame(FAILED, text=str(caught.error).encode("utf-8", "replace")[:_MAX_TEXT]))
        return
    _send_output(peer, FINAL, final)


def _play(peer: socket.socket, start: Mapping[str, Any]) -> Any:
    task = task_from_json(start["task"])
    policy = _policy(start["policy"])(start["options"])
    rng = generator("sealed", "policy", start["name"], task.task_id, start["seed"])

    def evaluate(output: Array) -> Answer:
        _send_output(peer, QUERY, output)
        reply = messages.receive(peer, 1 << 40)
        if reply is None:
            raise SystemExit("the runner ended the episode")
        if reply.kind == SPENT:
            raise BudgetSpent("Expected a query within the budget. Got one beyond it.")
        return Answer(**json.loads(reply.text))

    return policy.act(task, evaluate, rng)


def _policy(spec: Mapping[str, Any]) -> type[Policy]:
    """The policy's class: built in, of an installed module, or of a source text."""
    if spec["kind"] == "builtin":
        module_name, class_name = BUILT_IN[spec["name"]].split(":")
        module: types.ModuleType = importlib.import_module(module_name)
    elif spec["kind"] == "module":
        module_name, _, class_name = spec["name"].partition(":")
        module = importlib.import_module(module_name)
    else:
        class_name = spec["name"]
        module = types.ModuleType(_MODULE)
        exec(compile(spec["source"], spec["file"], "exec", dont_inherit=True), module.__dict__)
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InputError(f"Expected a Policy called {class_name} in {spec['kind']} {spec['name']}. Got none.")
    return found


def _send_output(peer: socket.socket, kind: int, output: Any) -> None:
    array: Array | None = None
    if not isinstance(output, (str, bytes, dict, set)) and output is not None:
        try:
            given = np.asarray(output)
            array = np.ascontiguousarray(given, dtype=np.float64).reshape(given.shape)
            if given.dtype.kind not in "fiu":
                array = None
        except (TypeError, ValueError, OverflowError):
            array = None
    if array is None or array.ndim > 2:
        messages.send(
            peer, Frame(MALFORMED, text=f"{type(output).__name__} is no array of one or two dimensions".encode())
        )
        raise SystemExit("malformed output")
    messages.send(peer, Frame(kind, arrays=(array,)))
