"""`play`: one agent in this terminal."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from tools.fake_agent import person, title
from tools.fake_agent.agent import Agent, Pace, Prompt
from tools.fake_agent.director import Director, Impossible, serve
from tools.fake_agent.hooks import Hooks
from tools.fake_agent.registry import Registry
from tools.fake_agent.screen import Terminal
from tools.fake_agent.script import STEPS, BadStep, Step, parse_steps
from tools.fake_agent.session import Session, config_dir
from tools.fake_agent.transcript import Transcript
from tools.fake_agent.turn import take_turn
from tools.fake_agent.versions import DEFAULT, VERSIONS


def parser() -> argparse.ArgumentParser:
    steps = "\n".join(f"  {word:20}{hint:12} {does}" for word, (hint, does) in STEPS.items())
    made = argparse.ArgumentParser(
        prog="fake_agent play",
        description="Play one agent in this terminal. Keys work as in the real one.",
        epilog=f"steps:\n{steps}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", choices=sorted(VERSIONS), default=DEFAULT)
    made.add_argument("--session-id", metavar="ID", help="default: a new one")
    made.add_argument("--resume", metavar="ID", help="go on with that session")
    made.add_argument("--name", metavar="TITLE", help="a title given by the user")
    made.add_argument("--script", metavar="FILE", help="steps to perform, one a line")
    made.add_argument("--steps", metavar="STEPS", help="the same, with ; between them")
    made.add_argument("--control", metavar="PATH", help="a Unix socket that takes steps")
    made.add_argument("--print", metavar="PROMPT", dest="headless", help="a headless run (-p)")
    made.add_argument("--job", metavar="ID", help="a background session: hooks know no pane")
    made.add_argument("--permission-mode", default="default")
    made.add_argument(
        "--emit", metavar="PATH", help="trailboss-emit, if settings.json has no hooks"
    )
    made.add_argument("--no-hooks", action="store_true")
    made.add_argument("--no-registry", action="store_true", help="no status file")
    made.add_argument("--no-transcript", action="store_true")
    made.add_argument("--think", type=float, default=0.01, metavar="S", help="the model's pause")
    made.add_argument("--notify-after", type=float, default=6.0, metavar="S")
    made.add_argument("--idle-after", type=float, default=60.0, metavar="S")
    made.add_argument("prompt", nargs="?", help="a first prompt")
    return made


def main(argv: Sequence[str]) -> int:
    """Run until the session ends. 0; 2 for a script that cannot be read."""
    options = parser().parse_args(argv)
    try:
        steps = _script(options)
    except (BadStep, OSError) as error:
        print(f"fake_agent: {error}", file=sys.stderr)
        return 2
    shown = ["claude"]
    if options.headless is not None:
        shown += ["-p", options.headless]
    elif options.resume or options.session_id:
        shown += ["--resume" if options.resume else "--session-id"]
        shown += [options.resume or options.session_id]
    title.become(shown)
    return asyncio.run(_live(options, steps))


def _script(options: argparse.Namespace) -> list[Step]:
    text = Path(options.script).read_text("utf-8") if options.script else ""
    return parse_steps(text) + parse_steps(options.steps or "")


def build(options: argparse.Namespace) -> Agent:
    """The agent of these options, not yet started."""
    session = Session(
        version=VERSIONS[options.version],
        config=config_dir(),
        cwd=os.getcwd(),
        id=options.resume or options.session_id or str(uuid.uuid4()),
        entrypoint="cli" if options.headless is None else "sdk-cli",
        job=options.job,
        permission_mode=options.permission_mode,
        title=options.name,
        named=options.name is not None,
    )
    terminal = Terminal(alternate=session.version.modern)
    if options.headless is not None:
        terminal.live = terminal.reads = False
    return Agent(
        session,
        Hooks(session, options.emit, not options.no_hooks),
        Transcript(session, not options.no_transcript),
        Registry(session, not options.no_registry),
        terminal,
        Pace(options.think, options.notify_after, options.idle_after),
        take_turn,
        person.press,
    )


async def _live(options: argparse.Namespace, steps: list[Step]) -> int:
    agent = build(options)
    if options.headless is not None:
        return await _headless(agent, options.headless)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, lambda: agent.later(agent.finish("other")))
    loop.add_signal_handler(signal.SIGWINCH, agent.redraw)
    loop.add_signal_handler(signal.SIGCONT, agent.resume)
    loop.add_signal_handler(signal.SIGINT, lambda: agent.press("C-c"))
    await agent.start("resume" if options.resume else "startup")
    if agent.terminal.reads:
        loop.add_reader(0, agent.read_terminal)
    ticking = asyncio.create_task(_tick(agent))
    director = Director(agent)
    server = await serve(director, options.control) if options.control else None
    if options.prompt:
        person.enter(agent, options.prompt)
    playing = asyncio.create_task(_play(director, steps))
    code = await agent.finished
    await agent.settle()
    for task in (ticking, playing):
        task.cancel()
    if server is not None:
        server.close()
        Path(options.control).unlink(missing_ok=True)
    return code


async def _play(director: Director, steps: list[Step]) -> None:
    """The script; a step that fails is shown in the conversation and ends it."""
    for step in steps:
        try:
            await director.perform(step)
        except (BadStep, Impossible, TimeoutError) as error:
            director.agent.view.say(f"script: {step.word}: {error or 'no rest'}")
            director.agent.redraw()
            return


async def _tick(agent: Agent) -> None:
    """The spinner's clock."""
    while True:
        await asyncio.sleep(0.5)
        if agent.turning:
            agent.redraw()


async def _headless(agent: Agent, prompt: str) -> int:
    """`-p`: the same hooks, no dialog, the answer on standard output."""
    agent.registry.open()
    await agent.fire("SessionStart", source="startup")
    agent.submit(Prompt(prompt))
    await agent.until(lambda: not agent.turning and not agent.queued, 600)
    await agent.settle()
    print(agent.view.blocks[-2].removeprefix("● ") if len(agent.view.blocks) > 1 else "")
    await agent.finish("other")
    return 0
