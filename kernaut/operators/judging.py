"""One request for an operator, and the judgement of one answer: what the loop does in each authoring call, and a person may do by hand.

An answer passes the rules of the source, then the gate; what the gate would admit must pass the screens, which cost more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from kernaut.errors import ProgramRefused
from kernaut.operators.admission import MIN_HELPED, Arm, consult, union
from kernaut.operators.authoring import Attempt, Request
from kernaut.operators.collisions import Collision
from kernaut.operators.domain import Domain
from kernaut.operators.judgement import Judgement
from kernaut.operators.records import Electorate, Operator, Verdicts


def request_for(
    electorate: Electorate,
    pool: Sequence[Verdicts],
    target: Collision | None,
    level: int,
    *,
    seed: int,
    attempts: Sequence[Attempt] = (),
    tried: Collection[str] = (),
) -> Request:
    """Ask for an operator that tells a collision's labels apart, or the candidates that the pool still misses.

    Args:
        electorate: the training electorate.
        pool: verdicts of the admitted operators.
        target: the collision; None in the arm without target.
        level: 1 or 2.
        seed: of this request.
        attempts: earlier attempts at this target.
        tried: identifiers of operators that were offered before.
    """
    candidates = electorate.candidates
    within = [place for place, seen in enumerate(electorate.visible) if seen]
    flagged = union(pool, len(candidates))
    missed = [p for p in within if not candidates[p].correct and not flagged[p]]
    asked = missed if target is None else list(target.incorrect)
    kinds = Counter(candidates[p].kind for p in asked)
    kind = min(kinds, key=lambda name: (-kinds[name], name)) if kinds else ""
    pair = None
    if target is not None:
        pair = (target.correct[0], next(p for p in target.incorrect if candidates[p].kind == kind))
    return Request(
        seed=seed,
        target="none" if target is None else target.digest,
        kind=kind,
        level=level,
        pair=pair,
        faulty=tuple(p for p in missed if candidates[p].kind == kind)
        or tuple(p for p in asked if candidates[p].kind == kind),
        correct=tuple(p for p in within if candidates[p].correct),
        attempts=tuple(attempts),
        tried=frozenset(tried),
        flagged=tuple(p for p in within if flagged[p]),
        members=() if target is None else (*target.correct, *target.incorrect),
    )


def judge(
    domain: Domain,
    electorate: Electorate,
    operator: Operator,
    pool: Sequence[Verdicts],
    target: Collision | None,
    request: Request,
    *,
    arm: Arm = "collision",
    min_helped: int = MIN_HELPED,
) -> Judgement:
    """Rules, gate and screens for one operator.

    Args:
        domain: gives verdicts and screens.
        electorate: the training electorate.
        operator: what somebody wrote.
        pool: verdicts of the admitted operators.
        target: the collision it was written for.
        request: what it answers.
        arm: which gate.
        min_helped: fewest tasks helped.
    """
    try:
        verdicts = domain.examine(operator, electorate)
    except ProgramRefused as refusal:
        return Judgement("refused", str(refusal))
    gate = consult(arm, electorate, pool, verdicts, target, request.faulty, min_helped)
    screens = tuple(domain.screen(operator, electorate, verdicts)) if gate.admitted else ()
    if screens:
        return Judgement("screened out", screens[0], verdicts, gate, screens)
    return Judgement("admitted" if gate.admitted else "not admitted", gate.reason, verdicts, gate)
