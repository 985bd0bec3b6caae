"""Stands in for PyTorch where its profiler is asked for: the part of its public API that idleburn calls.

A profiled step takes 10 ms of a made-up clock, of which a kernel runs 6.
"""

import gzip
import json
import time
import types


class _Cuda:
    @staticmethod
    def is_available():
        return True


cuda = _Cuda()


def _schedule(wait, warmup, active, repeat=0, skip_first=0):
    assert repeat == 1 and wait == 0 and skip_first == 0
    return warmup, active


class _Profile:
    def __init__(self, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, with_stack=False):
        assert activities == ["CPU", "CUDA"] and record_shapes and with_stack
        self._warmup, self._active = schedule
        self._ready = on_trace_ready
        self._steps = 0
        self._started = time.time_ns()

    def start(self):
        self._steps = 0

    def step(self):
        self._steps += 1
        if self._steps == self._warmup + self._active:
            self._ready(self)

    def stop(self):
        if self._warmup < self._steps < self._warmup + self._active:
            self._ready(self)

    def export_chrome_trace(self, path):
        events = []
        for i in range(self._steps - self._warmup):
            at = 10_000 * i
            events.append(_event("user_annotation", f"ProfilerStep#{i}", at, 10_000, 1))
            events.append(_event("cuda_runtime", "cudaLaunchKernel", at + 100, 10, 1, correlation=i + 1))
            events.append(_event("kernel", "gemm", at + 200, 6_000, 7, device=0, stream=7, correlation=i + 1))
        with gzip.open(path, "wt") as file:
            json.dump({"schemaVersion": 1, "baseTimeNanoseconds": self._started, "traceEvents": events}, file)


def _event(category, name, start, length, thread, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length, "args": args}


profiler = types.SimpleNamespace(
    profile=_Profile, schedule=_schedule, ProfilerActivity=types.SimpleNamespace(CPU="CPU", CUDA="CUDA")
)
