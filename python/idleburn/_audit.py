"""Records while a function or a block runs, and prints the audit of it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from . import _markers

_PATIENCE = 60  # seconds that the recorder has for its audit


class audit(contextlib.ContextDecorator):
    """A context manager and a decorator: `with idleburn.audit(price=8):`, `@idleburn.audit(price=8)`.

    price   dollars a GPU-hour; without it the price is looked up
    output  where the recording goes; without it a file in the current folder, named by the recorder's start
    program the idleburn to start; without it the one in PATH

    Where no recorder can be started it says so, and the block runs all the same. Under `idleburn run` it does
    nothing, since everything is recorded there.
    """

    def __init__(self, price=None, output=None, program=None):
        self._price = price
        self._output = output
        self._program = program
        self._recorder = None
        self._markers = None

    def _recreate_cm(self):
        return type(self)(self._price, self._output, self._program)

    def __enter__(self):
        if os.environ.get("IDLEBURN_RUN_ID"):
            return self
        program = self._program or shutil.which("idleburn")
        if program is None:
            print("idleburn: no idleburn in PATH, so nothing is recorded; install it or name it", file=sys.stderr)
            return self
        output = self._output or f"idleburn-{os.getpid()}-{id(self):x}.idleburn"
        command = [program, "record", "-o", str(output), "--quiet"]
        if self._price is not None:
            command += ["--price", str(self._price)]
        try:
            self._share_markers()
            # In a session of its own: Ctrl-C ends the block, and the end of the block ends the recorder.
            self._recorder = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            print(f"idleburn: {program} cannot be started, so nothing is recorded: {error}", file=sys.stderr)
            self._drop_markers()
        return self

    def __exit__(self, *exception):
        if self._recorder is None:
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
        self._drop_markers()
        return False

    def _share_markers(self):
        handle, self._markers = tempfile.mkstemp(prefix="idleburn-markers.")
        os.close(handle)
        os.environ["IDLEBURN_MARKERS"] = self._markers
        _markers.restart()

    def _drop_markers(self):
        os.environ.pop("IDLEBURN_MARKERS", None)
        _markers.restart()
        if self._markers is not None:
            os.unlink(self._markers)
            self._markers = None
