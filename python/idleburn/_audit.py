"""Records while a function or a block runs, and prints the audit of it."""

import contextlib
import functools
import inspect
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from . import _markers

_PATIENCE = 60  # seconds that the recorder has for its audit
_SHARED = ("IDLEBURN_MARKERS", "IDLEBURN_RUN_ID")
_beginning = threading.Lock()  # of several threads one records


class audit(contextlib.ContextDecorator):
    """A context manager and a decorator: `with idleburn.audit(price=8):`, `@idleburn.audit(price=8)`, also of
    coroutines and generators.

    price   dollars a GPU-hour; without it the price is looked up
    output  where the recording goes; without it a new file in the current folder for each block, named by the process
            and the nanosecond in which the block began
    program the idleburn to start; without it the one in PATH

    Where no recorder can be started it says so, and the block runs all the same. Under `idleburn run` it does
    nothing, since everything is recorded there; nor does it inside another audit, whose threads and processes are part
    of that one.
    """

    def __init__(self, price=None, output=None, program=None):
        self._price = price
        self._output = output
        self._program = program
        self._recorder = None
        self._owner = None
        self._before = {}

    def _recreate_cm(self):
        return type(self)(self._price, self._output, self._program)

    def __call__(self, function):
        """What is called later, or piece by piece, is recorded then."""
        if inspect.iscoroutinefunction(function):

            async def recorded(*arguments, **named):
                with self._recreate_cm():
                    return await function(*arguments, **named)

        elif inspect.isasyncgenfunction(function):

            async def recorded(*arguments, **named):
                with self._recreate_cm():
                    items = function(*arguments, **named)
                    try:
                        async for item in items:
                            yield item
                    finally:
                        await items.aclose()

        elif inspect.isgeneratorfunction(function):

            def recorded(*arguments, **named):
                with self._recreate_cm():
                    return (yield from function(*arguments, **named))

        else:
            return super().__call__(function)
        return functools.wraps(function)(recorded)

    def __enter__(self):
        with _beginning:
            if not os.environ.get("IDLEBURN_RUN_ID"):
                self._begin()
        return self

    def _begin(self):
        program = self._program or shutil.which("idleburn")
        if program is None:
            print("idleburn: no idleburn in PATH, so nothing is recorded; install it or name it", file=sys.stderr)
            return
        output = self._output or f"idleburn-{os.getpid()}-{time.time_ns()}.idleburn"
        # This process and the GPUs it can see: others on this machine are no part of the block.
        command = [program, "record", "-o", str(output), "--quiet", "--pid", str(os.getpid())]
        if self._price is not None:
            command += ["--price", str(self._price)]
        self._before = {name: os.environ.get(name) for name in _SHARED}
        # The end of a short block may come before the recorder listens: it waits for it until then.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            handle, os.environ["IDLEBURN_MARKERS"] = tempfile.mkstemp(prefix="idleburn-markers.")
            os.close(handle)
            # In a session of its own: Ctrl-C ends the block, and the end of the block ends the recorder.
            self._recorder = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
            self._owner = os.getpid()
            os.environ["IDLEBURN_RUN_ID"] = f"audit-{self._recorder.pid}"
            _markers.restart()
        except OSError as error:
            print(f"idleburn: nothing is recorded: {error}", file=sys.stderr)
            self._forget()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def __exit__(self, *exception):
        if self._recorder is None or self._owner != os.getpid():  # another's, or that of the process we are forked from
            return False
        _markers.restart()  # writes what is counted so far
        self._recorder.send_signal(signal.SIGINT)
        try:
            code = self._recorder.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._recorder.kill()
            code = self._recorder.wait()
        if code != 0:
            print(f"idleburn: the recorder ended with {code}", file=sys.stderr)
        self._recorder = None
        self._forget()
        return False

    def _forget(self):
        """The environment is as before, and the markers are gone."""
        markers = os.environ.get("IDLEBURN_MARKERS")
        if markers is not None and markers != self._before["IDLEBURN_MARKERS"]:
            with contextlib.suppress(OSError):
                os.unlink(markers)
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _markers.restart()
