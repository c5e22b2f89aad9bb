"""The eleven tools of a language model: each a typed function whose signature is its schema (:mod:`kernaut.authors.toolbox`).

The first argument is the run's tool session; the others are what the model writes.  What comes back is JSON.  Errors are raised as
everywhere; the toolbox turns them into JSON that a model can act on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kernaut.authors.author import Submission, Tools, Tuned
from kernaut.program.contracts import CONTRACTS
from kernaut.program.formulation import FEATURE_GROWTHS, NICHES, Formulation
from kernaut.program.program import KernelProgram, program_from_json

MOST_GRADIENT_STEPS = 100
MOST_LISTED = 50


def _parsed(value: Any) -> Any:
    """Models often write an object as JSON text within JSON."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


class ParameterRange(BaseModel):
    """The range of one tunable parameter."""

    model_config = ConfigDict(extra="forbid")

    type: Annotated[str, Field(description="float, int or categorical.")] = "float"
    scale: Annotated[str, Field(description="linear or log (numbers above 0).")] = "linear"
    lower: Annotated[float | None, Field(description="Smallest value.")] = None
    upper: Annotated[float | None, Field(description="Largest value.")] = None
    choices: Annotated[list[Any] | None, Field(description="Values of a categorical parameter, at least two.")] = None


Name = Annotated[str, Field(description="Letters, digits, _ and -, beginning with a letter; at most 80.")]
ContractName = Annotated[
    str, Field(description="The contract the source is written to.", json_schema_extra={"enum": list(CONTRACTS)})
]
Source = Annotated[str, Field(description="The whole Python source, which defines the contract's entry point.")]
Values = Annotated[
    dict[str, Any],
    BeforeValidator(_parsed),
    Field(description="A value for every parameter that the source reads, by name."),
]
Ranges = Annotated[
    dict[str, ParameterRange],
    BeforeValidator(_parsed),
    Field(description="Ranges of the parameters to tune, at most 12, by name."),
]
Parents = Annotated[
    list[str],
    BeforeValidator(_parsed),
    Field(description="Identifiers of the accepted programs that this one revises or combines; empty for a new root."),
]
Rationale = Annotated[str, Field(description="A sentence or two on the idea.")]
Niche = Annotated[str, Field(description="The construction niche.", json_schema_extra={"enum": list(NICHES)})]
Growth = Annotated[
    str,
    Field(
        description="How the number of features grows with the input dimension.",
        json_schema_extra={"enum": list(FEATURE_GROWTHS)},
    ),
]


def propose_formulation(
    tools: Tools,
    mathematical_form: Annotated[str, Field(description="The kernel as a formula, its symbols explained.")],
    psd_argument: Annotated[str, Field(description="Why every Gram matrix is positive semidefinite.")],
    novelty_claim: Annotated[str, Field(description="What is new in it.")],
    closest_known_kernel: Annotated[str, Field(description="The closest kernel that is known.")],
    expected_bo_behavior: Annotated[str, Field(description="How it will predict, and guide an optimization.")],
    construction_niche: Niche,
    equivalence_analysis: Annotated[str, Field(description="Why it is not that known kernel in other clothes.")],
    optimized_parameters: Annotated[str, Field(description="Which parameters are tuned, and why in those ranges.")],
    domain_scale_analysis: Annotated[str, Field(description="Which scales of the inputs it resolves.")],
    irrelevant_coordinate_mechanism: Annotated[str, Field(description="What becomes of inputs that do not matter.")],
    cross_coordinate_mechanism: Annotated[str, Field(description="How inputs interact.")],
    falsification_test: Annotated[str, Field(description="What would show the idea to be wrong.")],
    feature_growth: Growth,
    expected_conditioning: Annotated[str, Field(description="How well conditioned its matrices will be.")],
) -> Mapping[str, Any]:
    """State what the next program will be, before you write any source: fourteen fields."""
    stated = {name: value for name, value in locals().items() if name != "tools"}
    tools.propose_formulation(Formulation(**stated))
    return {"noted": True, "next": "stage_candidate, or submit_candidate"}


def stage_candidate(
    tools: Tools,
    name: Name,
    contract: ContractName,
    source: Source,
    parameters: Values | None = None,
    parameter_space: Ranges | None = None,
    parents: Parents | None = None,
    rationale: Rationale = "",
) -> Mapping[str, Any]:
    """Screen a program's source and make it the staged one, to be verified and tuned before it is submitted."""
    staged = tools.stage_candidate(_program(name, contract, source, parameters, parameter_space, parents, rationale))
    return {"draft": staged.draft_index, "candidate_id": staged.program.id, "next": "verify_staged_candidate"}


def verify_staged_candidate(tools: Tools) -> Mapping[str, Any]:
    """Check the staged program: does it run, is it symmetric and positive semidefinite, does it keep to its contract."""
    return _verdict(tools.verify_staged_candidate())


def evaluate_parameters(tools: Tools, values: Values) -> Mapping[str, Any]:
    """Score the staged program at one setting of its parameters, on a few meta-training episodes; its own setting stays."""
    return _tuned(tools.evaluate_parameters(values))


def optimize_parameters(
    tools: Tools,
    trials: Annotated[int, Field(ge=1, le=64, description="Settings to try over the declared ranges.")] = 16,
    gradient_steps: Annotated[
        int, Field(ge=0, le=MOST_GRADIENT_STEPS, description="Steps from the best of them; torch sources only.")
    ] = 20,
) -> Mapping[str, Any]:
    """Tune the staged program within its declared ranges on meta-training episodes; it keeps the best setting."""
    return _tuned(tools.optimize_parameters(trials, gradient_steps))


def submit_staged_candidate(tools: Tools) -> Mapping[str, Any]:
    """Submit the staged program with its tuned parameters: it is verified, scored and, if accepted, kept."""
    return _submitted(tools.submit_staged_candidate())


def submit_candidate(
    tools: Tools,
    name: Name,
    contract: ContractName,
    source: Source,
    parameters: Values | None = None,
    parameter_space: Ranges | None = None,
    parents: Parents | None = None,
    rationale: Rationale = "",
) -> Mapping[str, Any]:
    """Submit a program as it stands, without tuning: it is verified, scored and, if accepted, kept."""
    program = _program(name, contract, source, parameters, parameter_space, parents, rationale)
    return _submitted(tools.submit_candidate(program))


def verify_candidate(
    tools: Tools, name: Name, contract: ContractName, source: Source, parameters: Values | None = None
) -> Mapping[str, Any]:
    """Check a program without staging it, for instance an auxiliary idea."""
    return _verdict(tools.verify_candidate(_program(name, contract, source, parameters)))


def evaluate_candidate(
    tools: Tools, name: Name, contract: ContractName, source: Source, parameters: Values | None = None
) -> Mapping[str, Any]:
    """Score a program on the meta-training episodes by family, beside the references, without keeping it."""
    return tools.evaluate_candidate(_program(name, contract, source, parameters))


def inspect_candidate(
    tools: Tools, candidate_id: Annotated[str, Field(description="Its identifier, 16 hexadecimal digits.")]
) -> Mapping[str, Any]:
    """One accepted program in full: source, parameters, ranges, parents and scores."""
    return tools.inspect_candidate(candidate_id)


def query_archive(
    tools: Tools,
    niche: Annotated[str | None, Field(description="Only this construction niche.")] = None,
    contract: Annotated[str | None, Field(description="Only this contract.")] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED, description="Most programs to list.")] = 10,
) -> Mapping[str, Any]:
    """Accepted programs with their meta-training scores, the best first, and the references to beat."""
    return tools.query_archive(niche, contract, limit)


FUNCTIONS = (
    propose_formulation,
    stage_candidate,
    verify_staged_candidate,
    evaluate_parameters,
    optimize_parameters,
    submit_staged_candidate,
    submit_candidate,
    verify_candidate,
    evaluate_candidate,
    inspect_candidate,
    query_archive,
)
"""The tools, in the order that a model is shown them."""


def _program(
    name: str,
    contract: str,
    source: str,
    parameters: Mapping[str, Any] | None,
    ranges: Mapping[str, ParameterRange] | None = None,
    parents: list[str] | None = None,
    rationale: str = "",
) -> KernelProgram:
    return program_from_json(
        {
            "name": name,
            "contract": contract,
            "source": source,
            "parameters": parameters or {},
            "parameter_space": {key: spec.model_dump(exclude_none=True) for key, spec in (ranges or {}).items()},
            "parents": parents or [],
            "rationale": rationale,
        },
        "the candidate",
    )


def _verdict(evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    """Evidence without the numbers behind checks that held."""
    failed = [check for check in evidence["checks"] if not check["passed"]]
    return {
        "candidate_id": evidence["candidate_id"],
        "accepted": evidence["accepted"],
        "tier": evidence["tier"],
        "passed": [check["name"] for check in evidence["checks"] if check["passed"]],
        "failed": [{"check": check["name"], "detail": check["detail"]} for check in failed],
    }


def _tuned(tuned: Tuned) -> Mapping[str, Any]:
    return {
        "fitness": tuned.fitness,
        "meaning": "minus mean CRPS on meta-training tuning episodes, minus 0.001 log(1 + tunable parameters); larger is better",
        "settings_tried": tuned.trials,
        "parameters": {spec.name: tuned.program.parameters[spec.name] for spec in tuned.program.space},
        **({"reason": tuned.reason} if tuned.reason is not None else {}),
    }


def _submitted(submission: Submission) -> Mapping[str, Any]:
    record: dict[str, Any] = {"candidate_id": submission.program_id, "accepted": submission.accepted}
    if not submission.accepted:
        return record | {"reason": submission.reason}
    return record | {
        "score": submission.score,
        "elite_score": submission.elite_score,
        "novelty_band": submission.novelty_band,
    }
