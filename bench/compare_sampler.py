"""Runs the sampler and a Python loop in turn over a driver's library that answers at once, and prints cost and goals.

Usage: compare_sampler.py BUILD_DIR SECONDS. Exits with 0 unless something could not run: a goal missed is a row.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 3
RATES = (10, 100)
# Row, what `sample_gpus` measures; None: the Python loop.
PARTS = {
    "the cheapest wake-up here": "wake",
    "a bare tick": "nothing",
    "8 GPUs": "gpus",
    "8 GPUs by Python and ctypes": None,
    "8 GPUs, host, 16 processes": "all",
}
ALL, GPUS, PYTHON = "8 GPUs, host, 16 processes", "8 GPUs", "8 GPUs by Python and ctypes"
WAKE, BARE = "the cheapest wake-up here", "a bare tick"
MOST_CORE_PERCENT = {10: 0.5, 100: 3}
MOST_MIB = 16
MOST_LATE_MS = 5
MOST_OF_PYTHON = 0.2


def sample(build, part, hz, seconds):
    library = build / "bench" / "libinstant_nvml.so"
    command = [build / "sample_gpus"] if part else [sys.executable, "bench/sample_gpus_peer.py"]
    command += [library, str(hz), str(seconds)] + ([part] if part else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {command[0]} failed with {done.returncode}")
    return json.loads(done.stdout)


def middle(runs, key):
    return statistics.median(run[key] for run in runs)


def goals(hz, runs):
    """Rows of (goal, value, whether it is met)."""
    core = middle(runs[ALL], "core_percent")
    tick = {name: middle(rows, "us_per_tick") for name, rows in runs.items()}
    ratio = tick[GPUS] / tick[PYTHON]
    floor = tick[WAKE] / tick[PYTHON]
    without = {name: (tick[GPUS] - tick[name]) / (tick[PYTHON] - tick[name]) for name in (WAKE, BARE)}
    late = middle(runs[ALL], "late_p99_ms")
    mib = middle(runs[ALL], "rss_mib")
    yield f"{ALL}: <= {MOST_CORE_PERCENT[hz]} % of a core", f"{core:.3f} %", core <= MOST_CORE_PERCENT[hz]
    yield f"<= {MOST_MIB} MiB", f"{mib:.1f}", mib <= MOST_MIB
    yield f"p99 of lateness <= {MOST_LATE_MS} ms", f"{late:.2f} ms", late <= MOST_LATE_MS
    yield f"GPUs <= {MOST_OF_PYTHON} of Python", f"{ratio:.2f}", ratio <= MOST_OF_PYTHON
    yield "what only wakes up, of Python: no sampler can take less", f"{floor:.2f}", floor <= MOST_OF_PYTHON
    for name, net in without.items():
        yield f"GPUs <= {MOST_OF_PYTHON} of Python, both without {name}", f"{net:.2f}", net <= MOST_OF_PYTHON


def main():
    build, seconds = Path(sys.argv[1]), float(sys.argv[2])
    lines = [f"Medians of {ROUNDS} runs of {seconds:g} s in turn, {os.cpu_count()} cores, "
             f"load {os.getloadavg()[0]:.1f}.\n",
             "| Hz | what | % of a core | us a tick | MiB | late p50 ms | p99 | max |\n"
             "|---|---|---|---|---|---|---|---|"]
    verdicts = []
    for hz in RATES:
        runs = {name: [] for name in PARTS}
        for _ in range(ROUNDS):
            for name, part in PARTS.items():
                runs[name].append(sample(build, part, hz, seconds))
        for name, rows in runs.items():
            late = " | ".join(f"{middle(rows, key):.2f}" if key in rows[0] else ""
                              for key in ("late_p50_ms", "late_p99_ms", "late_max_ms"))
            lines.append(f"| {hz} | {name} | {middle(rows, 'core_percent'):.3f} | {middle(rows, 'us_per_tick'):.1f} | "
                         f"{middle(rows, 'rss_mib'):.1f} | {late} |")
        for goal, value, met in goals(hz, runs):
            verdicts.append(f"| {hz} | {goal} | {value} | {'met' if met else 'not met'} |")
    lines += ["\n| Hz | goal | measured | |\n|---|---|---|---|", *verdicts]
    text = "\n".join(lines)
    print(text)
    results = Path("build/bench/sampler.md")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(text + "\n")


if __name__ == "__main__":
    main()
