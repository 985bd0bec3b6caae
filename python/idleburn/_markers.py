"""Markers: lines of work done, appended to the file that IDLEBURN_MARKERS names (docs/markers.md)."""

import atexit
import contextlib
import os
import sys
import threading
import time
import zlib

from ._profile import StepProfiler

_PERIOD = 0.2  # seconds between lines; a process that is killed loses no more than that
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_ORDERS = 999_999_999_999_999_989  # a prime: numbers made of ids stay below it


def _number(name):
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else None


def _rank():
    for name in _RANKS:
        rank = _number(name)
        if rank is not None:
            return rank
    # Lightning names no rank of the whole job. Where it is not known how many a node has, this node's will do: a file
    # of markers is of one node.
    return (_number("NODE_RANK") or 0) * (_number("LOCAL_WORLD_SIZE") or 0) + (_number("LOCAL_RANK") or 0)


def _period():
    """Seconds between lines, and whether somebody asked for them: `idleburn drill` wants every step, and its time."""
    try:
        return max(float(os.environ["IDLEBURN_MARKERS_PERIOD"]), 0.0), True
    except (KeyError, ValueError):
        return _PERIOD, False


def _bytes_of(path):
    """Of a file, or of all files below a folder; None if there is nothing."""
    try:
        if not os.path.isdir(path):
            return os.stat(path).st_size
        files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        return sum(os.stat(file).st_size for file in files)
    except OSError:
        return None


class _Writer:
    """Counts in this process, and writes what it has counted from time to time."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._rank = _rank()
        self._period, self._timed = _period()
        self._begin()

    def _begin(self):
        self._lock = threading.RLock()  # steps of several threads; a signal's handler may step too
        self._pid = os.getpid()
        self._steps = 0
        self._samples = 0
        self._tokens = 0
        self._epoch = None
        self._next = 0.0
        self._first = None  # positions of samples since the last line
        self._last = None
        self._order = None

    def add(self, samples, tokens, epoch, first, ids):
        if self._pid != os.getpid():  # forked: the parent goes on with its own counts, and may hold its own lock
            self._begin()
            _write_at_the_end_of_a_worker(self.write)
        with self._lock:
            self._add(samples, tokens, epoch, first, ids)

    def _add(self, samples, tokens, epoch, first, ids):
        if samples is None and ids is not None:
            samples = len(ids)
        if first is not None and samples:
            self._take(int(first), int(samples), ids)
        self._steps += 1
        if samples is not None:
            self._samples += samples
        if tokens is not None:
            self._tokens += tokens
        if epoch is not None:
            self._epoch = int(epoch)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._period
            self.write()

    def _take(self, first, samples, ids):
        if self._first is None or first != self._last + 1:
            if self._first is not None:
                self.write()  # what went before does not end where this begins: it is a line of its own
            self._first = first
            self._order = None if ids is None else 0
        self._last = first + samples - 1
        if ids is None:
            self._order = None
        elif self._order is not None:
            for sample in ids:
                self._order = (self._order * 1_000_003 + zlib.crc32(str(sample).encode()) + 1) % _ORDERS

    def write(self, **more):
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._steps > 0 or more:
                self._write(more)

    def _write(self, more):
        fields = {"step": self._steps}
        if self._samples:
            fields["samples"] = int(self._samples)
        if self._tokens:
            fields["tokens"] = int(self._tokens)
        if self._epoch is not None:
            fields["epoch"] = self._epoch
        if self._first is not None:
            fields["first_sample"] = self._first
            fields["last_sample"] = self._last
            if self._order is not None:
                fields["order"] = self._order
            self._first = self._order = None
        fields.update(more)
        if self._timed:
            fields["at_ns"] = time.monotonic_ns()
        fields["rank"] = self._rank
        fields["pid"] = self._pid
        self._append(fields)

    def say(self, name, value):
        self._append({name: value, "rank": self._rank, "pid": os.getpid()})

    def _append(self, fields):
        line = ",".join(f"{name}={value}" for name, value in fields.items())
        try:
            os.write(self._file, f"{line}\n".encode())
        except OSError:
            pass  # a full disk is no reason to stop a training


def _write_at_the_end_of_a_worker(write):
    """A forked worker of multiprocessing ends without atexit."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, write, exitpriority=0)


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


def step(samples=None, tokens=None, epoch=None, first=None, ids=None):
    """One step of work is done: how many samples and tokens it took, and how many epochs are finished so far.

    For `idleburn drill` also which samples: `first` is the position of the first one in the order in which this rank
    takes samples over all epochs, from 0; `ids` are what they are (numbers or names), so that another order is seen.
    """
    if _writer is not None:
        _writer.add(samples, tokens, epoch, first, ids)
    _profiler.step()


def resumed(step):
    """This process goes on from the state after that step of the whole training; 0: from the start."""
    if _writer is not None:
        _writer.write(resumed=int(step))


@contextlib.contextmanager
def checkpoint(step, path=None):
    """The state after that step is being written, to `path`: it is whole when the block has ended without an error."""
    if _writer is not None:
        _writer.write(checkpoint_begin=int(step))
    yield
    if _writer is not None:
        size = None if path is None else _bytes_of(path)
        _writer.write(checkpoint_end=int(step), **({} if size is None else {"checkpoint_bytes": size}))


def say(name, value):
    """One line apart from the counts: how this process works."""
    if _writer is not None:
        _writer.say(name, value)


restart()
_profiler = StepProfiler()
