"""A small run of evaluator evolution on six tasks, looked at, taken apart and gone on with by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.subject import program_subject
from kernaut.operators.authoring import OfflineAuthor
from kernaut.operators.domain import Domain
from kernaut.operators.domains import DomainOptions, open_domain
from kernaut.operators.kernels.domain import KernelDomain
from kernaut.operators.kernels.fits import fit_subjects
from kernaut.operators.kernels.use import Candidates
from kernaut.operators.loop import LoopOptions
from kernaut.operators.running import run_campaign
from kernaut.plugins import bundled
from kernaut.program.templates import template
from kernaut.report.authoring_view import TEMPLATES
from kernaut.report.collision_view import class_table
from kernaut.report.subject_view import library_subjects
from tests.widgets.conftest import held
from widgets.collision_browser import CollisionBrowser

OPTIONS = DomainOptions(tasks=str(bundled("examples", "code_tasks.jsonl")), size=6, split_seed=3)
HANGS = "def op(task, candidate):\n    while True:\n        pass\n"
FLAGS_ALL = 'def op(task, candidate):\n    return "flag"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Domain]:
    folder = tmp_path_factory.mktemp("cegar")
    with Archive.create(folder / "a.sqlite") as archive:
        domain = open_domain("code", OPTIONS, archive, cache=folder / "cache")
        options = LoopOptions(seed=5, most_calls=3, min_helped=1)
        run_campaign(archive, "cegar-code", domain, OfflineAuthor(), options, 1, domain_options=OPTIONS.to_json())
    return folder / "a.sqlite", domain


@pytest.fixture
def browser(made: tuple[Path, Domain]) -> Iterator[CollisionBrowser]:
    browser = CollisionBrowser(str(made[0]), made[1])
    yield browser
    browser.close()


def test_classes_split_as_the_pool_grows(browser: CollisionBrowser) -> None:
    assert browser.message == "" and browser.loaded and browser.pool
    counts = []
    for number in range(len(browser.everyone) + 1):
        browser.slider.value = number
        assert browser.operators == number and len(browser.pool) == number
        counts.append(len(browser.classes))
        sizes = [len(found.members) for found in browser.classes]
        assert sizes == sorted(sizes, reverse=True) and sum(sizes) == sum(browser.labelled.electorate.visible)  # type: ignore[union-attr]
    assert counts[0] == 1 and counts == sorted(counts) and counts[-1] > 1
    browser.slider.value = 0
    assert "1 signature class of" in browser.picture.value and "1 of them collide" in browser.picture.value


def test_the_number_in_use_is_kept_by_refresh_and_load(made: tuple[Path, Domain]) -> None:
    browser = CollisionBrowser(str(made[0]), made[1], operators=0)
    assert browser.operators == 0 and len(browser.classes) == 1
    browser.again.click()
    browser.load_button.click()
    assert browser.operators == 0 and browser.slider.max == len(browser.everyone) > 0
    browser.close()


def test_a_colliding_pair_stands_side_by_side_with_every_verdict(browser: CollisionBrowser) -> None:
    browser.slider.value = 0
    assert browser.labelled is not None
    candidates = browser.labelled.electorate.candidates
    one, two = candidates[browser.left], candidates[browser.right]
    assert one.correct and not two.correct and one.task == two.task
    assert "Correct:" in browser.compared.value and "Incorrect (hidden tests only):" in browser.compared.value
    assert browser.compared.value.count("def ") >= 2 and browser.everyone[0].operator.defect in browser.compared.value
    before = browser.compared.value
    browser.pick_right.value = next(place for _, place in browser.pick_right.options if place != browser.right)
    assert browser.compared.value != before


def test_an_operator_is_shown_with_what_admitted_it(browser: CollisionBrowser) -> None:
    browser.pick_operator.value = 0
    assert "accuracy after" in browser.shown.value and "def op(" in browser.shown.value
    assert browser.everyone[0].where in browser.pooled.value and "decision" in browser.tried.value


def test_the_next_operator_is_proposed_judged_and_joins_the_pool(browser: CollisionBrowser, tmp_path: Path) -> None:
    browser.slider.value = 0
    assert browser.source == TEMPLATES[1]
    browser.ask.click()
    assert browser.message == "" and browser.type_source.value != TEMPLATES[1] and browser.type_defect.value
    browser.pick_level.value = 2
    assert "op(task, candidate, ctx)" in browser.message
    browser.pick_level.value = 1
    assert browser.message == "" and browser.decision == ""
    decisions = []
    for _ in range(6):
        browser.slider.value = 0
        browser.try_it.click()
        decisions.append(browser.decision)
        if browser.decision == "admitted":
            break
        browser.ask.click()
    assert decisions[-1] == "admitted" and "Admitted" in browser.verdict.value
    assert browser.everyone[-1].where == "by hand" and browser.operators == len(browser.everyone)
    browser.type_folder.value = str(tmp_path)
    browser.write.click()
    written = json.loads(Path(browser.exported).read_text())
    assert [o["id"] for o in written["operators"]] == [entry.operator.id for entry in browser.pool]


def test_what_flags_everybody_is_not_admitted(browser: CollisionBrowser) -> None:
    browser.slider.value = 0
    browser.type_source.value = FLAGS_ALL
    assert "rules of a source are kept" in browser.verdict.value
    browser.try_it.click()
    assert browser.decision == "not admitted" and "not separated" in browser.verdict.value
    assert len(browser.everyone) == len(browser.look.pool)  # type: ignore[union-attr]


def test_a_syntax_error_and_a_forbidden_name_are_messages_as_they_are_typed(browser: CollisionBrowser) -> None:
    browser.type_source.value = "def op(task, candidate:\n"
    assert "parses as Python" in browser.message
    browser.type_source.value = 'def op(task, candidate):\n    return open("x")\n'
    assert "Line 2" in browser.message and "open" in browser.message
    assert browser.decision == "" and not browser.busy
    browser.type_source.value = TEMPLATES[1]
    assert browser.message == ""


def test_an_operator_that_hangs_is_ended_and_is_a_message(browser: CollisionBrowser) -> None:
    browser.slider.value = 0
    browser.type_source.value = HANGS
    browser.try_it.click()
    assert "more than 200000 steps" in browser.message and browser.decision == "not admitted" and not browser.busy


def test_without_candidates_the_archive_says_sizes_and_the_button_loads_the_rest(made: tuple[Path, Domain]) -> None:
    browser = CollisionBrowser(str(made[0]), cache=str(made[0].parent / "cache"))
    assert browser.message == "" and not browser.loaded
    assert browser.classes[0].correct is None and "labels not loaded" not in browser.message
    sizes = [row[1] for row in class_table(browser.classes).rows]
    browser.try_it.click()
    assert "candidates are loaded" in browser.message
    browser.load_button.click()
    assert browser.message == "" and browser.loaded
    assert [row[1] for row in class_table(browser.classes).rows] == sizes
    assert "an operator is given" in browser.tabs.children[3].children[-1].titles[0] and browser.words.value
    browser.close()


def test_messages_for_archives_without_a_run(made: tuple[Path, Domain], empty: str, tmp_path: Path) -> None:
    browser = CollisionBrowser(empty)
    assert "evaluator evolution" in browser.message and browser.look is None
    assert "evaluator evolution" in repr(browser.static())
    browser.type_archive.value = str(tmp_path / "nothing.sqlite")
    assert "nothing.sqlite" in browser.message
    copy = tmp_path / "copy.sqlite"
    shutil.copy(made[0], copy)
    browser.type_archive.value = str(copy)
    assert browser.message == "" and browser.look is not None
    with held(str(copy)):
        browser.again.click()
        assert "locked by another process" in browser.message and browser.pooled.value == ""
    browser.again.click()
    assert browser.message == ""
    browser.type_campaign.value = "other"
    assert "other" in browser.message
    browser.close()


def test_candidates_that_changed_meanwhile_are_a_message(made: tuple[Path, Domain], tmp_path: Path) -> None:
    with Archive.open(made[0], read_only=True) as archive:
        other = open_domain(
            "code", DomainOptions(tasks=OPTIONS.tasks, size=4, split_seed=3), archive, cache=made[0].parent / "cache"
        )
    browser = CollisionBrowser(str(made[0]), other)
    assert "Expected the training electorate" in browser.message and not browser.loaded
    browser.close()


def test_fits_of_kernels_stand_side_by_side(tmp_path: Path) -> None:
    library = library_subjects()
    subjects = [program_subject(template("input_transform")), library["linear"], library["rbf-lengthscale-0.5"]]
    fits = fit_subjects(subjects, benchmark_named("bbo").episodes("train", 1))
    domain = KernelDomain({"train": fits}, 2, candidates=Candidates(tuple(subjects), 2, None, fits[0].mean[:, 0]))
    with Archive.create(tmp_path / "k.sqlite") as archive:
        run_campaign(archive, "cegar-kernels", domain, OfflineAuthor(), LoopOptions(most_calls=1, min_helped=1), 1)
    browser = CollisionBrowser(str(tmp_path / "k.sqlite"), domain)
    assert browser.message == "" and browser.loaded
    browser.operators = 0
    assert "Predictions on" in browser.compared.value and "the reference has" in browser.compared.value
    assert browser.compared.value.count("<img") == 2
    assert "a kernel of the library" in browser.compared.value or "def transform_point" in browser.compared.value
    browser.close()


def test_the_static_form_holds_classes_pair_pool_and_attempts(browser: CollisionBrowser) -> None:
    browser.slider.value = 0
    page = browser.static()
    text = repr(page)
    assert (
        "signature class" in text
        and "in order of admission" in text
        and "authoring call" in text
        and "Correct:" in text
    )
    assert "data:image/png" in page.html() and "display:flex" in page.html()
