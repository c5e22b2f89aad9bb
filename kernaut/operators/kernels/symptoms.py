"""Symptoms of fitted kernels, and operators written by hand from them: level 1 reads one fit, level 2 compares peers and refits them on part of the data."""

from __future__ import annotations

from kernaut.operators.records import Operator
from kernaut.operators.symptoms import Side, Symptom, Threshold, operator_of

_Z = '    z = [(y - m) / s for y, m, s in zip(task["targets"], candidate["loo_mean"], candidate["loo_sd"])]\n'
_PEERS = '    peers = [p for p in ctx.peers if p["place"] != candidate["place"]]\n'


def _one(name: str, words: str, body: str, *imports: str) -> Symptom:
    return Symptom(name, words, 1, f"def {name}(task, candidate):\n{body}", imports)


def _many(name: str, words: str, body: str, *imports: str) -> Symptom:
    return Symptom(name, words, 2, f"def {name}(task, candidate, ctx):\n{body}", imports)


READING = (
    _one(
        "likelihood",
        "log marginal likelihood a fitting point",
        '    return max(candidate["log_likelihood"]) / len(task["targets"])\n',
    ),
    _one("amplitude", "signal variance", '    return candidate["amplitude"]\n'),
    _one("noise", "noise variance", '    return candidate["noise"]\n'),
    _one("log_condition", "log10 of the condition number", '    return math.log10(candidate["condition"])\n', "math"),
    _one(
        "surprise",
        "mean squared leave-one-out residual in standard deviations",
        _Z + "    return sum(v * v for v in z) / len(z)\n",
    ),
    _one(
        "worst_surprise",
        "largest leave-one-out residual in standard deviations",
        _Z + "    return max(abs(v) for v in z)\n",
    ),
    _one(
        "miscover",
        "share of leave-one-out residuals beyond 1.96 standard deviations",
        _Z + "    return sum(abs(v) > 1.96 for v in z) / len(z)\n",
    ),
    _one(
        "loo_error",
        "root mean squared leave-one-out error",
        '    e = [(y - m) ** 2 for y, m in zip(task["targets"], candidate["loo_mean"])]\n    return math.sqrt(sum(e) / len(e))\n',
        "math",
    ),
    _one(
        "loo_density",
        "mean leave-one-out log density",
        _Z + '    return sum(-0.5 * v * v - math.log(s) for v, s in zip(z, candidate["loo_sd"])) / len(z)\n',
        "math",
    ),
    _one(
        "caution",
        "mean predictive standard deviation at the query inputs",
        '    return sum(candidate["sd"]) / len(candidate["sd"])\n',
    ),
    _one(
        "least_caution",
        "smallest predictive standard deviation at the query inputs",
        '    return min(candidate["sd"])\n',
    ),
    _one(
        "movement",
        "standard deviation of the predictive means at the query inputs",
        '    return statistics.pstdev(candidate["mean"])\n',
        "statistics",
    ),
    _one(
        "overshoot",
        "largest predictive mean beyond the fitting targets' range, as a share of it",
        '    low, high = min(task["targets"]), max(task["targets"])\n'
        '    return max(max(candidate["mean"]) - high, low - min(candidate["mean"])) / (high - low + 1e-9)\n',
    ),
    _one(
        "sharpness_gap",
        "leave-one-out standard deviation at fitting points against that at query inputs",
        '    inner = sum(candidate["loo_sd"]) / len(candidate["loo_sd"])\n    return inner / (sum(candidate["sd"]) / len(candidate["sd"]))\n',
    ),
)

_RANK = """    own = {value}
    others = [{other} for p in peers]
    return sum(o > own for o in others) / len(others) if others else None
"""
_DENSITY = """
    def density(p):
        z = [(y - m) / s for y, m, s in zip(task["targets"], p["loo_mean"], p["loo_sd"])]
        return sum(-0.5 * v * v - math.log(s) for v, s in zip(z, p["loo_sd"])) / len(z)

"""
_FOLDS = """
    n = len(task["targets"])

    def error(p):
        total = 0.0
        for fold in range(3):
            at = [i for i in range(n) if i % 3 == fold][:10]
            keep = [i for i in range(n) if i % 3 != fold]
            for i, (mean, sd) in zip(at, ctx.predict(p, keep, at)):
                z = (task["targets"][i] - mean) / sd
                density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
                total += sd * (z * math.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi))
        return total / min(n, 30)

"""

COMPARING = (
    _many(
        "likelihood_gap",
        "distance to the best peer's log marginal likelihood [nats]",
        _PEERS
        + '    return max([max(p["log_likelihood"]) for p in peers], default=0.0) - max(candidate["log_likelihood"])\n',
    ),
    _many(
        "likelihood_rank",
        "share of peers with a larger marginal likelihood",
        _PEERS + _RANK.format(value='max(candidate["log_likelihood"])', other='max(p["log_likelihood"])'),
    ),
    _many(
        "density_rank",
        "share of peers with a larger leave-one-out log density",
        _PEERS + _DENSITY + _RANK.format(value="density(candidate)", other="density(p)"),
        "math",
    ),
    _many(
        "dissent",
        "mean distance from the peers' median prediction, in its own standard deviations",
        _PEERS
        + """    total = 0.0
    for j, (mean, sd) in enumerate(zip(candidate["mean"], candidate["sd"])):
        total += abs(mean - statistics.median(p["mean"][j] for p in peers)) / sd
    return total / len(candidate["mean"]) if peers else None
""",
        "statistics",
    ),
    _many(
        "distance",
        "mean distance from the mean prediction of the five likeliest peers",
        _PEERS
        + """    best = sorted(peers, key=lambda p: -max(p["log_likelihood"]))[:5]
    gaps = [abs(m - sum(p["mean"][j] for p in best) / len(best)) for j, m in enumerate(candidate["mean"])]
    return sum(gaps) / len(gaps) if best else None
""",
    ),
    _many(
        "relative_caution",
        "predictive standard deviation as a multiple of the peers' median",
        _PEERS
        + """    own = sum(candidate["sd"]) / len(candidate["sd"])
    others = [sum(p["sd"]) / len(p["sd"]) for p in peers]
    return own / statistics.median(others) if others else None
""",
        "statistics",
    ),
    _many(
        "fold_error",
        "CRPS on thirds of the fitting points after a refit on the others",
        _FOLDS.replace("\n", "", 1) + "    return error(candidate)\n",
        "math",
    ),
    _many(
        "fold_excess",
        "CRPS after refits on thirds of the data as a multiple of the median of likely peers",
        _PEERS
        + '    peers = sorted(peers, key=lambda p: -max(p["log_likelihood"]))[:16]'
        + _FOLDS
        + "    others = [error(p) for p in peers]\n    return error(candidate) / statistics.median(others) if others else None\n",
        "math",
        "statistics",
    ),
)
SYMPTOMS = READING + COMPARING
_BY_NAME = {symptom.name: symptom for symptom in SYMPTOMS}


def _by_hand(name: str, side: Side, bound: float) -> Operator:
    return operator_of((Threshold(_BY_NAME[name], side, bound),), "hand")


HAND_WRITTEN = (
    _by_hand("surprise", "above", 2.0),
    _by_hand("worst_surprise", "above", 4.0),
    _by_hand("miscover", "above", 0.25),
    _by_hand("log_condition", "above", 6.0),
    _by_hand("overshoot", "above", 1.0),
    _by_hand("likelihood_gap", "above", 6.0),
    _by_hand("likelihood_rank", "above", 0.8),
    _by_hand("density_rank", "above", 0.8),
    _by_hand("dissent", "above", 1.5),
    _by_hand("fold_excess", "above", 1.5),
)
"""Five that read one fit, five that compare."""
