"""The rules, without I/O: no clock, no socket, no tmux, no database. Every call takes `now`."""
