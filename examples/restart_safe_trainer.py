#!/usr/bin/env python3
"""A training that may be interrupted at any time, as `idleburn drill` has it. Only the standard library is used.

    idleburn drill -- python3 examples/restart_safe_trainer.py --folder /tmp/run

What makes it safe, and what --break takes away, one at a time:

    skips         a checkpoint holds how far the data iterator stood, not how far it had read ahead
    repeats       the position of the data iterator is part of the state
    order         so is the order of the samples: every epoch's follows from the seed
    restarts      a start looks for a checkpoint
    stale         and takes the newest one
    ahead         the step is the one in the checkpoint
    torn          a checkpoint is written aside, flushed to the disk and renamed: it is whole or not there
    hangs         a lock that a killed process has left is broken
    ignores-term  SIGTERM ends it after a last checkpoint

With --workers each batch is made by child processes; they end with their parent, however that ends. The example
trains nothing: it sleeps, and adds up its samples.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

try:
    import idleburn
except ImportError:  # not installed: the package of this checkout
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    import idleburn

BREAKS = ("skips", "repeats", "order", "restarts", "stale", "ahead", "torn", "hangs", "ignores-term")
READ_AHEAD = 3  # batches that a loader has ready when a step begins


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.environ.get("IDLEBURN_SCRATCH", "."), help="where checkpoints are kept")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the whole training")
    parser.add_argument("--step-seconds", type=float, default=0.05)
    parser.add_argument("--batch", type=int, default=8, help="samples a step")
    parser.add_argument("--dataset", type=int, default=1000, help="samples an epoch")
    parser.add_argument("--every", type=int, default=20, help="steps between two checkpoints")
    parser.add_argument("--state-bytes", type=int, default=4096, help="size of what is trained")
    parser.add_argument("--checkpoint-seconds", type=float, default=0.0, help="writing one takes at least that")
    parser.add_argument("--workers", type=int, default=0, help="child processes that make batches")
    parser.add_argument("--no-markers", action="store_true", help="only print steps")
    parser.add_argument("--break", dest="broken", choices=BREAKS, help="take one of its safeguards away")
    return parser.parse_args()


class Data:
    """The samples of all epochs in a row; position 0 is the first sample of the first epoch."""

    def __init__(self, size, broken):
        self.size = size
        self.seed = time.time_ns() if broken == "order" else 1234
        self.epoch = None

    def take(self, position, count):
        samples = []
        for place in range(position, position + count):
            epoch = place // self.size
            if epoch != self.epoch:
                self.epoch = epoch
                self.order = list(range(self.size))
                random.Random(f"{self.seed}-{epoch}").shuffle(self.order)
            samples.append(self.order[place % self.size])
        return samples


class Checkpoints:
    """The newest state in a folder, with the one before it."""

    def __init__(self, options):
        self.options = options
        self.path = os.path.join(options.folder, "state.json")
        self.older = os.path.join(options.folder, "state.older.json")

    def save(self, state):
        with idleburn.checkpoint(state["step"], self.path):
            text = json.dumps({**state, "weights": "x" * self.options.state_bytes})
            target = self.path if self.options.broken == "torn" else self.path + ".new"
            with open(target, "w") as file:
                file.write(text[: len(text) // 2])
                file.flush()
                time.sleep(self.options.checkpoint_seconds)
                file.write(text[len(text) // 2 :])
                file.flush()
                os.fsync(file.fileno())
            if target != self.path:
                if os.path.exists(self.path):
                    os.replace(self.path, self.older)
                os.replace(target, self.path)

    def load(self):
        if self.options.broken == "restarts":
            return None
        names = (self.older,) if self.options.broken == "stale" else (self.path, self.older)
        for name in names:
            if os.path.exists(name):
                with open(name) as file:
                    return json.load(file)
        return None


class Workers:
    """Child processes that stand for those of a data loader: they wait until their parent is gone."""

    def __init__(self, count):
        self.children = [
            subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
            for _ in range(count)
        ]

    def end(self):
        for child in self.children:
            child.stdin.close()
            child.wait()


def wait_for_lock(options):
    """One process at a time. The lock names its owner, so that one whose owner is gone is broken."""
    path = os.path.join(options.folder, "lock")
    while os.path.exists(path):
        with open(path) as file:
            owner = file.read()
        if options.broken != "hangs" and not os.path.exists(f"/proc/{owner}"):
            break
        time.sleep(0.05)
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    return path


def train(options):
    stop = []
    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.broken == "ignores-term" else lambda *_: stop.append(True))
    lock = wait_for_lock(options)
    checkpoints = Checkpoints(options)
    data = Data(options.dataset, options.broken)
    workers = Workers(options.workers)
    state = checkpoints.load() or {"step": 0, "position": 0, "sum": 0}
    state.pop("weights", None)
    if options.broken == "ahead" and state["step"] > 0:
        state["step"] += 5
    idleburn.resumed(state["step"])
    position = 0 if options.broken == "repeats" else state["position"]
    while state["step"] < options.steps and not stop:
        samples = data.take(position, options.batch)
        time.sleep(options.step_seconds)
        state["sum"] += sum(samples)
        state["step"] += 1
        idleburn.step(samples=len(samples), first=position, ids=samples)
        print("step", state["step"], flush=True)
        position += options.batch
        state["position"] = position + (READ_AHEAD * options.batch if options.broken == "skips" else 0)
        if state["step"] % options.every == 0:
            checkpoints.save(state)
    checkpoints.save(state)
    workers.end()
    if options.broken != "hangs":
        os.remove(lock)


if __name__ == "__main__":
    settings = arguments()
    if settings.no_markers:
        idleburn.resumed = idleburn.step = lambda *_, **__: None
        idleburn.checkpoint = lambda *_: contextlib.nullcontext()
    train(settings)
