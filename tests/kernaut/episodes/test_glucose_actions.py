from __future__ import annotations

from kernaut.episodes.glucose_actions import PATIENTS, menu, sealed_actions, training_actions


def test_actions_that_differ_only_in_the_delay_of_a_zero_bolus_count_once() -> None:
    actions = menu()
    assert len(actions) == len(set(actions)) == 3 * 3 * (1 + 3 * 3)
    assert all(action.bolus_minute == action.meal_minute for action in actions if action.bolus_u == 0.0)
    assert all(0.0 <= a.meal_minute <= a.bolus_minute < 360.0 for a in actions)


def test_every_patient_has_two_passive_and_four_other_actions() -> None:
    for patient in (p for group in PATIENTS.values() for p in group):
        actions = training_actions(patient)
        assert len(set(actions)) == 6
        assert all(action.bolus_u == 0.0 for action in actions[:2])
        assert actions == training_actions(patient)
    assert training_actions("child#001") != training_actions("child#002")


def test_hidden_actions_are_twelve_that_were_not_exported() -> None:
    for patient in PATIENTS["test"]:
        hidden = sealed_actions(patient)
        assert len(set(hidden)) == 12
        assert not set(hidden) & set(training_actions(patient))
