#!/usr/bin/env python3
"""The fleet's ledger beside the engine's own query for the same answer: times as ratios, memory, and whether the sums
are exact. See docs/scale.md.

usage: fleet_ledger.py BUILD_DIR [--nodes 250] [--hours 168] [--jobs] [--runs 5] [--engine URL --truth FILE]
Starts a VictoriaMetrics with its default limits, loads bench/fleet_scale.py, pulls all hours but two, then those two,
then asks for days by team and phase. Prints a table and leaves it in build/bench/fleet.md. --engine: use one that is
loaded already; --truth: where its sums are kept, or are to be kept."""
import argparse
import csv
import datetime
import io
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import fleet_scale

DAY = 86400
GOAL_RATIO, GOAL_DAYS_S, GOAL_PULL_S, GOAL_MIB = 0.33, 0.3, 1.0, 256
CLOSED = "idleburn_owner_phase_closed_seconds_total"
ENGINE_QUERIES = {
    "increase": f"sum by (team, phase) (increase({CLOSED}[1d]))",
    "last - last": f"sum by (team, phase) (last_over_time({CLOSED}[50m]) - last_over_time({CLOSED}[50m] offset 1d))",
}


def stamp(second):
    return datetime.datetime.fromtimestamp(second, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def start_engine(folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    engine = subprocess.Popen(["victoria-metrics", f"-storageDataPath={folder}/vm", f"-httpListenAddr=127.0.0.1:{port}",
                               "-search.latencyOffset=0s", "-retentionPeriod=100y", "-loggerLevel=ERROR"])
    for _ in range(200):
        try:
            urllib.request.urlopen(url + "/health").read()
            return engine, url
        except OSError:
            time.sleep(0.05)
    engine.kill()
    sys.exit("bench: victoria-metrics did not start")


class Bench:
    def __init__(self, build, url, folder, hours):
        self.build, self.url, self.folder, self.hours = build, url, folder, hours
        self.measured = os.path.join(folder, "measured")

    def run(self, action, last_hour, *more):
        """Runs `idleburn fleet`. Returns wall seconds, processor seconds, MiB and what it printed."""
        words = [f"{self.build}/measure", self.measured, f"{self.build}/idleburn", "fleet", action,
                 "--from", stamp(fleet_scale.START), "--to", stamp(fleet_scale.START + 3600 * last_hour),
                 "--ledger", f"{self.folder}/ledger", *more]
        out = subprocess.run([w for w in words if w], check=True, stdout=subprocess.PIPE).stdout.decode()
        wall, cpu, mib = (float(x) for x in open(self.measured).read().split())
        return wall, cpu, mib, out

    def pull(self, last_hour):
        return self.run("pull", last_hour, "--engine", self.url)

    def days(self):
        return self.run("days", self.hours, "--format", "csv")

    def ask_engine(self, query):
        """The engine's own answer, without its cache."""
        form = {"query": query, "start": fleet_scale.START + DAY + 3300, "step": DAY, "nocache": 1,
                "end": fleet_scale.START + 3600 * self.hours + 3300}
        begin = time.monotonic()
        with urllib.request.urlopen(self.url + "/api/v1/query_range", urllib.parse.urlencode(form).encode()) as answer:
            answer.read()
        return time.monotonic() - begin


def exact(csv_text, truth):
    """Whether every cell by day, team and phase is the loaded one, to the millisecond."""
    got = {}
    for row in csv.DictReader(io.StringIO(csv_text)):
        day = (datetime.date.fromisoformat(row["day"]).toordinal() -
               datetime.datetime.fromtimestamp(fleet_scale.START, datetime.timezone.utc).date().toordinal())
        for phase in fleet_scale.PHASES:
            got[day, row["team"], phase] = round(float(row[phase + "_gpu_seconds"]) * 1000)
    return {k: v for k, v in got.items() if v} == {k: v * 1000 for k, v in truth.items() if v}


def truth_of(args, url):
    if args.truth and os.path.exists(args.truth):
        return {tuple(key): value for key, value in json.load(open(args.truth))}
    truth = fleet_scale.load(url, args.nodes, args.gpus, args.hours, args.jobs)
    urllib.request.urlopen(url + "/internal/force_flush").read()
    if args.truth:
        json.dump([[list(key), value] for key, value in truth.items()], open(args.truth, "w"))
    return truth


def report(args, bench, truth):
    whole = args.nodes * args.gpus >= 10_000 and args.hours >= 720

    def met(value, goal):
        if not whole:
            return "goal of a month of 10,000 GPUs"
        return "met" if value <= goal else "not met"

    first = bench.pull(args.hours - 2)
    second = bench.pull(args.hours)
    idle = bench.pull(args.hours)
    days, engine = [], {name: [] for name in ENGINE_QUERIES}
    for _ in range(args.runs):  # in turn
        days.append(bench.days())
        for name, query in ENGINE_QUERIES.items():
            engine[name].append(bench.ask_engine(query))
    wall = statistics.median(run[0] for run in days)
    engine = {name: statistics.median(times) for name, times in engine.items()}
    fastest = min(engine, key=engine.get)
    size = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(f"{bench.folder}/ledger") for n in names)
    peak = max(run[2] for run in [first, second] + days)
    print(f"{args.nodes * args.gpus:,} GPUs on {args.nodes:,} nodes, {args.hours} hours, "
          f"{'with' if args.jobs else 'without'} jobs; medians of {args.runs} runs in turn.\n")
    print("| what | s | CPU s | MiB | goal |")
    print("|---|---|---|---|---|")
    print(f"| first pull, {args.hours - 2} hours | {first[0]:.1f} | {first[1]:.1f} | {first[2]:.0f} | |")
    print(f"| next pull, 2 hours | {second[0]:.2f} | {second[1]:.2f} | {second[2]:.0f} | "
          f"<= {GOAL_PULL_S:g} s: {met(second[0], GOAL_PULL_S)} |")
    print(f"| pull without a new hour | {idle[0]:.2f} | {idle[1]:.2f} | {idle[2]:.0f} | |")
    for name, seconds in engine.items():
        print(f"| engine by day, team and phase, {name} | {seconds:.3f} | | | |")
    print(f"| ledger by day, team and phase | {wall:.3f} | {statistics.median(r[1] for r in days):.3f} | "
          f"{max(r[2] for r in days):.0f} | <= {GOAL_DAYS_S:g} s: {met(wall, GOAL_DAYS_S)} |")
    print(f"| ledger / engine ({fastest}) | {wall / engine[fastest]:.2f} | | | "
          f"<= {GOAL_RATIO:g}: {met(wall / engine[fastest], GOAL_RATIO)} |")
    print(f"| peak memory | | | {peak:.0f} | <= {GOAL_MIB} MiB: {met(peak, GOAL_MIB)} |")
    same = exact(days[0][3], truth)
    print(f"\nThe ledger takes {size / 1e6:.0f} MB. Its sums {'are exact' if same else 'DIFFER from what was loaded'}.")
    return same


def main():
    args = argparse.ArgumentParser()
    args.add_argument("build")
    args.add_argument("--nodes", type=int, default=250)
    args.add_argument("--gpus", type=int, default=8)
    args.add_argument("--hours", type=int, default=168)
    args.add_argument("--jobs", action="store_true")
    args.add_argument("--runs", type=int, default=5)
    args.add_argument("--engine")
    args.add_argument("--truth")
    args = args.parse_args()
    engine = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            url = args.engine
            if not url:
                engine, url = start_engine(folder)
            begin = time.monotonic()
            truth = truth_of(args, url)
            print(f"bench: the engine was loaded in {time.monotonic() - begin:.0f} s", file=sys.stderr)
            return 0 if report(args, Bench(args.build, url, folder, args.hours), truth) else 1
        finally:
            if engine:
                engine.kill()
                engine.wait()


if __name__ == "__main__":
    sys.exit(main())
