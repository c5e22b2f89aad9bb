"""The author that is a language model: one conversation a run (:mod:`kernaut.authors.dialogue`), so that a run is a function of the brief and of the model's answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernaut.authors.author import Brief, Tools, Traits
from kernaut.authors.chat import ModelSettings
from kernaut.authors.dialogue import Bounds, Dialogue
from kernaut.authors.models import answering
from kernaut.authors.prompting import nudge, prompt, prompts_digest, run_prompt
from kernaut.authors.replies import clean
from kernaut.authors.toolbox import Toolbox
from kernaut.digest import content_id, thaw


@dataclass(frozen=True)
class ModelAuthor:
    """A language model as an author; see :class:`kernaut.authors.author.Author`.

    Args:
        settings: which model, and where.
        context: the task description.
        runs_at_once: how many of its runs may be under way together; each of them sees only what earlier ones closed.
    """

    settings: ModelSettings
    context: str = ""
    runs_at_once: int = 1
    traits: Traits = field(init=False)

    def __post_init__(self) -> None:
        options = {
            "model": self.settings.name,
            "extra_body": thaw(self.settings.extra_body),
            "prompts": prompts_digest(),
            "context": content_id(self.context),
        }
        object.__setattr__(self, "traits", Traits(converses=True, discovers=True, options=options))

    @property
    def name(self) -> str:
        """Provider and model."""
        return self.settings.name

    def write(self, brief: Brief, tools: Tools) -> str | None:
        """Hold one run's conversation.

        Returns:
            Why it ended before the model had finished; None when it said that it had.

        Raises:
            BudgetSpent: when the run's tool calls are spent.
            AllowanceSpent: when its tokens or its money are.
            ModelFailure: when the model gives no answer.
            ArchiveError: when the stored transcript is not one of this version.
        """
        with answering(self.settings) as model:
            dialogue = Dialogue(
                self.settings,
                model,
                Toolbox(tools, brief.max_tool_calls),
                tools,
                Bounds(brief.max_rounds, brief.tokens, brief.cost),
                nudge=nudge,
                name=f"run {brief.index}",
            )
            return dialogue.hold(
                ("system", lambda: prompt("system")), ("user", lambda: clean(run_prompt(brief, self.context)))
            )
