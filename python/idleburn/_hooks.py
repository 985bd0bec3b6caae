"""What `idleburn isolate` may change in a program that asks: each answer is also told, as a marker (docs/markers.md)."""

import os

from ._markers import say


def num_workers(default=0):
    """How many workers the data loader shall have: `default`, unless IDLEBURN_ISOLATE_WORKERS says otherwise."""
    value = os.environ.get("IDLEBURN_ISOLATE_WORKERS", "")
    workers = int(value) if value.isdigit() else int(default)
    say("workers", workers)
    return workers


def synthetic(default=False):
    """Whether to invent the data instead of loading them: `default`, unless IDLEBURN_ISOLATE_SYNTHETIC is 1 or 0."""
    value = os.environ.get("IDLEBURN_ISOLATE_SYNTHETIC", "")
    invent = value == "1" if value in ("0", "1") else bool(default)
    say("synthetic", int(invent))
    return invent
