"""Our hooks in Claude Code's settings.json: pure functions from text to text.

What each event means is the adapter's; here is which ones are asked for. All names are known to
2.1.197: a newer version opens a warning screen for a name it does not know, before the session
exists. No matcher is written, since a group without one is for every tool and every source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trailboss.adapters.claude import HOOK_EVENTS
from trailboss.install import command, jsonedit
from trailboss.install.files import Refused
from trailboss.install.jsonedit import Item

#: Seconds until Claude Code gives a hook up. Ours takes milliseconds; this is for a stalled disk.
TIMEOUT_S = 5

#: Asynchronous hooks are free, but those of a run that ends at once are lost (captures 36b):
#: only the event that comes with every tool call, and that no other event depends on, is one.
ASYNC = frozenset(("PostToolUse",))

EVENTS = HOOK_EVENTS


def entry(emitter: str, event: str) -> dict[str, Any]:
    """The hook of one event, as its group's `hooks` hold it."""
    made: dict[str, Any] = {
        "type": "command",
        "command": command.hook(emitter, "claude", event),
        "timeout": TIMEOUT_S,
    }
    if event in ASYNC:
        made["async"] = True
    return made


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in an event's list a hook of ours is; `for_all`: its group is for every tool."""

    group_index: int
    entries_at: int
    entry_index: int
    emitter: str
    for_all: bool


@dataclass(frozen=True, slots=True)
class Site:
    """One hook of ours in the text: the containers it is in and its indices there.

    It `counts` when Claude Code reads it (of a repeated key the last) and runs it for every tool.
    """

    root_index: int
    hooks_at: int
    event: str
    event_index: int
    groups_at: int
    spot: Spot
    counts: bool


def install(text: str, emitter: str) -> str:
    """The settings with our hooks, each other byte as it was. Raises Refused.

    What is ours already is brought up to date where it stands.
    """
    if not text.strip():
        text = "{}\n"
    before = check(text)
    done = _drop_strays(text)
    style = jsonedit.layout(text)
    at = jsonedit.root(done)
    if (hooks := jsonedit.member(done, at, "hooks")) is None:
        groups = {event: [{"hooks": [entry(emitter, event)]}] for event in EVENTS}
        done = jsonedit.add(done, at, groups, style, "hooks")
    else:
        for event in EVENTS:
            done = _put(done, hooks.at, event, entry(emitter, event), style)
    _check_result(before, done)
    return done


def _put(
    text: str, hooks_at: int, event: str, wanted: dict[str, Any], style: jsonedit.Layout
) -> str:
    """One event's hook made as wanted: changed where it stands, or in a group of its own."""
    group = {"hooks": [wanted]}
    groups = jsonedit.member(text, hooks_at, event)
    if groups is None:
        return jsonedit.add(text, hooks_at, [group], style, event)
    if (spot := next(_spots(text, groups), None)) is not None:
        return _renew(text, spot, wanted, style)
    return jsonedit.add(text, groups.at, group, style)


def _renew(text: str, spot: Spot, wanted: dict[str, Any], style: jsonedit.Layout) -> str:
    at = jsonedit.items(text, spot.entries_at)[spot.entry_index].at
    for key, value in wanted.items():
        item = jsonedit.member(text, at, key)
        if item is None:
            text = jsonedit.add(text, at, value, style, key)
        elif text[item.at : item.end] != jsonedit.scalar(value):
            text = jsonedit.replace(text, item, value)
    if "async" not in wanted:
        for index, item in reversed(list(enumerate(jsonedit.items(text, at)))):
            if item.key == "async":
                text = jsonedit.drop(text, at, index)
    return text


def _drop_strays(text: str) -> str:
    """The text without those of ours that will not do: of an event not asked for, a second one,
    or one that does not count."""
    while True:
        seen: set[str] = set()
        for site in sites(text):
            if site.event not in EVENTS or site.event in seen or not site.counts:
                text = _drop(text, site, keep_events=frozenset(EVENTS), keep_hooks=True)
                break
            seen.add(site.event)
        else:
            return text


def uninstall(text: str, original: str | None = None) -> str:
    """The settings without our hooks. Raises Refused.

    `original` is the text before we came: if nothing else was touched since, that is the answer.
    What is empty without our hooks goes too, unless it had it.
    """
    before = check(text)
    first = next(sites(text), None)
    if first is None:
        return text
    if original is not None and install(original, first.spot.emitter) == text:
        return original
    keep_events: frozenset[str] = frozenset()
    keep_hooks = False
    if original is not None and original.strip():
        old = jsonedit.check(original)
        keep_hooks = isinstance(old, dict) and isinstance(old.get("hooks"), dict)
        keep_events = frozenset(old["hooks"]) if keep_hooks else keep_events
    while (site := next(sites(text), None)) is not None:
        text = _drop(text, site, keep_events, keep_hooks)
    _check_result(before, text)
    return text


def _drop(text: str, site: Site, keep_events: frozenset[str], keep_hooks: bool) -> str:
    """Without this hook, and without the group, event and `hooks` that only it was in."""
    root = jsonedit.root(text)
    if len(jsonedit.items(text, site.spot.entries_at)) > 1:
        return jsonedit.drop(text, site.spot.entries_at, site.spot.entry_index)
    if len(jsonedit.items(text, site.groups_at)) > 1 or site.event in keep_events:
        return jsonedit.drop(text, site.groups_at, site.spot.group_index)
    events = jsonedit.items(text, site.hooks_at)
    # Of a repeated key the last counts: dropping it would bring the one before to life.
    if sum(item.key == site.event for item in events) > 1:
        return jsonedit.drop(text, site.groups_at, site.spot.group_index)
    repeated = sum(item.key == "hooks" for item in jsonedit.items(text, root)) > 1
    if len(events) > 1 or keep_hooks or repeated:
        return jsonedit.drop(text, site.hooks_at, site.event_index)
    return jsonedit.drop(text, root, site.root_index)


def sites(text: str) -> Iterator[Site]:
    """Each hook of ours, in the order of the text. What has another shape is passed over."""
    at = jsonedit.root(text)
    for root_index, hooks in enumerate(jsonedit.items(text, at)):
        if hooks.key != "hooks" or text[hooks.at] != "{":
            continue
        live = jsonedit.member(text, at, "hooks") == hooks
        for event_index, event in enumerate(jsonedit.items(text, hooks.at)):
            name = event.key or ""
            counts = live and jsonedit.member(text, hooks.at, name) == event
            for spot in _spots(text, event):
                counts_here = counts and spot.for_all
                yield Site(root_index, hooks.at, name, event_index, event.at, spot, counts_here)


def _spots(text: str, event: Item) -> Iterator[Spot]:
    if text[event.at] != "[" or command.EMITTER not in text[event.at : event.end]:
        return
    for group_index, group in enumerate(jsonedit.items(text, event.at)):
        if (entries := _entries(text, group)) is None:
            continue
        for_all = jsonedit.load(text, group).get("matcher") in (None, "", "*", ".*")
        for entry_index, item in enumerate(jsonedit.items(text, entries.at)):
            if (emitter := _ours(jsonedit.load(text, item))) is not None:
                yield Spot(group_index, entries.at, entry_index, emitter, for_all)


def _entries(text: str, group: Item) -> Item | None:
    if text[group.at] != "{":
        return None
    found = jsonedit.member(text, group.at, "hooks")
    return found if found is not None and text[found.at] == "[" else None


def _ours(value: Any) -> str | None:
    if not isinstance(value, dict) or value.get("type", "command") != "command":
        return None
    line = value.get("command")
    return command.emitter_of(line, "claude") if isinstance(line, str) else None


def check(text: str) -> dict[str, Any]:
    """The settings' value. Raises Refused, with what is wrong, where they are no settings."""
    try:
        value = jsonedit.check(text)
    except jsonedit.Invalid as error:
        raise Refused(f"it is not valid JSON ({error}): mend it and run this again") from None
    if not isinstance(value, dict):
        raise Refused("it is not a JSON object: mend it and run this again")
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise Refused('its "hooks" is not an object: mend it and run this again')
    for event in EVENTS:
        if not isinstance(hooks.get(event, []), list):
            raise Refused(f'its "hooks" has a {event} that is no list: mend it and run this again')
    return value


def mentions(text: str) -> list[str]:
    """The events that have a command which calls the emitter but is the person's own."""
    hooks = check(text).get("hooks", {})
    return [
        event
        for event, groups in hooks.items()
        for each in _commands(groups)
        if command.EMITTER in each and command.emitter_of(each, "claude") is None
    ]


def _commands(groups: Any) -> Iterator[str]:
    for group in groups if isinstance(groups, list) else []:
        held = group.get("hooks") if isinstance(group, dict) else None
        for each in held if isinstance(held, list) else []:
            if isinstance(each, dict) and isinstance(each.get("command"), str):
                yield each["command"]


def holds_all(text: str, old: str) -> bool:
    """Whether nothing that `old` holds, but our hooks, is missing from the settings or changed."""
    return _is_part(_foreign(check(old)), check(text))


def _is_part(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and _is_part(value, new[key]) for key, value in old.items())
    return bool(old == new)


def _check_result(before: dict[str, Any], text: str) -> None:
    """A last look, by another way than the edits: everything that is not ours is as it was."""
    if _foreign(jsonedit.check(text)) != _foreign(before):
        raise Refused("the edit would have changed more than our hooks; please report this")


def _foreign(value: dict[str, Any]) -> dict[str, Any]:
    """The settings without our hooks and without empty groups, events and `hooks`."""
    hooks: dict[str, Any] = {}
    for event, groups in value.get("hooks", {}).items():
        if isinstance(groups, list):
            kept = [_foreign_group(group) for group in groups]
            hooks[event] = [group for group in kept if group is not None]
        else:
            hooks[event] = groups
    rest = {key: item for key, item in value.items() if key != "hooks"}
    held = {event: groups for event, groups in hooks.items() if groups != []}
    return {**rest, "hooks": held} if held else rest


def _foreign_group(group: Any) -> Any:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    entries = [item for item in group["hooks"] if _ours(item) is None]
    return {**group, "hooks": entries} if entries else None
