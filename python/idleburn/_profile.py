"""A trace of some steady steps, which `idleburn run --profile-steps N` asks for (docs/trace-profile.md).

The steps are those that the program reports with idleburn.step(). Nothing happens unless the program itself has
imported torch: only its public profiler is used. A failure ends the profiling and never the program.
"""

import atexit
import os
import sys

_SKIPPED = 10  # first launches, autotuning and caches: they say nothing about steady steps


def _number(name):
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else 0


class StepProfiler:
    """Profiles IDLEBURN_PROFILE_STEPS steps of this process into a file of the folder IDLEBURN_PROFILE_FOLDER."""

    def __init__(self):
        self._steps = _number("IDLEBURN_PROFILE_STEPS")
        self._folder = os.environ.get("IDLEBURN_PROFILE_FOLDER", "")
        self._pid = os.getpid()
        self._seen = 0
        self._profiler = None
        self._over = self._steps == 0 or not self._folder
        if not self._over:
            atexit.register(self._end)

    def step(self):
        """Call it after each step of the program."""
        if self._over or self._pid != os.getpid():  # a loader's worker is not the program
            return
        self._seen += 1
        try:
            if self._profiler is not None:
                self._profiler.step()
                if self._over:
                    self._profiler.stop()
            elif self._seen >= _SKIPPED and "torch" in sys.modules:
                self._start(sys.modules["torch"].profiler, sys.modules["torch"].cuda)
        except Exception as error:  # whatever torch raises
            self._give_up(f"torch.profiler failed: {error}")

    def _start(self, profiler, cuda):
        activities = [profiler.ProfilerActivity.CPU]
        if cuda.is_available():
            activities.append(profiler.ProfilerActivity.CUDA)
        self._profiler = profiler.profile(
            activities=activities,
            schedule=profiler.schedule(wait=0, warmup=1, active=self._steps, repeat=1),
            on_trace_ready=self._export,
            record_shapes=True,
            with_stack=True,
        )
        self._profiler.start()

    def _export(self, profiler):
        self._over = True
        path = os.path.join(self._folder, f"{self._pid}.json.gz")
        part = os.path.join(self._folder, f"{self._pid}.part.json.gz")
        profiler.export_chrome_trace(part)
        os.replace(part, path)

    def _give_up(self, why):
        self._over = True
        try:
            with open(os.path.join(self._folder, f"{self._pid}.why"), "w") as file:
                file.write(why.replace("\n", " ")[:200] + "\n")
        except OSError:
            pass

    def _end(self):
        if self._over or self._pid != os.getpid():
            return
        try:
            if self._profiler is not None:
                self._profiler.stop()  # exports the steps so far
            if not self._over:
                reported = f"it reported {self._seen} steps, and the first {_SKIPPED} are not profiled"
                self._give_up(reported if "torch" in sys.modules else "it did not import torch")
        except Exception as error:
            self._give_up(f"torch.profiler failed: {error}")
