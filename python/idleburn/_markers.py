"""Markers: lines of work done, appended to the file that IDLEBURN_MARKERS names (docs/markers.md)."""

import atexit
import os
import time

_PERIOD = 0.2  # seconds between lines; a process that is killed loses no more than that
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def _rank():
    for name in _RANKS:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 0


class _Writer:
    """Counts in this process, and writes what it has counted from time to time."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._pid = os.getpid()
        self._rank = _rank()
        self._steps = 0
        self._samples = 0
        self._tokens = 0
        self._epoch = None
        self._next = 0.0

    def add(self, samples, tokens, epoch):
        if self._pid != os.getpid():  # forked: the parent goes on with its own counts
            self._pid = os.getpid()
            self._steps = self._samples = self._tokens = 0
            self._epoch = None
        self._steps += 1
        if samples is not None:
            self._samples += samples
        if tokens is not None:
            self._tokens += tokens
        if epoch is not None:
            self._epoch = int(epoch)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PERIOD
            self.write()

    def write(self):
        if self._steps == 0 or self._pid != os.getpid():
            return
        line = f"step={self._steps}"
        if self._samples:
            line += f",samples={int(self._samples)}"
        if self._tokens:
            line += f",tokens={int(self._tokens)}"
        if self._epoch is not None:
            line += f",epoch={self._epoch}"
        try:
            os.write(self._file, f"{line},rank={self._rank},pid={self._pid}\n".encode())
        except OSError:
            pass  # a full disk is no reason to stop a training


    def say(self, name, value):
        try:
            os.write(self._file, f"{name}={value},rank={self._rank},pid={os.getpid()}\n".encode())
        except OSError:
            pass


_writer = None
_path = None


def _open(path):
    """The writer for `path`; None where there is none, or it cannot be written."""
    try:
        writer = _Writer(path) if path else None
    except OSError:
        writer = None
    if writer is not None:
        atexit.register(writer.write)
    return writer


def restart():
    """Looks at IDLEBURN_MARKERS again."""
    global _writer, _path
    if _writer is not None:
        _writer.write()
    _path = os.environ.get("IDLEBURN_MARKERS")
    _writer = _open(_path)


def step(samples=None, tokens=None, epoch=None):
    """One step of work is done: how many samples and tokens it took, and how many epochs are finished so far."""
    if _writer is not None:
        _writer.add(samples, tokens, epoch)


def say(name, value):
    """One line apart from the counts: how this process works."""
    if _writer is not None:
        _writer.say(name, value)


restart()
