"""Runs the agent on the stand-in driver of eight GPUs, each with a job and a process, and prints its cost and goals.

Usage: agent_cost.py BUILD_DIR SECONDS. The stand-in works inside the agent's process, so its cost is in the figures.
Exits with 0 unless something could not run: a goal missed is a row.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

GPUS = 8
SCRAPE_S = 5
MOST_CORE_PERCENT = 1
MOST_MIB = 24


def uuid(gpu):
    return f"GPU-{gpu + 1:08d}-0000-0000-0000-000000000000"


def write_node(folder, pids):
    """The GPUs for the stand-in, and a prolog's file for each."""
    lines = [f"gpu {gpu} name=NVIDIA_H100_80GB_HBM3 memory=80GiB uuid={uuid(gpu)}" for gpu in range(GPUS)]
    lines += [f"at 0 gpu {gpu} util={(13 * gpu) % 101} sm=50 power={100 + 70 * gpu} procs={pid}:1GiB"
              for gpu, pid in enumerate(pids)]
    (folder / "gpus").write_text("\n".join(lines) + "\n")
    (folder / "jobs").mkdir()
    for gpu in range(GPUS):
        (folder / "jobs" / uuid(gpu)).write_text(f"{4711 + gpu} {int(time.time())} 0\n")


def address(log):
    for _ in range(200):
        found = re.search(r"serving (http://\S+)", log.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    sys.exit("bench: the agent does not serve:\n" + log.read_text())


def scrape(url):
    with urllib.request.urlopen(url, timeout=5) as reply:
        return reply.read().decode()


def check(metrics):
    """Every GPU has its job, so that what is measured is the whole work."""
    jobs = set(re.findall(r'idleburn_job_phase_seconds_total\{[^}]*job="(\d+)"', metrics))
    if len(jobs) != GPUS:
        sys.exit(f"bench: {len(jobs)} of {GPUS} jobs are counted")
    return sum(1 for line in metrics.splitlines() if line and not line.startswith("#"))


def run(build, seconds, folder):
    """Seconds on the processor, wall seconds, peak MiB, series of the last scrape, scrapes."""
    holders = [subprocess.Popen(["sleep", str(int(seconds) + 60)]) for _ in range(GPUS)]
    try:
        write_node(folder, [holder.pid for holder in holders])
        environment = dict(os.environ, XDG_DATA_HOME=str(folder), IDLEBURN_STANDIN_SCRIPT=str(folder / "gpus"),
                           IDLEBURN_NVML_LIBRARY=str(build / "standin" / "libnvidia-ml.so.1"))
        log = folder / "log"
        command = [build / "measure", folder / "cost", build / "idleburn", "agent", "--hz", "10", "--price", "2.95",
                   "--web.listen-address", "127.0.0.1:0", "--state-dir", folder / "state", "--job-files",
                   folder / "jobs", "--node", "n1", "--for", f"{seconds}s"]
        with open(log, "w", encoding="utf-8") as out:
            agent = subprocess.Popen(command, env=environment, stderr=out)
        url = address(log)
        metrics, scrapes, until = "", 0, time.monotonic() + seconds - 1
        while time.monotonic() + SCRAPE_S < until:
            time.sleep(SCRAPE_S)
            metrics = scrape(url)
            scrapes += 1
        if agent.wait() != 0:
            sys.exit(f"bench: the agent ended with {agent.returncode}:\n" + log.read_text())
        wall, cpu, mib = (float(part) for part in (folder / "cost").read_text().split())
        return cpu, wall, mib, check(metrics), scrapes
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def main():
    build, seconds = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    if seconds < 2 * SCRAPE_S + 1:
        sys.exit(f"bench: at least {2 * SCRAPE_S + 1} s are needed for two scrapes")
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall, mib, series, scrapes = run(build, seconds, Path(folder))
    core = 100 * cpu / wall
    lines = [f"`idleburn agent` for {wall:.1f} s with {GPUS} GPUs, jobs and processes at 10 Hz: {series} series, "
             f"{scrapes} scrapes; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.\n",
             "| goal | measured | |\n|---|---|---|"]
    for goal, value, met in ((f"<= {MOST_CORE_PERCENT} % of a core", f"{core:.2f} %", core <= MOST_CORE_PERCENT),
                             (f"<= {MOST_MIB} MiB at the peak", f"{mib:.1f} MiB", mib <= MOST_MIB)):
        lines.append(f"| {goal} | {value} | {'met' if met else 'not met'} |")
    text = "\n".join(lines)
    print(text)
    results = Path("build/bench/agent.md")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(text + "\n")


if __name__ == "__main__":
    main()
