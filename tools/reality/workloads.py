#!/usr/bin/env python3
"""Trainings whose trouble is known, for a machine with a GPU and PyTorch.

    workloads.py NAME [--fixed] [--seconds 60] [--trace FILE.json.gz] [--folder DIR]

NAME is a key of WORKLOADS; --fixed runs the same work with its cure. Each prints "step i/n loss x", as plain training
loops do, for about so many seconds; with --trace ten more steps are profiled into FILE afterwards.
"""
import argparse
import contextlib
import os
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


def from_loader(loader, width=2048, layers=12):
    model, optimizer = classifier(width, layers)
    batches = iter(loader)

    def step():
        x, y = next(batches)
        return train_once(model, optimizer, x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True))

    return step


def starved_loader(args):
    workers = min(12, os.cpu_count() or 2) if args.fixed else 0
    data = CostlyImages(2048, milliseconds=1)
    return from_loader(DataLoader(data, batch_size=64, num_workers=workers, pin_memory=True,
                                  persistent_workers=workers > 0))


def storage_bound(args):
    size, path = 1 << 20, os.path.join(args.folder, "shards.bin")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            for _ in range(4096):
                file.write(os.urandom(size))
    data = ShardedFile(path, 2048, size, cached=args.fixed)
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
    model, optimizer = classifier(4096, 8)
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
    """The state is written every 20 steps, or every 2,000."""
    model, optimizer = classifier(8192, 8)
    x, y = torch.randn(4096, 8192, device=DEVICE), torch.randint(0, 10, (4096,), device=DEVICE)
    path, done = os.path.join(args.folder, "checkpoint.pt"), 0

    def step():
        nonlocal done
        done += 1
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = train_once(model, optimizer, x, y)
        if done % (2000 if args.fixed else 20) == 0:
            torch.save(model.state_dict(), path)
        return loss

    return step


def idle_held(args):
    """The memory stays taken while nothing is computed."""
    compute = compute_bound(args)
    until = time.monotonic() + (1000 if args.fixed else 0.2) * args.seconds

    def step():
        if time.monotonic() < until:
            return compute()
        time.sleep(0.5)
        return None

    return step


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
    budget = int(0.5 * torch.cuda.get_device_properties(0).total_memory)
    model, optimizer = classifier(4096, 8)
    x, y, done = torch.randn(512, 4096, device=DEVICE), torch.randint(0, 10, (512,), device=DEVICE), 0

    def step():
        nonlocal done
        done += 1
        held = torch.empty(budget + budget // 20 * (done % 7), dtype=torch.uint8, device=DEVICE)
        loss = train_once(model, optimizer, x, y)
        del held
        if not args.fixed:
            torch.cuda.empty_cache()
        return loss

    return step


WORKLOADS = {function.__name__: function for function in (
    starved_loader, storage_bound, small_batch, compute_bound, pageable_copies, item_every_layer, frequent_checkpoints,
    idle_held, spin_wait, memory_pressure)}


def run_steps(step, count):
    for done in range(1, count + 1):
        loss = step()
        # Read back rarely: a loop that does it every step waits for the GPU every step.
        if loss is not None and done % 20 == 0:
            print(f"step {done}/{count} loss {loss.item():.4f}", flush=True)
        elif loss is None or done % 5 == 0:
            print(f"step {done}/{count}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=WORKLOADS)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--trace")
    parser.add_argument("--folder", default=".")
    args = parser.parse_args()
    torch.manual_seed(1)
    step = WORKLOADS[args.name](args)
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    begin = time.monotonic()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    count = max(20, int(args.seconds / ((time.monotonic() - begin) / 5)))
    if args.name == "idle_held" and not args.fixed:
        count = max(20, int(0.2 * count + 0.8 * args.seconds / 0.5))
    begin = time.monotonic()
    run_steps(step, count)
    torch.cuda.synchronize()
    print(f"trained {count} steps in {time.monotonic() - begin:.3f} s", flush=True)
    if args.trace:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(10):
                step()
                profiler.step()
        profiler.export_chrome_trace(args.trace)


if __name__ == "__main__":
    main()
