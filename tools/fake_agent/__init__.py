"""Plays whole Claude-like agents in panes, and loads a broker with events.

`python -m tools.fake_agent play` is one agent in a terminal: its screen, its transcript, its status
file and its hooks. `tools.fake_agent.control` starts and drives such agents from a test.
`python -m tools.fake_agent load` PUSHes a seeded stream of events and says what must be in the
queue afterwards. Shapes are those of Claude Code 2.1.197 and 2.1.332, read from captures.
"""
