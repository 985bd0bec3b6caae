#!/usr/bin/env python3
"""Trainings whose trouble is known, for a machine with a GPU and PyTorch.

    workloads.py NAME [--fixed] [--seconds 60] [--trace FILE.json.gz] [--folder DIR]

NAME is a key of WORKLOADS; --fixed runs the same work with its cure. Each prints "step i/n loss x", as plain training
loops do, for about so many seconds; with --trace ten more steps are profiled into FILE afterwards.
"""
import argparse
import contextlib
import mmap
import os
import struct
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = "cuda"


class Model(nn.Module):
    """A stack of linear layers: `width` sets the work of a kernel, `layers` how many there are."""

    def __init__(self, width, layers, classes=10):
        super().__init__()
        blocks = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
        self.body = nn.Sequential(*blocks, nn.Linear(width, classes))

    def forward(self, x):
        return self.body(x)


class CostlyImages(Dataset):
    """Items that take `milliseconds` of one core each, as decoding and augmenting does."""

    def __init__(self, width, milliseconds):
        self.width, self.seconds = width, milliseconds / 1000

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        until = time.thread_time() + self.seconds
        total = 0
        while time.thread_time() < until:
            total += sum(range(200))
        generator = torch.Generator().manual_seed(index)
        return torch.randn(self.width, generator=generator), index % 10


class ShardedFile(Dataset):
    """Items read past the page cache, `size` bytes each at random places, as a cold data set is."""

    def __init__(self, path, width, size, cached):
        self.path, self.width, self.size, self.cached = path, width, size, cached
        self.blocks = os.path.getsize(path) // size
        self.file = None

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if self.file is None:
            self.file = os.open(self.path, os.O_RDONLY)
        at = (index * 2654435761 % self.blocks) * self.size
        data = os.pread(self.file, self.size, at)
        if not self.cached:
            os.posix_fadvise(self.file, at, self.size, os.POSIX_FADV_DONTNEED)
        values = torch.frombuffer(bytearray(data[: self.width * 4]), dtype=torch.int32).float() / 2**31
        return values, index % 10


def classifier(width, layers):
    model = Model(width, layers).to(DEVICE)
    return model, torch.optim.SGD(model.parameters(), lr=1e-4)


def train_once(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def from_loader(loader, width=8192, layers=6):
    model, optimizer = classifier(width, layers)
    batches = iter(loader)

    def step():
        x, y = next(batches)
        return train_once(model, optimizer, x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True))

    return step


def starved_loader(args):
    workers = min(12, os.cpu_count() or 2) if args.fixed else 0
    data = CostlyImages(8192, milliseconds=1)
    return from_loader(DataLoader(data, batch_size=64, num_workers=workers, pin_memory=True,
                                  persistent_workers=workers > 0))


def storage_bound(args):
    size, path = 1 << 20, os.path.join(args.folder, "shards.bin")
    if not os.path.exists(path) or os.path.getsize(path) != 4096 * size:
        with open(path, "wb") as file:
            for _ in range(4096):
                file.write(os.urandom(size))
    descriptor = os.open(path, os.O_RDONLY)
    if args.fixed:  # all of it in the page cache
        while os.read(descriptor, 16 * size):
            pass
    else:  # none of it: pages that are not written yet cannot be dropped
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    if args.prepare:
        raise SystemExit(0)
    data = ShardedFile(path, 8192, size, cached=args.fixed)
    return from_loader(DataLoader(data, batch_size=64, num_workers=2, pin_memory=True, persistent_workers=True))


def small_batch(args):
    """Two hundred small kernels a step; the cure replays them as one graph."""
    model, optimizer = classifier(256, 60)
    x, y = torch.randn(8, 256, device=DEVICE), torch.randint(0, 10, (8,), device=DEVICE)
    if not args.fixed:
        return lambda: train_once(model, optimizer, x, y)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            train_once(model, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train_once(model, optimizer, x, y)

    def replay():
        graph.replay()
        return loss

    return replay


def compute_bound(args):
    """Large products in fp32; the cure computes them in bf16."""
    torch.backends.cuda.matmul.allow_tf32 = False
    model, optimizer = classifier(8192, 6)
    x, y = torch.randn(4096, 8192, device=DEVICE), torch.randint(0, 10, (4096,), device=DEVICE)

    def step():
        with torch.autocast(DEVICE, torch.bfloat16) if args.fixed else contextlib.nullcontext():
            return train_once(model, optimizer, x, y)

    return step


def pageable_copies(args):
    """Half a gigabyte a step from ordinary memory; the cure pins it and copies while the step before computes."""
    torch.backends.cuda.matmul.allow_tf32 = True  # in fp32 the products would take ten times as long as the copy
    model, optimizer = classifier(4096, 2)
    host = torch.randn(32768, 4096, pin_memory=args.fixed)
    labels = torch.randint(0, 10, (32768,), device=DEVICE)
    copies = torch.cuda.Stream()
    ahead = host.to(DEVICE)

    def step():
        nonlocal ahead
        if not args.fixed:
            return train_once(model, optimizer, host.to(DEVICE), labels)
        torch.cuda.current_stream().wait_stream(copies)
        x = ahead
        with torch.cuda.stream(copies):
            ahead = host.to(DEVICE, non_blocking=True)
        loss = train_once(model, optimizer, x, labels)
        x.record_stream(torch.cuda.current_stream())
        return loss

    return step


def item_every_layer(args):
    """A value is read back after every layer, each time with a little work on the host."""
    model, optimizer = classifier(2048, 40)
    x, y = torch.randn(512, 2048, device=DEVICE), torch.randint(0, 10, (512,), device=DEVICE)
    norms = []

    def step():
        if args.fixed:
            return train_once(model, optimizer, x, y)
        optimizer.zero_grad(set_to_none=True)
        value = x
        for layer in model.body:
            value = layer(value)
            norms.append(value.norm().item())
            sum(range(3000))
        norms.clear()
        loss = nn.functional.cross_entropy(value, y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def frequent_checkpoints(args):
    """The state, a gigabyte, is written every 100 steps, some seconds apart, or every 20,000."""
    model, optimizer = classifier(4096, 16)
    x, y = torch.randn(16384, 4096, device=DEVICE), torch.randint(0, 10, (16384,), device=DEVICE)
    path, done = os.path.join(args.folder, "checkpoint.pt"), 0

    def step():
        nonlocal done
        done += 1
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = train_once(model, optimizer, x, y)
        if done % (20_000 if args.fixed else 100) == 0:
            torch.save(model.state_dict(), path)
        return loss

    return step


def idle_held(args):
    """The memory stays taken while nothing is computed: main() sleeps after the steps, without --fixed."""
    return compute_bound(argparse.Namespace(fixed=False))  # the same arithmetic in both


def spin_wait(args):
    """A kernel that does nothing keeps the GPU resident, as a rank does that waits for another."""
    model, optimizer = classifier(2048, 8)
    x, y = torch.randn(512, 2048, device=DEVICE), torch.randint(0, 10, (512,), device=DEVICE)

    def step():
        if not args.fixed:
            torch.cuda._sleep(150_000_000)  # cycles: about 80 ms
        return train_once(model, optimizer, x, y)

    return step


def memory_pressure(args):
    """Most of the memory is taken anew each step and given back to the driver after it, as empty_cache() does."""
    budget = int(0.90 * torch.cuda.get_device_properties(0).total_memory)  # named from 0.9 on
    model, optimizer = classifier(4096, 8)
    x, y, done = torch.randn(512, 4096, device=DEVICE), torch.randint(0, 10, (512,), device=DEVICE), 0

    def step():
        nonlocal done
        done += 1
        held = torch.empty(budget + budget // 200 * (done % 7), dtype=torch.uint8, device=DEVICE)
        loss = train_once(model, optimizer, x, y)
        del held
        if not args.fixed:
            torch.cuda.empty_cache()
        return loss

    return step


WORKLOADS = {function.__name__: function for function in (
    starved_loader, storage_bound, small_batch, compute_bound, pageable_copies, item_every_layer, frequent_checkpoints,
    idle_held, spin_wait, memory_pressure)}


def run_steps(step, count, seconds):
    """Up to `count` steps, but not for much longer than `seconds`: what was measured before may be no guide."""
    begin = told = time.monotonic()
    done = 0
    while done < count and time.monotonic() < begin + 1.3 * seconds:
        loss = step()
        done += 1
        # Read back rarely: a loop that does it every step waits for the GPU every step.
        if done % 20 == 0:
            value = loss.item()
            if time.monotonic() > told + 0.25:
                told = time.monotonic()
                print(f"step {done}/{count} loss {value:.4f}", flush=True)
        elif time.monotonic() > told + 0.25:
            told = time.monotonic()
            print(f"step {done}/{count}", flush=True)
    torch.cuda.synchronize()
    print(f"step {done}/{count}", flush=True)
    return done


def count_steps(step, seconds, path):
    """For the overhead: steps done and the clock at the end of the last, into a file that somebody reads meanwhile."""
    with open(path, "wb") as file:
        file.write(bytes(16))
    with open(path, "r+b") as file:
        shared = mmap.mmap(file.fileno(), 16)
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        step()
        torch.cuda.synchronize()
        done += 1
        shared[:16] = struct.pack("qq", done, time.monotonic_ns())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=WORKLOADS)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--trace")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--count", metavar="FILE", help="only count steps into FILE, and print none")
    parser.add_argument("--prepare", action="store_true", help="storage_bound: write its data and end")
    args = parser.parse_args()
    torch.manual_seed(1)
    step = WORKLOADS[args.name](args)
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    if args.count:
        count_steps(step, args.seconds, args.count)
        return
    idle = max(75, 0.8 * args.seconds) if args.name == "idle_held" and not args.fixed else 0  # a stretch is 60 s
    begin = time.monotonic()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    seconds = 0.2 * args.seconds if idle else args.seconds
    count = max(20, int(seconds / ((time.monotonic() - begin) / 5)))
    begin = time.monotonic()
    done = run_steps(step, count, seconds)
    print(f"trained {done} steps in {time.monotonic() - begin:.3f} s", flush=True)
    time.sleep(idle)
    if args.trace and args.name != "idle_held":
        from torch.profiler import ProfilerActivity, profile, schedule
        # Without a schedule no ProfilerStep# is written; without profile_memory nothing says what the allocator holds.
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True,
                     schedule=schedule(wait=0, warmup=2, active=10, repeat=1),
                     on_trace_ready=lambda done: done.export_chrome_trace(args.trace)) as profiler:
            for _ in range(12):
                step()
                profiler.step()
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
