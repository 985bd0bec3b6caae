#!/usr/bin/env python3
"""Writes examples/starved_loader.pt.trace.json.gz: an invented but plausible trace of PyTorch's profiler.

Eight steps of a training loop on one GPU: the loader (num_workers=0) takes 60 ms, a pinned batch is copied, and 120
kernels of 0.7 ms follow, launched 12 us apart. Every value is made up by this program (standard library, fixed seed):
no machine was measured. Step = 60 + 4 + 84 + what the host adds, so about 40 % of it is idle in the loader.
"""
import gzip
import json
import random

STEPS = 8
KERNELS = 120
LOADER_US = 60_000
COPY_US = 4_000
KERNEL_US = 700
LAUNCH_EVERY_US = 12
BASE_NS = 1_790_000_000_000_000_000
rng = random.Random(20261005)
events = []
correlation = 0


def event(category, name, start, length, thread, **arguments):
    events.append({"ph": "X", "cat": category, "name": name, "pid": 4711 if thread < 100 else 0, "tid": thread,
                   "ts": round(start, 3), "dur": round(length, 3), "args": arguments})


def launch(call, category, name, at, start, length, **arguments):
    """A call of the host at `at`, and what the device does for it from `start` on."""
    global correlation
    correlation += 1
    event("cuda_runtime", call, at, rng.uniform(4, 8), 4711, correlation=correlation)
    event(category, name, start, length, 107, device=0, stream=7, correlation=correlation, **arguments)
    return start + length


now = 0.0
for step in range(STEPS):
    begin = now
    loader = LOADER_US * rng.uniform(0.97, 1.03)
    event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now, loader, 4711)
    event("python_function", "train.py(31): decode_and_augment", now + 20, loader - 40, 4711)
    now += loader + 30
    event("cpu_op", "aten::to", now - 20, 60, 4711)
    free = launch("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", now, now + 9, COPY_US,
                  bytes=38_535_168)
    for kernel in range(KERNELS):
        now += LAUNCH_EVERY_US
        event("cpu_op", rng.choice(("aten::conv2d", "aten::batch_norm", "aten::relu")), now - 8, 14, 4711)
        name = rng.choice(("sm80_xmma_fprop_implicit_gemm_bf16", "bn_fw_tr_1C11_kernel", "elementwise_kernel"))
        free = launch("cudaLaunchKernel", "kernel", name, now, max(free, now + 6), KERNEL_US * rng.uniform(0.9, 1.1))
    event("cuda_runtime", "cudaStreamSynchronize", now + 20, free - now, 4711)
    now = free + 60
    event("user_annotation", f"ProfilerStep#{step + 10}", begin, now - begin, 4711)

trace = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS,
         "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_899_345_920,
                               "computeMajor": 8, "numSms": 108}],
         "traceEvents": events}
with open("examples/starved_loader.pt.trace.json.gz", "wb") as raw:
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as out:  # the same bytes each time
        out.write(json.dumps(trace, separators=(",", ":")).encode())
