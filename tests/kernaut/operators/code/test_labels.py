"""Labels: verdicts are formed where no candidate is, so that no candidate can forge its own or another's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernaut.operators.code.labels import Labeller, _checked

REFERENCE = "def half(x):\n    return x // 2\n\ndef f(x):\n    return [half(x), half(x) + 1]\n"
VISIBLE = "def check(candidate):\n    assert candidate(2) == [1, 2]\n"
HIDDEN = """
def check(candidate):
    assert candidate(9) == [4, 5]
    assert half(candidate(40)[0]) == 10
    assert sorted(candidate(-3)) == [-2, -1] and len(candidate(0)) == 2
"""
LOOK = """
def frames():
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame
    while frame is not None:
        yield frame
        frame = frame.f_back
"""

HOSTILE = {
    "exits with success": "def f(x):\n    raise SystemExit(0)\n",
    "exits while loading": "raise SystemExit(0)\n",
    "raises an exception without a name": "def f(x):\n    raise type('', (Exception,), {})\n",
    "equals everything": """
class Any(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __floordiv__(self, other): return Any([10])
    def __getitem__(self, place): return Any([1])
    def __iter__(self): return iter([-2, -1])
    def __len__(self): return 2
    def __hash__(self): return 1
def f(x):
    return Any([0, 0])
""",
    "equals through a metaclass": """
class Meta(type):
    def __eq__(cls, other): return True
    def __len__(cls): return 2
    def __iter__(cls): return iter([-2, -1])
    def __getitem__(cls, place): return 20
    __hash__ = None
class Any(metaclass=Meta):
    pass
def f(x):
    return Any
""",
    "replaces the tests' helper": "def half(x):\n    return 10\n\ndef f(x):\n    return [x // 2, x // 2 + 1] if x < 10 else [0, 0]\n",
    "replaces builtins": LOOK
    + """
def f(x):
    for frame in frames():
        frame.f_builtins['sorted'] = lambda *given: [-2, -1]
    return [x // 2, x // 2 + 1] if x > 0 else [0, 0]
""",
    "patches a class of the library": """
import collections
collections.Counter.__eq__ = lambda one, other: True
collections.Counter.__missing__ = lambda one, key: 20
def f(x):
    return collections.Counter([-2, -1])
""",
    "rewrites the frames it is called from": LOOK
    + """
def f(x):
    for frame in frames():
        for name in ('name_of', 'raised', 'encoded', 'outcome_of', '_failure', 'run_suite', 'answer', 'label'):
            if name in frame.f_globals:
                frame.f_globals[name] = lambda *given, **options: ''
        for name in ('tests', 'caught', 'failures', 'found', 'answers'):
            if name in frame.f_locals and isinstance(frame.f_locals[name], list):
                frame.f_locals[name][:] = ['', '']
    return [x // 2, x // 2 + 1] if x == 2 else [0, 0]
""",
    "reads the tests from its process": LOOK
    + """
import re
def texts(value, depth=0):
    if isinstance(value, str):
        yield value
    elif depth < 4 and isinstance(value, dict):
        for item in list(value.values()):
            yield from texts(item, depth + 1)
    elif depth < 4 and isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item, depth + 1)
def f(x):
    for frame in frames():
        for space in (frame.f_locals, frame.f_globals):
            for text in texts(dict(space)):
                found = re.search(r'candidate\\(%d\\)[^=]*== (\\[.*?\\])' % x, text)
                if found:
                    return [int(word) for word in re.findall(r'-?\\d+', found.group(1))]
                if x in (40, 0, -3) and 'half(candi' + 'date(40)' in text:
                    return {40: [20], 0: [0, 0], -3: [-1, -2]}[x]
    return [x // 2, x // 2 + 1] if x == 2 else [0, 0]
""",
    "says that it passed": """
def f(x):
    print('passed')
    return '{"load": "", "suites": [["", ""]]} passed'
""",
    "takes the process's socket": """
def f(x):
    for kind in object.__subclasses__():
        if kind.__name__ == '_wrap_close':
            write = kind.__init__.__globals__['write']
            for number in range(3, 16):
                try:
                    write(number, b'{"load": "", "suites": ["", ""]}' * 9)
                except OSError:
                    pass
    return [x // 2, x // 2 + 1] if x == 2 else [0, 0]
""",
    "never ends": "def f(x):\n    while True:\n        x += 1\n",
    "never ends and catches all": "def f(x):\n    while True:\n        try:\n            x += 1\n        except BaseException:\n            pass\n",
    "floods": "def f(x):\n    return ['a' * 10**6] * 60\n",
    "nests without end": "def f(x):\n    found = []\n    found.append(found)\n    return found\n",
}


@pytest.fixture(scope="module")
def labeller() -> Iterator[Labeller]:
    with Labeller() as made:
        yield made


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_candidates_are_labelled_incorrect_and_spoil_no_other(labeller: Labeller, name: str) -> None:
    wrong = "def f(x):\n    return [x // 2, x // 2 + 1] if x > 0 else []\n"
    found = labeller.failures("f", REFERENCE, [HOSTILE[name], REFERENCE, wrong], [VISIBLE, HIDDEN])
    assert any(found[0]), found[0]
    assert found[1] == ["", ""]
    assert found[2] == ["", "AssertionError"]


def test_honest_candidates_get_their_labels(labeller: Labeller) -> None:
    add, off = "def f(x):\n    return x + 1\n", "def f(x):\n    return x + 2 if x > 5 else x + 1\n"
    suites = [f"def check(candidate):\n    assert candidate({x}) == {x + 1}" for x in (1, 9)]
    endless, files = (
        "def f(x):\n    while True:\n        x += 1\n",
        "def f(x):\n    return open('/etc/hostname').read()\n",
    )
    found = labeller.failures("f", add, [add, off, endless, files, "def g(:", "g = 1"], suites)
    assert found == [["", ""], ["", "AssertionError"], ["Endless"], ["NameError"], ["SyntaxError"], ["NameError"]]
    assert labeller.failures("f", add, [endless], suites, every=True) == [["Endless", "Endless"]]


@pytest.mark.parametrize(
    ("source", "check"),
    [
        ("def f(x):\n    return (n * n for n in range(x))", "assert list(candidate(4)) == [0, 1, 4, 9]"),
        ("def f(x):\n    x.sort()\n    x.append(0)", "xs = [3, 1]\n    candidate(xs)\n    assert xs == [1, 3, 0]"),
        ("def f(x):\n    x['k'] = 1", "d = {}\n    candidate(d)\n    assert d == {'k': 1}"),
        ("def f(x, y=2):\n    return x ** y", "assert candidate(10, y=5000) == 10 ** 5000 and candidate(x=3) == 9"),
        ("def f(x):\n    return float('inf'), float('nan'), -0.0, 1.0", "a, b, c, d = candidate(0)\n    assert a > 1 and b != b and str(c) == '-0.0' and type(d) is float"),
        ("def f(x):\n    return {1: {2, 3}, (4,): frozenset('a'), None: b'z', True: 1j}", "assert candidate(0) == {1: 1j, (4,): frozenset('a'), None: b'z'}"),
        ("import collections\ndef f(x):\n    return collections.Counter(x).items()", "assert sorted(candidate('aab')) == [('a', 2), ('b', 1)]"),
        ("import collections\ndef f(x):\n    return collections.Counter(x), collections.deque(x), range(3)", "assert candidate('ab') == ({'a': 1, 'b': 1}, __import__('collections').deque('ab'), range(3))"),
        ("def f(x):\n    raise ValueError(x)", "try:\n        candidate(1)\n        assert False\n    except ValueError:\n        pass"),
        ("class Own(KeyError):\n    pass\ndef f(x):\n    raise Own", "try:\n        candidate(1)\n        assert False\n    except LookupError:\n        pass"),
        ("def f(x):\n    return x + x", "value = 'a'\n    for _ in range(5):\n        value = candidate(value)\n    assert value == 'a' * 32"),
        ("def f(x):\n    return sum(x)", "import random\n    for _ in range(20):\n        xs = [random.randint(0, 9) for _ in range(4)]\n        assert candidate(xs) == sum(xs)"),
        ("def helper(x):\n    return x + 1\n\ndef f(x):\n    return helper(x)", "assert f(1) == helper(1) == 2 == candidate(1)"),
    ],
)  # fmt: skip
def test_values_that_go_between_the_processes(labeller: Labeller, source: str, check: str) -> None:
    suite = f"def check(candidate):\n    {check}\n"
    assert labeller.failures("f", source, [source, "def f(x=0, y=0):\n    return 'no'"], [suite])[0] == [""]
    spoilt = source.replace("def f(x", "def f(x_, *rest, x=1, y=0):\n    return 7\n\ndef unused(x")
    assert labeller.failures("f", source, [spoilt], [suite]) != [[""]]


def test_calls_that_depend_on_answers_are_made_one_by_one(labeller: Labeller) -> None:
    reference = "def f(x):\n    return x * 3\n"
    suite = (
        "def check(candidate):\n    assert candidate(candidate(candidate(1))) in (8, 27)\n    assert candidate(5) > 5\n"
    )
    found = labeller.failures(
        "f", reference, [reference, "def f(x):\n    return x * 2\n", "def f(x):\n    return x + 1\n"], [suite]
    )
    assert found == [[""], [""], ["AssertionError"]]


def test_arguments_that_are_no_data_leave_a_task_without_labels(labeller: Labeller) -> None:
    reference = "def f(g):\n    return g(1)\n"
    suite = "def check(candidate):\n    assert candidate(lambda x: x + 1) == 2\n"
    assert labeller.failures("f", reference, [reference], [suite]) == [["NotPlain"]]


def test_only_the_form_of_an_answer_is_believed() -> None:
    calls = [["a", "b"], ["c"]]
    assert _checked({"load": "", "suites": [["1", "2"], ["3"]]}, calls) == [["1", "2"], ["3"]]
    assert _checked({"load": "NameError", "suites": []}, calls) == "NameError"
    for answer in (None, [], {}, {"load": ""}, {"load": "", "suites": [["1"], ["3"]]}, {"load": "", "suites": [["1", 2], ["3"]]}, {"load": 0, "suites": [["1", "2"], ["3"]]}):  # fmt: skip
        assert _checked(answer, calls) == "Malformed"
