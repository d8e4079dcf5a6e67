"""Trail Boss: a dead-letter queue of coding-agent sessions that wait for a human."""

__version__ = "0.1.0"
