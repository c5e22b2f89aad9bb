"""What a language model is told: prompt files of this package, filled in for a run.

The files are ``prompts/system.md`` (for every run), ``prompts/run.md`` (task description, niche, parent, inspirations) and
``prompts/nudge.md`` (after an answer without a tool call).
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from string import Template

from kernaut.authors.author import Brief, Elite
from kernaut.digest import content_id

NAMES = ("system", "run", "nudge")


@lru_cache(maxsize=len(NAMES))
def prompt(name: str) -> str:
    """The text of a prompt file."""
    return (files("kernaut.authors") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def prompts_digest() -> str:
    """Identifier of all prompt files; campaigns with different ones are different campaigns."""
    return content_id([prompt(name) for name in NAMES])


def run_prompt(brief: Brief, context: str) -> str:
    """What one run is asked for.

    Args:
        brief: of the run.
        context: the task description.
    """
    parent = brief.parent
    origin = "Write a new root: no parents."
    if parent is not None:
        origin = f"Revise the parent below: change its structure, and name `{parent.program.id}` among your parents."
    novelty = "Novelty is not asked for: closure trees and revisions of parameters are welcome."
    if brief.discovery:
        novelty = (
            "Discoveries only: `closure` is refused, and so is a source that is accepted already with other parameters."
        )
    inputs = " ".join(coordinate.sentence() for coordinate in brief.coordinates) or "anonymous points of the unit cube."
    donors = "".join(_shown(elite) for elite in brief.inspirations)
    return (
        Template(prompt("run"))
        .substitute(
            context=context.strip() or "# Task\n\nWrite a kernel that predicts functions it has never seen.",
            niche=brief.niche,
            origin=origin,
            novelty=novelty,
            dimensions=", ".join(str(dimension) for dimension in brief.dimensions),
            inputs=inputs,
            rounds=brief.max_rounds,
            calls=brief.max_tool_calls,
            parent="" if parent is None else f"\n# Parent\n{_shown(parent)}",
            inspirations=f"\n# Inspirations, from other niches\n{donors}" if donors else "",
        )
        .strip()
    )


def nudge(reason: str) -> str:
    """What follows an answer without a tool call."""
    return Template(prompt("nudge")).substitute(reason=reason)


def _shown(elite: Elite) -> str:
    """A program as models read it."""
    program = elite.program
    ranges = {spec.name: spec.to_json() for spec in program.space}
    facts = f"score {elite.score:.4f}, elite score {elite.elite_score:.4f}, niche {elite.niche}, contract `{program.contract}`"
    parameters = json.dumps(program.to_json()["parameters"])
    return (
        f"\n`{program.id}` {program.name}: {facts}\n\nparameters {parameters}\n\nranges {json.dumps(ranges)}\n\n"
        f"```python\n{program.source.rstrip()}\n```\n"
    )
