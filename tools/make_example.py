#!/usr/bin/env python3
"""Writes examples/finetune_4xh100.csv.gz: an invented but plausible nvidia-smi log.

Four GPUs fine-tune a model for 15 minutes, recorded as
    nvidia-smi --query-gpu=timestamp,index,uuid,name,... --format=csv -lms 250
Every value is made up by this program (standard library, fixed seed): no machine was measured. It shows what an
audit finds: an empty start, a loader that starves the GPUs, real compute, checkpoints that three GPUs spend waiting
for the fourth, and a notebook that holds memory after the training has ended.
"""
import datetime
import gzip
import random

GPUS = 4
HEADER = ("timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
          "enforced.power.limit [W], power.default_limit [W], clocks.current.sm [MHz], clocks.max.sm [MHz], "
          "temperature.gpu, clocks_event_reasons.active")
START = datetime.datetime(2026, 10, 5, 9, 30, 0)
rng = random.Random(20261005)


def reading(second, gpu):
    """(utilisation, MiB, watts, MHz, reasons) of a GPU at a time."""
    noise = rng.uniform
    if second < 25:
        return 0, 4, noise(68, 74), 345, 0x1
    if second < 70:
        return 0, 1187, noise(112, 118), 1980, 0x1
    if second < 330:  # loader-bound: short bursts of work, then nothing to do
        busy = (second % 1.6) < 0.75
        return (rng.randint(94, 99), 61422, noise(470, 520), 1980, 0) if busy else (0, 61422, noise(140, 165), 1980, 0)
    if second < 720:
        if (second - 330) % 130 > 112:  # checkpoint: rank 0 writes, the others poll for it
            if gpu == 0:
                return rng.randint(0, 3), 63710, noise(124, 131), 1980, 0
            return 100, 63710, noise(158, 171), 1980, 0
        return rng.randint(97, 100), 63710, noise(640, 690), rng.choice((1755, 1785, 1815)), 0x4
    if second < 780:
        return rng.randint(72, 84), 63710, noise(430, 470), 1980, 0
    return 0, 63710, noise(114, 119), 1980, 0x1


def main():
    lines = [HEADER]
    second = 0.0
    while second < 900:
        if not 601 < second < 608:  # the logger was stopped for a moment
            for gpu in range(GPUS):
                util, mib, watts, mhz, mask = reading(second, gpu)
                stamp = (START + datetime.timedelta(seconds=second + gpu * 0.001)).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
                lines.append(f"{stamp}, {gpu}, GPU-1d1eb042-0000-4000-8000-00000000000{gpu}, NVIDIA H100 80GB HBM3, "
                             f"{util} %, {mib} MiB, 81559 MiB, {watts:.2f} W, 700.00 W, 700.00 W, {mhz} MHz, 1980 MHz, "
                             f"{30 + int(watts / 18)}, 0x{mask:016x}")
        second += rng.uniform(0.246, 0.262)
    text = "\n".join(lines) + "\n"
    with open("examples/finetune_4xh100.csv.gz", "wb") as out:
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0, filename="") as packed:
            packed.write(text.encode())


if __name__ == "__main__":
    main()
