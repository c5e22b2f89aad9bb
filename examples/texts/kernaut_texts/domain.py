"""Domain ``texts``: a task is a small table to report on, its candidates are short reports, V are those of the right length that name every row; there is no test for the rest.

One file is a whole domain: electorates with labels, symptoms that can be measured, operators by hand, words for language models, and rewritings for the screens.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from kernaut.errors import InputError
from kernaut.operators.record_domain import Record, RecordDomain, Screen
from kernaut.operators.records import Candidate, Electorate, Operator, Task
from kernaut.operators.symptoms import Symptom
from kernaut.seeds import stable_seed
from kernaut_texts.writing import Report, Table, reports, table

SYNTHETIC = "Reports were written from templates, and their defects were planted; a result on them may not hold on reports that people or models wrote."
INTERFACE = """\
`task` is a mapping: `title`, `unit`, `years` (the earlier and the later one) and `rows`, a list of mappings with `name`, `before` and `after` (the values of the two years). `candidate` is a
mapping: `text` (a report of a few sentences on the later year) and `place` (its number among its peers). Candidates that you meet have 20 to 90 words and name every row. A
report is wrong when something in it is not true of the table, when its sentences contradict each other, or when it leaves the unit of its figures out or names another one.

`ctx` (level 2 only): `ctx.peers`, all reports on the same table, this one included (compare `place`). Nothing can be run."""


def visible(text: str, task: Table) -> bool:
    """The visible checks: 20 to 90 words, and every row is named."""
    return 20 <= len(text.split()) <= 90 and all(name in text for name, _, _ in task.rows)


def texts(tasks: int = 48, seed: int = 0) -> RecordDomain:
    """Make the domain.

    Args:
        tasks: tables, half of them for training.
        seed: of tables, reports and the split.

    Raises:
        InputError: for fewer than two tasks.
    """
    if tasks < 2:
        raise InputError(f"Expected at least 2 tasks. Got {tasks}.")
    numbers = sorted(range(tasks), key=lambda number: stable_seed("texts split", seed, number))
    halves = {"train": sorted(numbers[: tasks // 2]), "unseen": sorted(numbers[tasks // 2 :])}
    electorates = {name: _electorate(name, half, seed) for name, half in halves.items()}
    return RecordDomain("texts", electorates, SYMPTOMS, HAND_WRITTEN, INTERFACE, SYNTHETIC, SCREENS)


def _electorate(name: str, numbers: Sequence[int], seed: int) -> Electorate:
    tasks, candidates = [], []
    for number in numbers:
        made = table(seed, number)
        tasks.append(Task(f"table-{number:03d}", _content(made)))
        written = reports(made, seed, number)
        candidates += [_candidate(tasks[-1].id, place, report, made) for place, report in enumerate(written)]
    return Electorate("texts", name, tuple(tasks), tuple(candidates))


def _content(made: Table) -> dict[str, Any]:
    rows = [{"name": name, "before": before, "after": after} for name, before, after in made.rows]
    return {"title": made.title, "unit": made.unit, "years": list(made.years), "rows": rows}


def _candidate(task: str, place: int, report: Report, made: Table) -> Candidate:
    return Candidate(
        f"r{place:02d}", task, {"text": report.text}, visible(report.text, made), not report.defect, report.defect
    )


# What can be measured

_NUMBERS = '    numbers = [float(n) for n in re.findall(r"(?<![\\w.])\\d+(?![\\w])(?! %)", candidate["text"]) if int(n) not in task["years"]]\n'
_SENTENCES = '    sentences = re.split(r"(?<=[.])\\s+", candidate["text"])\n'
_TOPS = (
    _SENTENCES
    + '    words = ("the most", "leads", "largest", "ahead of all", "had more than", "in front")\n'
    + '    tops = {r["name"] for r in task["rows"] for s in sentences if r["name"] in s and any(w in s for w in words)}\n'
)
_PEERS = '    peers = [p for p in ctx.peers if p["place"] != candidate["place"]]\n'


def _one(name: str, words: str, body: str, *imports: str) -> Symptom:
    return Symptom(name, words, 1, f"def {name}(task, candidate):\n{body}", imports)


def _many(name: str, words: str, body: str, *imports: str) -> Symptom:
    return Symptom(name, words, 2, f"def {name}(task, candidate, ctx):\n{body}", imports)


SYMPTOMS = (
    _one("words", "number of words", '    return len(candidate["text"].split())\n'),
    _one("sentences", "number of sentences", _SENTENCES + "    return len(sentences)\n", "re"),
    _one("number_count", "number of figures", _NUMBERS + "    return len(numbers)\n", "re"),
    _one("word_length", "mean length of a word", '    w = candidate["text"].split()\n    return sum(len(x) for x in w) / len(w)\n'),
    _one("commas", "number of commas", '    return candidate["text"].count(",")\n'),
    _one("hedges", "number of hedging words", '    return sum(candidate["text"].count(w) for w in ("about", "may", "perhaps"))\n'),
    _one(
        "strange",
        "number of figures that are neither in the table nor its total",
        _NUMBERS
        + '    known = {r["after"] for r in task["rows"]} | {r["before"] for r in task["rows"]}\n'
        + "    total = sum(r['after'] for r in task['rows'])\n"
        + "    return sum(n not in known and abs(n - total) > 0.5 for n in numbers)\n",
        "re",
    ),
    _one(
        "total_gap",
        "distance of the stated total to the sum of the rows, as a share of it",
        _SENTENCES
        + '    total = sum(r["after"] for r in task["rows"])\n'
        + '    found = [s for s in sentences if "ogether" in s or "total" in s]\n'
        + '    stated = re.findall(r"\\d+", " ".join(found))\n'
        + "    return abs(int(stated[0]) - total) / total if stated else None\n",
        "re",
    ),
    _one(
        "unit_share",
        "mentions of the unit for each figure",
        _NUMBERS + '    return candidate["text"].count(" " + task["unit"]) / len(numbers) if numbers else None\n',
        "re",
    ),
    _one("unit_named", "mentions of the unit", '    return len(re.findall(r"\\b" + task["unit"] + r"\\b", candidate["text"]))\n', "re"),
    _one("tops", "number of rows that are said to lead", _TOPS + "    return len(tops)\n", "re"),
    _one(
        "false_top",
        "number of rows that are said to lead and do not",
        _TOPS + '    best = max(task["rows"], key=lambda r: r["after"])\n    return len(tops - {best["name"]})\n',
        "re",
    ),
    _one(
        "turned",
        "number of sentences that turn a row's trend round",
        _SENTENCES
        + '    up, down = ("rose", "grew", "went up"), ("fell", "shrank", "went down")\n'
        + "    count = 0\n"
        + "    for s in sentences:\n"
        + '        for r in task["rows"]:\n'
        + '            rises = r["after"] > r["before"]\n'
        + '            count += r["name"] in s and any(w in s for w in (down if rises else up))\n'
        + "    return count\n",
        "re",
    ),
    _one(
        "share_gap",
        "distance of the stated change to the nearest change of a row [percentage points]",
        '    stated = re.findall(r"(\\d+) %", candidate["text"])\n'
        + '    true = [abs(r["after"] - r["before"]) / r["before"] * 100 for r in task["rows"]]\n'
        + "    return min(abs(int(stated[0]) - t) for t in true) if stated else None\n",
        "re",
    ),
    _many(
        "lonely",
        "number of figures that no peer names",
        _NUMBERS
        + _PEERS
        + '    others = {n for p in peers for n in re.findall(r"\\d+", p["text"])}\n'
        + "    return sum(str(int(n)) not in others for n in numbers)\n",
        "re",
    ),
    _many(
        "rare",
        "share of figures that fewer than half of its peers name",
        _NUMBERS
        + _PEERS
        + "    if not numbers or not peers:\n        return None\n"
        + '    counts = [sum(str(int(n)) in re.findall(r"\\d+", p["text"]) for p in peers) for n in numbers]\n'
        + "    return sum(2 * c < len(peers) for c in counts) / len(numbers)\n",
        "re",
    ),
    _many(
        "unit_rank",
        "share of peers that name the unit more often",
        _PEERS
        + '    own = candidate["text"].count(task["unit"])\n'
        + '    return sum(p["text"].count(task["unit"]) > own for p in peers) / len(peers) if peers else None\n',
    ),
    _many(
        "length_rank",
        "share of peers that are longer",
        _PEERS + '    own = len(candidate["text"])\n    return sum(len(p["text"]) > own for p in peers) / len(peers) if peers else None\n',
    ),
    _many(
        "strange_words",
        "number of words that no peer uses",
        _PEERS
        + '    others = {w.strip(",.:") for p in peers for w in p["text"].split()}\n'
        + '    return sum(w.strip(",.:") not in others and not w.strip(",.:").isdigit() for w in candidate["text"].split())\n',
    ),
)  # fmt: skip


# Operators by hand


def _inspecting(defect: str, body: str) -> Operator:
    return Operator(f"import re\n\n\ndef op(task, candidate):\n{body}", 1, defect, "hand")


HAND_WRITTEN = (
    _inspecting(
        "a total that is not the sum of the rows",
        '    found = re.findall(r"(?:makes|total is) (\\d+)", candidate["text"])\n'
        '    total = sum(r["after"] for r in task["rows"])\n'
        '    return "flag" if any(int(n) != total for n in found) else "pass"\n',
    ),
    _inspecting(
        "a row whose value is not in the text",
        '    return "flag" if any(str(r["after"]) not in candidate["text"] for r in task["rows"]) else "pass"\n',
    ),
    _inspecting(
        "no unit beside the first figure",
        '    found = re.search(r" had \\d+ ([a-zA-Z]+)", candidate["text"])\n'
        '    first = "" if found is None else found.group(1)\n'
        '    return "pass" if task["unit"].startswith(first) and first not in ("", "and") else "flag"\n',
    ),
    _inspecting(
        "a row that leads and is not the largest",
        '    best = max(task["rows"], key=lambda r: r["after"])["name"]\n'
        '    lead = [r["name"] for r in task["rows"] if r["name"] + " leads" in candidate["text"] or r["name"] + " came out" in candidate["text"]]\n'
        '    return "flag" if any(name != best for name in lead) else "pass"\n',
    ),
    _inspecting(
        "a rise where the row fell",
        '    fell = [r["name"] for r in task["rows"] if r["after"] < r["before"]]\n'
        '    return "flag" if any(re.search(name + " (rose|grew|went up)", candidate["text"]) for name in fell) else "pass"\n',
    ),
    Operator(
        "import re\n\n\ndef op(task, candidate, ctx):\n"
        '    numbers = set(re.findall(r"\\d+", candidate["text"]))\n'
        '    others = [set(re.findall(r"\\d+", p["text"])) for p in ctx.peers if p["place"] != candidate["place"]]\n'
        '    alone = [n for n in numbers if not any(n in o for o in others)]\n'
        '    return "flag" if len(alone) > 1 else "pass"\n',
        2,
        "two figures that no peer names",
        "hand",
    ),
)  # fmt: skip


# Rewritings for the screens: a report says the same, in another layout, with other names, or with other wrong figures


def renamed(task: Record, candidates: list[Record], correct: Sequence[bool]) -> tuple[Record, list[Record]]:
    """Rows have other names, and sentences stand on lines of their own."""
    rng = random.Random(stable_seed("texts screen", task["title"], len(candidates)))
    names = {row["name"]: f"Row {''.join(rng.sample('bdfgklmnprst', 5))}" for row in task["rows"]}
    rows = [{**row, "name": names[row["name"]]} for row in task["rows"]]
    return {**task, "rows": rows}, [
        {**c, "text": _with_names(c["text"], names).replace(". ", ".\n")} for c in candidates
    ]


def untitled(task: Record, candidates: list[Record], correct: Sequence[bool]) -> tuple[Record, list[Record]]:
    """The title is another one, in the task and in the reports."""
    title, other = task["title"], "Things counted in places of a town"
    swapped = [
        {
            **c,
            "text": c["text"].replace(title, other).replace(title[0].lower() + title[1:], other[0].lower() + other[1:]),
        }
        for c in candidates
    ]
    return {**task, "title": other}, swapped


def other_faults(task: Record, candidates: list[Record], correct: Sequence[bool]) -> tuple[Record, list[Record]]:
    """Figures that only wrong reports hold are other figures."""
    good = {n for c, right in zip(candidates, correct, strict=True) if right for n in re.findall(r"\d+", c["text"])}
    good |= {str(row[year]) for row in task["rows"] for year in ("before", "after")}

    def moved(match: re.Match[str]) -> str:
        return match.group() if match.group() in good else str(int(match.group()) * 3 + 7)

    return task, [
        c if right else {**c, "text": re.sub(r"\d+", moved, c["text"])}
        for c, right in zip(candidates, correct, strict=True)
    ]


def _with_names(text: str, names: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, names)), lambda match: names[match.group()], text)


SCREENS = (
    Screen(
        "syntax screen",
        "its verdict changes when rows have other names and sentences stand on lines of their own",
        renamed,
    ),
    Screen("prompt screen", "its verdict changes with the words of the title", untitled),
    Screen("constants screen", "its flags follow figures that only wrong reports hold", other_faults, share=0.5),
)
