"""Small tables and short reports on them, written from templates by a seed; some with a planted defect, so that labels are known.

A report names every row, says the total, who leads and how one row has changed.  Correct ones differ in order, rounding, whether they name the unit each time, and what they leave
out, so that a naive check has false alarms; defects are planted in one place each.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

SHORT = "too short"
"""The defect that the visible checks see."""

DEFECTS = ("wrong number", "wrong total", "contradiction", "turned trend", "missing unit", "wrong share")
SUBJECTS = (
    ("Electricity used by the halls of a school", "kWh", ("North hall", "South hall", "Gym", "Library", "Canteen")),
    ("Visitors of the rooms of a museum", "visitors", ("Maps", "Clocks", "Glass", "Ships", "Coins")),
    ("Apples picked in the rows of an orchard", "kg", ("Hill side", "River side", "Old trees", "New trees", "Fence")),
    (
        "Water drawn from the wells of a village",
        "litres",
        ("Church well", "Mill well", "Market well", "Farm well", "Upper well"),
    ),
    ("Books lent by the branches of a library", "loans", ("Harbour", "Station", "Old town", "Park", "University")),
    ("Bread sold on the days of a market", "loaves", ("Monday", "Wednesday", "Friday", "Saturday", "Sunday")),
    ("Snow measured at the huts of a valley", "mm", ("Lower hut", "Lake hut", "Ridge hut", "Pass hut", "Forest hut")),
    ("Distance ridden by the members of a club", "km", ("Ada", "Bruno", "Carla", "Dario", "Edda")),
)
OTHER_UNITS = {"kWh": "kW", "kg": "tonnes", "litres": "cubic metres", "mm": "cm", "km": "miles"}
YEARS = ((2021, 2022), (2022, 2023), (2023, 2024))


@dataclass(frozen=True)
class Table:
    """What a report is about: rows with an earlier and a later value."""

    title: str
    unit: str
    years: tuple[int, int]
    rows: tuple[tuple[str, int, int], ...]

    @property
    def total(self) -> int:
        """Of the later year."""
        return sum(row[2] for row in self.rows)


@dataclass(frozen=True)
class Report:
    """A text, and the defect that was planted in it; none in a correct one."""

    text: str
    defect: str


def table(seed: int, number: int) -> Table:
    """A table of three to five rows whose leader leads by at least a tenth, and in which every row changes by at least a tenth."""
    rng = random.Random(f"texts table {seed} {number}")
    title, unit, names = SUBJECTS[number % len(SUBJECTS)]
    size = rng.randint(3, 5)
    scale = rng.choice((100, 400, 1500))
    while True:
        rows = tuple(
            (name, rng.randint(scale, 4 * scale), rng.randint(scale, 4 * scale)) for name in rng.sample(names, size)
        )
        later = sorted((row[2] for row in rows), reverse=True)
        if later[0] > 1.1 * later[1] and all(abs(row[2] - row[1]) > 0.1 * row[1] for row in rows):
            return Table(title, unit, rng.choice(YEARS), rows)


def reports(made: Table, seed: int, number: int, count: int = 12) -> list[Report]:
    """As many correct reports as faulty ones, and sometimes one that is too short, in a mixed order; texts may repeat."""
    rng = random.Random(f"texts reports {seed} {number}")
    wanted = ["" if place % 2 else rng.choice(DEFECTS) for place in range(count)]
    wanted += [SHORT] if rng.random() < 0.5 else []
    rng.shuffle(wanted)
    return [Report(_written(made, defect, rng), defect) for defect in wanted]


def _written(made: Table, defect: str, rng: random.Random) -> str:
    rows = list(made.rows)
    rng.shuffle(rows)
    leader = max(rows, key=lambda row: row[2])
    changed = rng.choice(rows)
    unit = _Units(made.unit, defect, rng)
    if defect == SHORT:
        return f"{_opening(made, rng)} {leader[0]} had the most."
    sentences = [_opening(made, rng), _listing(rows, made, defect, unit, rng)]
    middle = [_total(made, defect, unit, rng), _lead(leader, made, unit, rng)]
    if defect != "wrong total" and rng.random() < 0.2:
        middle = middle[1:]
    rng.shuffle(middle)
    sentences += [*middle, _change(changed, made, defect, rng)]
    if defect == "contradiction":
        other = rng.choice([row for row in rows if row is not leader])
        sentences.append(
            rng.choice((f"{other[0]} came out ahead of all the others.", f"Nobody had more than {other[0]}."))
        )
    elif rng.random() < 0.4:
        sentences.append(
            rng.choice(
                (
                    "The ranking may shift next year.",
                    f"{leader[0]} stayed in front to the end.",
                    "Weather may explain a part of this.",
                )
            )
        )
    return " ".join(sentence for sentence in sentences if sentence)


class _Units:
    """Writes a value with its unit: each time, or once in the beginning; a missing or foreign unit is a defect."""

    def __init__(self, unit: str, defect: str, rng: random.Random) -> None:
        self.once = defect != "missing unit" and rng.random() < 0.25
        self.absent = defect == "missing unit"
        self.unit = unit
        if self.absent and unit in OTHER_UNITS and rng.random() < 0.5:
            self.unit, self.absent = OTHER_UNITS[unit], False

    def __call__(self, value: int | str) -> str:
        return f"{value}" if self.once or self.absent else f"{value} {self.unit}"


def _opening(made: Table, rng: random.Random) -> str:
    first, second = made.years
    return rng.choice((
        f"{made.title}, {second}.",
        f"This is about {made.title[0].lower()}{made.title[1:]} in {second}.",
        f"{made.title} in {second}, compared with {first}.",
    ))  # fmt: skip


def _listing(rows: list[tuple[str, int, int]], made: Table, defect: str, unit: _Units, rng: random.Random) -> str:
    wrong = rng.randrange(len(rows)) if defect == "wrong number" else -1
    parts = [
        f"{name} had {unit(_slipped(value, rng) if place == wrong else value)}"
        for place, (name, _, value) in enumerate(rows)
    ]
    text = ", ".join(parts[:-1]) + f" and {parts[-1]}."
    return f"In {made.unit}: {text}" if unit.once else text


def _slipped(value: int, rng: random.Random) -> int:
    """Two digits changed places, or one digit is another."""
    digits = list(str(value))
    for _ in range(20):
        place = rng.randrange(len(digits) - 1)
        if rng.random() < 0.5:
            digits[place], digits[place + 1] = digits[place + 1], digits[place]
        else:
            digits[place] = rng.choice("123456789")
        if "".join(digits) != str(value) and digits[0] != "0":
            return int("".join(digits))
    return value + 10


def _total(made: Table, defect: str, unit: _Units, rng: random.Random) -> str:
    total = made.total
    if defect == "wrong total":
        total += rng.choice((-1, 1)) * rng.choice((10, 100, max(1, made.rows[0][2] // 2), made.rows[-1][2]))
        return f"Together that makes {unit(total)}."
    if rng.random() < 0.3:
        return f"Together that makes about {unit(round(total, -2))}."
    return rng.choice((f"Together that makes {unit(total)}.", f"The total is {unit(total)}."))


def _lead(leader: tuple[str, int, int], made: Table, unit: _Units, rng: random.Random) -> str:
    return rng.choice((
        f"{leader[0]} had the most.",
        f"The largest part, {unit(leader[2])}, is that of {leader[0]}.",
        f"{leader[0]} leads with {unit(leader[2])}.",
    ))  # fmt: skip


def _change(row: tuple[str, int, int], made: Table, defect: str, rng: random.Random) -> str:
    name, before, after = row
    rose = (after > before) != (defect == "turned trend")
    share = abs(after - before) / before * 100.0
    if defect == "wrong share":
        share *= rng.choice((0.5, 0.8, 1.3, 2.0))
    word = rng.choice(("rose", "grew", "went up") if rose else ("fell", "shrank", "went down"))
    if defect != "wrong share" and rng.random() < 0.3:
        return f"Compared with {made.years[0]}, {name} {word}."
    return f"Compared with {made.years[0]}, {name} {word} by {share:.0f} %."
