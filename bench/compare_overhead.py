"""What `idleburn run` costs a workload that keeps every core busy, by switchback: alone and measured in turn.

Usage: compare_overhead.py BUILD_DIR PAIRS SECONDS. Each pair runs both, the order changes from pair to pair, and the
logarithm of the ratio within a pair is one observation, so that a machine that drifts takes both along. Exits with 0
unless something could not run.
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GOAL_PERCENT = 1
# Student's t for 95 %, two sides, by degrees of freedom.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
       2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)
WORK = "x = 0\nfor i in range({n}): x = (x * 1103515245 + i) & 0xFFFFFFFF"


class Switchback:
    def __init__(self, build, folder, count):
        self.build = build.resolve()
        self.folder = folder
        loop = f"'{sys.executable}' -c '{WORK.format(n=count)}'"
        self.work = ["sh", "-c", " & ".join([loop] * (os.cpu_count() or 1)) + " & wait"]
        self.environment = dict(os.environ, XDG_DATA_HOME=str(folder),
                                IDLEBURN_NVML_LIBRARY=str(self.build / "bench" / "libinstant_nvml.so"))

    def run(self, measured):
        """Wall seconds, processor seconds of all processes with ours, and of the workload's alone."""
        whole, inner = self.folder / "whole", self.folder / "inner"
        measure = self.build / "measure"
        ours = [self.build / "idleburn", "run", "--price", "2.5", "-o", self.folder / "report", "--"]
        command = [measure, whole, *(ours if measured else []), measure, inner, *self.work]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"bench: the workload failed with {done.returncode}: {done.stderr}")
        wall, processor = (float(x) for x in whole.read_text().split()[:2])
        return wall, processor, float(inner.read_text().split()[1])


def loops_in(seconds):
    """How many rounds of the loop take about so long here."""
    trial = 2_000_000
    script = f"import time\na = time.process_time()\n{WORK.format(n=trial)}\nprint(time.process_time() - a)"
    took = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    return int(trial * seconds / float(took.stdout))


def interval(ratios):
    """Mean and 95 % interval of log ratios, as per cent."""
    mean = statistics.mean(ratios)
    half = T95[min(len(ratios) - 1, len(T95)) - 1] * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return [100 * math.expm1(x) for x in (mean, mean - half, mean + half)]


def verdict(low, high):
    if high <= GOAL_PERCENT:
        return "met"
    return "not met" if low > GOAL_PERCENT else "cannot tell: more pairs, or a quieter machine"


def main():
    build, pairs, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    if pairs < 2:
        sys.exit("bench: an interval takes two pairs at least")
    wall, processor, ours = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        switchback = Switchback(build, Path(folder), loops_in(seconds))
        switchback.run(True)  # so that files are read once before it counts
        for pair in range(pairs):
            order = (False, True) if pair % 2 == 0 else (True, False)
            took = {measured: switchback.run(measured) for measured in order}
            wall.append(math.log(took[True][0] / took[False][0]))
            processor.append(math.log(took[True][1] / took[False][1]))
            wall_s, all_s, workload_s = took[True]
            ours.append(math.log1p((all_s - workload_s) / (wall_s * (os.cpu_count() or 1))))
    lines = [f"A workload of {os.cpu_count()} processes that only compute, {seconds:g} s each, alone and under "
             f"`idleburn run` at 10 Hz: {pairs} pairs in turn, load {os.getloadavg()[0]:.1f}.\n",
             "| time | overhead | 95 % interval | goal | |\n|---|---|---|---|---|"]
    for name, ratios in (("wall, measured / alone", wall), ("processor, measured / alone", processor),
                         ("processor, ours / all that the machine had meanwhile", ours)):
        mean, low, high = interval(ratios)
        lines.append(f"| {name} | {mean:+.2f} % | {low:+.2f} to {high:+.2f} % | < {GOAL_PERCENT} % | "
                     f"{verdict(low, high)} |")
    text = "\n".join(lines)
    print(text)
    results = Path("build/bench/overhead.md")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(text + "\n")


if __name__ == "__main__":
    main()
