"""What a hook runs: `bin/trailboss-emit` journals a payload, the worker pushes its events.

The journal and the marks are shared with the broker; the worker is the emitter's own.
"""
