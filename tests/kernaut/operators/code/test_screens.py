"""Planted cheaters of each kind are caught; no hand-written operator is."""

from __future__ import annotations

import pytest

from kernaut.operators.code.bank import Sample
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.code.operators import COMPARATOR, HAND_WRITTEN
from kernaut.operators.code.symptoms import SYMPTOMS
from kernaut.operators.records import Electorate, Operator
from kernaut.operators.symptoms import Threshold, operator_of

ONE = "def op(task, candidate):\n"
TWO = "def op(task, candidate, ctx):\n"

SYNTAX = [
    ONE + "    return 'flag' if len(candidate['source']) % 2 else 'pass'\n",
    ONE + "    return 'flag' if sum(map(ord, candidate['source'])) % 3 == 0 else 'pass'\n",
    ONE + "    return 'flag' if candidate['source'].count('value') > 3 else 'pass'\n",
    ONE
    + "    lines = candidate['source'].splitlines()\n    return 'flag' if len(lines) % 3 == 0 or 'v1' in lines[0] else 'pass'\n",
    "import ast\n"
    + ONE
    + "    names = [n.id for n in ast.walk(ast.parse(candidate['source'])) if isinstance(n, ast.Name)]\n    return 'flag' if len(''.join(names)) % 2 else 'pass'\n",
]
DIGESTS = [
    ONE
    + "    known = ['9f86d081884c7d65', '60303ae22b998861']\n    return 'flag' if candidate['source'][:3] in known else 'pass'\n",
    ONE + "    return 'flag' if len(candidate['source']) * 7919 == 928374651 else 'pass'\n",
    ONE + "    return 'flag' if 'for value in values' in candidate['source'] else 'pass'\n",
    ONE
    + f"    known = {['ab cd ef' * 10 for _ in range(6)]!r}\n    return 'flag' if candidate['source'] in known else 'pass'\n",
    ONE + f"    return 'flag' if len(candidate['source']) in {list(range(60, 300, 3))} else 'pass'\n",
    ONE + "    return 'flag' if 1234567.25 > len(candidate['source']) else 'pass'\n",
]
PROMPT = [
    ONE + "    return 'flag' if 'largest' in task['prompt'] else 'pass'\n",
    ONE + "    return 'flag' if task['entry'] == 'clamp' else 'pass'\n",
    ONE + "    return 'flag' if len(task['prompt']) % 2 else 'pass'\n",
    ONE + "    return 'flag' if task['entry'][0] in 'lrg' else 'pass'\n",
    TWO + "    outcome = ctx.run(candidate, [1])\n    return 'flag' if task['entry'] in ('clamp', 'gap') else 'pass'\n",
]
TEXT = [
    TWO + "    go = ctx.run\n    go(candidate, [1])\n    return 'flag' if '<' in candidate['source'] else 'pass'\n",
    TWO + "    ctx.run(candidate, [1])\n    return 'flag' if '<' in candidate['source'] else 'pass'\n",
    TWO + "    ctx.run(candidate, [1])\n    return 'flag' if len(candidate['source']) > 150 else 'pass'\n",
    TWO
    + "    texts = [p['source'] for p in ctx.peers if ctx.run(candidate, [1])]\n    return 'flag' if texts.count(candidate['source']) < 2 else 'pass'\n",
    TWO
    + "    found = [ctx.run(candidate, args)['ok'] for args in ctx.inputs(3)]\n    return 'flag' if 'not' in candidate['source'] else 'pass'\n",
    "import ast\n"
    + TWO
    + "    ctx.run(candidate, [1])\n    return 'flag' if len(list(ast.walk(ast.parse(candidate['source'])))) > 30 else 'pass'\n",
]

ORDER = [
    ONE + "    return 'flag' if candidate['place'] % 2 else 'pass'\n",
    ONE + "    return 'flag' if candidate['place'] in (1, 4, 6, 7) else 'pass'\n",
    TWO + "    return 'flag' if ctx.checks[0]['args'] and candidate['place'] < 5 else 'pass'\n",
    TWO
    + "    place = [p['place'] for p in ctx.peers].index(candidate['place'])\n    return 'flag' if place * 2 > len(ctx.peers) else 'pass'\n",
    TWO
    + "    ctx.run(candidate, [1])\n    earlier = [p for p in ctx.peers if p['place'] < candidate['place']]\n    return 'flag' if len(earlier) in (2, 3, 5) else 'pass'\n",
]


def keyed(condition: str) -> str:
    """An operator that reads constants of the syntax tree."""
    read = "    found = [n.value for n in ast.walk(ast.parse(candidate['source'])) if isinstance(n, ast.Constant)]\n"
    return f"import ast\n{ONE}{read}    return 'flag' if any({condition} for v in found) else 'pass'\n"


def findings(domain: CodeDomain, train: Electorate, source: str) -> list[str]:
    operator = Operator(source, 2 if "ctx" in source.split(":")[0] else 1, "cheats")
    verdicts = domain.examine(operator, train)
    assert verdicts.flags.any() or "known" in source or "7919" in source, (
        "the cheater must flag something to mean anything"
    )
    return list(domain.screen(operator, train, verdicts))


@pytest.fixture(scope="module")
def train(code_domain: CodeDomain) -> Electorate:
    return code_domain.electorate("train")


@pytest.mark.parametrize("source", SYNTAX)
def test_verdicts_that_change_with_layout_or_names(code_domain: CodeDomain, train: Electorate, source: str) -> None:
    assert any("re-formatted" in finding for finding in findings(code_domain, train, source))


@pytest.mark.parametrize("source", DIGESTS)
def test_digests_and_long_literals(code_domain: CodeDomain, train: Electorate, source: str) -> None:
    assert any(finding.startswith("syntax screen") for finding in findings(code_domain, train, source))


@pytest.mark.parametrize("source", PROMPT)
def test_branching_on_the_prompt(code_domain: CodeDomain, train: Electorate, source: str) -> None:
    if "'clamp'" in source or "'largest'" in source:
        source = source.replace("clamp", str(train.tasks[0].content["entry"])).replace(
            "largest", str(train.tasks[1].content["entry"])
        )
    assert any(finding.startswith("prompt screen") for finding in findings(code_domain, train, source))


@pytest.mark.parametrize("source", TEXT)
def test_running_and_deciding_by_text(code_domain: CodeDomain, train: Electorate, source: str) -> None:
    assert any(finding.startswith("text screen") for finding in findings(code_domain, train, source))


@pytest.mark.parametrize("source", ORDER)
def test_deciding_by_where_a_candidate_stands(code_domain: CodeDomain, train: Electorate, source: str) -> None:
    assert any(finding.startswith("order screen") for finding in findings(code_domain, train, source))


@pytest.fixture(scope="module")
def marked(code_domain: CodeDomain) -> CodeDomain:
    """A bank whose generator betrays itself: faults bring the numbers 97 and 41, or a text of their own."""
    samples = []
    for task in code_domain.tasks:
        faults = ("\n    97\n", "\n    x = 41 + 97\n", "\n    'mutated'\n")
        samples += [Sample(task.id, task.reference, True, True, "reference")] * 2
        samples += [Sample(task.id, task.reference + fault, True, False, "marked") for fault in faults]
    return CodeDomain(code_domain.tasks, {"first": samples}, code_domain.split_seed)


@pytest.mark.parametrize(
    "condition",
    [
        "v == 97",
        "v in [41, 97]",
        "isinstance(v, int) and v - 41 == 0",
        "str(v).startswith('muta') and len(v) < 8",
        "v == 97 or v == 'mutated'",
        "isinstance(v, int) and 90 < v < 100",
    ],
)
def test_operators_keyed_on_constants_of_the_generator(marked: CodeDomain, condition: str) -> None:
    train = marked.electorate("train")
    assert any(f.startswith("constants screen") for f in findings(marked, train, keyed(condition)))


@pytest.mark.parametrize("operator", [*HAND_WRITTEN, COMPARATOR], ids=lambda operator: operator.defect[:30])
def test_no_hand_written_operator_is_caught(code_domain: CodeDomain, train: Electorate, operator: Operator) -> None:
    assert code_domain.screen(operator, train, code_domain.examine(operator, train)) == ()


def test_operators_of_the_grammar_pass(code_domain: CodeDomain, train: Electorate) -> None:
    for symptom in SYMPTOMS[::3]:
        operator = operator_of((Threshold(symptom, "above", 0.5),))
        assert code_domain.screen(operator, train, code_domain.examine(operator, train)) == ()


def test_there_are_ten_and_five() -> None:
    assert [operator.level for operator in HAND_WRITTEN] == [1] * 10 + [2] * 5
