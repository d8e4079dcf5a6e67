"""What differs between the two versions of Claude Code that people run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """The facts of one version, as captured from it.

    `model` is SessionStart's word and `model_id` the transcript's. `question_waits_for` is the
    status file's `waitingFor` at a question. `modern` gathers what came between the two: the
    alternate screen, the pane in the status file, subagents that always run in the background,
    UserPromptSubmit at once for a prompt typed while busy.
    """

    number: str
    modern: bool
    model: str
    model_id: str
    model_name: str
    effort: str
    question_waits_for: str
    logo: tuple[str, str, str]

    @property
    def ai_agent(self) -> str:
        return f"claude-code_{self.number.replace('.', '-')}_harness"

    def permission_options(self, folder: str) -> tuple[str, ...]:
        """The lines of the permission dialog, the first approves and the last denies."""
        if not self.modern:
            return (
                "Yes",
                f"Yes, and always allow access to {folder.rstrip('/').rpartition('/')[2]}/"
                " from this project",
                "No",
            )
        return (
            "Yes",
            f"Yes, and always allow access to {folder} from this project",
            "Yes, and switch to auto mode · auto mode handles these prompts for you",
            "No",
        )


OLD = Version(
    number="2.1.197",
    modern=False,
    model="claude-opus-4-8[1m]",
    model_id="claude-opus-4-8",
    model_name="Opus 4.8 (1M context)",
    effort="high",
    question_waits_for="permission prompt",
    logo=(" ▐▛███▜▌  ", "▝▜█████▛▘ ", "  ▘▘ ▝▝   "),
)
NEW = Version(
    number="2.1.332",
    modern=True,
    model="claude-opus-5-5",
    model_id="claude-opus-5-5",
    model_name="Opus 5.5",
    effort="medium",
    question_waits_for="input needed",
    logo=(" ▐▛███▛█  ", "▝▜██████▀ ", " ▝▝   ▝▝  "),
)
VERSIONS = {version.number: version for version in (OLD, NEW)}
DEFAULT = NEW.number
