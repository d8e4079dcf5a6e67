"""What the keys do: in a dialog, at the prompt, while busy."""

from __future__ import annotations

from tools.fake_agent.agent import Agent, Answer, Prompt, Request
from tools.fake_agent.payloads import Subagent
from tools.fake_agent.screen import Dialog


def press(agent: Agent, key: str) -> None:
    """One key, with the effect it has where the agent is now."""
    request = agent.shown
    if request is not None:
        _in_dialog(agent, request, key)
    elif key == "Esc":
        if agent.turning:
            agent.interrupt()
    elif key == "C-c":
        _ctrl_c(agent)
    elif key == "Enter":
        text, agent.view.input = agent.view.input, ""
        enter(agent, text)
    elif key == "Backspace":
        agent.view.input = agent.view.input[:-1]
    elif key == "C-u":
        agent.view.input = ""
    elif len(key) == 1:
        agent.view.input += key


def enter(agent: Agent, text: str) -> None:
    """A line is entered at the prompt: a prompt for the model, or a command of the program."""
    text = text.strip()
    word, _, rest = text.partition(" ")
    match word:
        case "":
            return
        case "/clear":
            agent.later(agent.clear())
        case "/exit" | "/quit":
            agent.later(agent.finish("prompt_input_exit"))
        case "/rename":
            rename(agent, rest)
        case "/compact":
            agent.later(compact(agent))
        case "/config" | "/model":
            agent.ask(_settings(word), "dialog open", notification=None)
        case _:
            agent.submit(Prompt(text))


def rename(agent: Agent, title: str) -> None:
    """`/rename`: the title is the user's from now on."""
    agent.session.title, agent.session.named = title, True
    agent.transcript.named(title)
    agent.registry.rewrite()


async def compact(agent: Agent) -> None:
    """`/compact`: no Stop at its end; a SubagentStop without a type, 2.1.332 has two of them."""
    agent.turning = True
    agent.refresh()
    await agent.fire("PreCompact", trigger="manual", custom_instructions=None)
    for _ in range(2 if agent.session.version.modern else 1):
        await agent.fire(
            "SubagentStop",
            Subagent("acompact0000000", ""),
            stop_hook_active=False,
            agent_transcript_path=str(agent.session.agent_transcript("acompact0000000")),
            last_assistant_message="",
            background_tasks=agent.background_tasks(),
            session_crons=[],
        )
    await agent.fire("SessionStart", source="compact")
    await agent.fire("PostCompact", trigger="manual", compact_summary="A summary.")
    agent.turn_over()


def deny(agent: Agent, request: Request) -> None:
    """Say no without a word, as Esc does."""
    agent.answer(request, Answer(False, request.denies))


def approve(agent: Agent, request: Request) -> None:
    """Say yes by the first option that does."""
    choose(agent, request, 1 if request.denies == 0 else 0)


def choose(agent: Agent, request: Request, option: int) -> None:
    """Take one option of a dialog, by its number from 0."""
    yes = option != request.denies
    if request.dialog.kind == "question":
        yes = option < len(request.dialog.options) - 2
    agent.answer(request, Answer(yes, option, request.dialog.typed))


def _in_dialog(agent: Agent, request: Request, key: str) -> None:
    dialog = request.dialog
    if key == "Esc":
        deny(agent, request)
    elif dialog.kind == "local":
        return
    elif dialog.kind == "form" or dialog.typed or _amending(dialog):
        _type_into(agent, request, key)
    elif key == "Enter":
        choose(agent, request, dialog.cursor)
    elif key in ("Up", "Down"):
        dialog.cursor = (dialog.cursor + (1 if key == "Down" else -1)) % len(dialog.options)
    elif key == "Tab" and dialog.cursor == request.denies:
        dialog.footer = AMEND
    elif dialog.numbered and key.isdecimal() and 0 < int(key) <= len(dialog.options):
        choose(agent, request, int(key) - 1)
    elif key == "y":
        approve(agent, request)
    elif key == "n":
        deny(agent, request)


AMEND = "Enter to send the reason · Esc to cancel"


def _amending(dialog: Dialog) -> bool:
    return dialog.footer == AMEND


def _type_into(agent: Agent, request: Request, key: str) -> None:
    dialog = request.dialog
    if key == "Enter":
        agent.answer(request, Answer(dialog.kind == "form", dialog.cursor, dialog.typed))
    elif key == "Backspace":
        dialog.typed = dialog.typed[:-1]
    elif len(key) == 1:
        dialog.typed += key


def _ctrl_c(agent: Agent) -> None:
    if agent.turning:
        agent.interrupt()
    elif agent.view.input:
        agent.view.input = ""
    elif agent.ctrl_c():
        agent.later(agent.finish("prompt_input_exit"))


def _settings(word: str) -> Dialog:
    heading = "Settings" if word == "/config" else "Select model"
    return Dialog("local", heading, ["  Auto-compact    true"], ["Done"], footer="Esc to cancel")
