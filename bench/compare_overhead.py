"""What `idleburn run` costs a workload that keeps every core busy, by switchback within one run: its sampler is stopped
and let go on in turn (A B B A), and the work done in each block is counted by the workload itself.

Usage: compare_overhead.py BUILD_DIR PAIRS SECONDS. A pair of neighbouring blocks is one observation, so that a machine
that drifts takes both along; short blocks tell more of a machine whose speed wanders. What starting and reporting cost
is not in the blocks; our processor time of the whole run, with both, is a row of its own. Exits with 0 unless something
could not run.
"""

import math
import mmap
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL_PERCENT = 1
# Student's t for 95 %, two sides, by degrees of freedom; beyond 29 Cornish and Fisher's first terms.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
       2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)
# In which a sampler let go on makes up for the tick it missed: what is due while it stands is of no block.
SETTLE_S = 0.02
WORKERS = os.cpu_count() or 1
# Counts rounds of a loop into its place of a shared file until the last place is set.
WORKER = """
import mmap, sys
place, last = int(sys.argv[2]), int(sys.argv[3])
with open(sys.argv[1], "r+b") as file:
    shared = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
rounds, x = 0, 0
while shared[last] == 0:
    for i in range(500): x = (x * 1103515245 + i) & 0xFFFFFFFF
    rounds += 1
    shared[place] = rounds
"""


class Run:
    """A workload under `idleburn run`, whose sampler can be stopped."""

    def __init__(self, build, folder):
        self.folder, build = folder, build.resolve()
        counts = folder / "counts"
        counts.write_bytes(bytes(8 * (WORKERS + 1)))
        with open(counts, "r+b") as file:
            # A number there is written at once; struct would clear it first.
            self.shared = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        (folder / "worker.py").write_text(WORKER)
        workers = " & ".join(f"'{sys.executable}' worker.py counts {i} {WORKERS}" for i in range(WORKERS))
        environment = dict(os.environ, XDG_DATA_HOME=str(folder),
                           IDLEBURN_NVML_LIBRARY=str(build / "bench" / "libinstant_nvml.so"))
        measure = build / "measure"
        command = [measure, "whole", build / "idleburn", "run", "--price", "2.5", "-o", "report", "--",
                   measure, "inner", "sh", "-c", workers + " & wait"]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            self.sampler = int(children.read().split()[0])

    def rounds(self):
        return sum(self.shared[:WORKERS])

    def block(self, measured, seconds):
        """Rounds a second while the sampler runs, or stands."""
        os.kill(self.sampler, signal.SIGCONT if measured else signal.SIGSTOP)
        time.sleep(SETTLE_S)
        start, before = time.monotonic(), self.rounds()
        time.sleep(seconds)
        return (self.rounds() - before) / (time.monotonic() - start)

    def finish(self):
        """Our processor seconds of the whole run as a per cent of what the cores had to give."""
        os.kill(self.sampler, signal.SIGCONT)
        self.shared[WORKERS] = 1
        if self.process.wait() != 0:
            sys.exit(f"bench: the workload failed: {self.process.stderr.read()}")
        wall, processor = (float(x) for x in (self.folder / "whole").read_text().split()[:2])
        inner = float((self.folder / "inner").read_text().split()[1])
        return 100 * (processor - inner) / (wall * WORKERS)


def interval(pairs):
    """Per cent of work lost, from pairs of rates (stopped, measured): the ratio of the means with its 95 % interval,
    from the spread of the pairs about that ratio. A block in which the machine stood still is one like others."""
    stopped, measured = (statistics.mean(side) for side in zip(*pairs))
    ratio = stopped / measured
    freedom = len(pairs) - 1
    t = T95[freedom - 1] if freedom <= len(T95) else 1.96 + 2.4 / freedom
    half = t * statistics.stdev(a - ratio * b for a, b in pairs) / (measured * math.sqrt(len(pairs)))
    return [100 * (x - 1) for x in (ratio, ratio - half, ratio + half)]


def verdict(low, high):
    if high <= GOAL_PERCENT:
        return "met"
    return "not met" if low > GOAL_PERCENT else "cannot tell: more pairs, or a quieter machine"


def main():
    build, pairs, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    if pairs < 2:
        sys.exit("bench: an interval takes two pairs at least")
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        run = Run(build, Path(folder))
        for pair in range(pairs):
            order = (False, True) if pair % 2 == 0 else (True, False)
            done = {measured: run.block(measured, seconds) for measured in order}
            rates.append((done[False], done[True]))
        ours = run.finish()
    mean, low, high = interval(rates)
    lines = [f"{WORKERS} processes that only compute, under `idleburn run` at 10 Hz: {pairs} pairs of blocks of "
             f"{seconds:g} s, the sampler stopped in one of each, load {os.getloadavg()[0]:.1f}.\n",
             "| what | overhead | 95 % interval | goal | |\n|---|---|---|---|---|",
             f"| work a second, stopped / measured | {mean:+.2f} % | {low:+.2f} to {high:+.2f} % | "
             f"< {GOAL_PERCENT} % | {verdict(low, high)} |",
             f"| our processor time with start and report, of all that the machine had | {ours:+.2f} % | - | "
             f"< {GOAL_PERCENT} % | {'met' if ours < GOAL_PERCENT else 'not met'} |"]
    text = "\n".join(lines)
    print(text)
    results = Path("build/bench/overhead.md")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(text + "\n")


if __name__ == "__main__":
    main()
