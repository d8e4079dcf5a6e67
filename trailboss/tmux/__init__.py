"""One door to tmux: run commands, list panes and clients, navigate, options, key bindings."""
