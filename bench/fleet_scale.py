#!/usr/bin/env python3
"""Loads a VictoriaMetrics with the closed counters of a large fleet of known sums.

usage: fleet_scale.py URL [--nodes 1250] [--gpus 8] [--hours 720] [--jobs]
Hourly samples ten minutes after each edge, from 2026-03-01T00:00:00Z on: GPU counters, four teams a node, and with
--jobs four jobs a node that change every eight hours. Prints the GPU-hours by phase that were loaded."""
import argparse
import collections
import random
import urllib.request

START = 1772323200
PHASES = ("idle", "underutilized", "productive", "compute_bound", "unobserved")
TEAMS_OF_NODE = 4
TEAMS = 20
JOB_HOURS = 8


def post(url, lines):
    body = "".join(lines).encode()
    urllib.request.urlopen(urllib.request.Request(url + "/api/v1/import", data=body)).read()


def line(name, labels, values, stamps):
    label_text = ",".join(f'"{k}":"{v}"' for k, v in labels.items())
    return f'{{"metric":{{"__name__":"{name}",{label_text}}},"values":[{values}],"timestamps":[{stamps}]}}\n'


def job_lines(labels, column, edges, hours, shift):
    """One job after the other, `shift` hours before every eighth hour: in each hour an eighth of all jobs end. Each
    begins at an edge. Its last hour ends on an edge, and is shown twice after it."""
    lines = []
    for first in range(-shift, hours, JOB_HOURS):
        labels["job"] = f'{labels["node"]}-{labels["user"]}-{first + shift}'
        begin = max(first, 0)
        base = column[begin] if first >= 0 else 0
        inside = range(0 if first < 0 else first + 1, min(first + JOB_HOURS, hours + 1))
        seen = [(edges[h] + 600, column[h] - base) for h in inside]
        if seen:
            lines.append(line("idleburn_job_phase_closed_seconds_total", {**labels, "epoch": str(edges[begin])},
                              ",".join(str(v) for _, v in seen), ",".join(str(t * 1000) for t, _ in seen)))
        last = first + JOB_HOURS
        if last <= hours:
            value = column[last] - base
            seen += [(edges[last] - 1, value), (edges[last] + 60, value), (edges[last] + 120, value)]
        if seen:
            lines.append(line("idleburn_job_phase_seconds_total", labels, ",".join(str(v) for _, v in seen),
                              ",".join(str(t * 1000) for t, _ in seen)))
    return lines


def gpu_columns(rng, hours):
    """The closed counter of each phase at each edge: two cuts of an hour, in a cycle of 24 patterns."""
    pattern = []
    for _ in range(24):
        a, b, c = sorted(rng.randrange(3601) for _ in range(3))
        pattern.append((a, b - a, c - b, 3600 - c, 0))
    columns = []
    for p in range(len(PHASES)):
        value, column = 7200 if p == 0 else 0, []
        for h in range(hours + 1):
            column.append(value)
            value += pattern[h % 24][p]
        columns.append(column)
    return columns


def load(url, nodes, gpus, hours, jobs):
    """Loads the fleet. Returns the seconds of each (day, team, phase); days count from 0."""
    edges = [START + 3600 * h for h in range(hours + 1)]
    stamps = ",".join(str((e + 600) * 1000) for e in edges)
    epoch = str(START - 7200)
    truth = collections.Counter()
    for n in range(nodes):
        node, rng, lines = f"node{n:05d}", random.Random(n), []
        lines.append(line("idleburn_closed_timestamp_seconds", {"node": node}, ",".join(map(str, edges)), stamps))
        teams = [[[0] * (hours + 1) for _ in PHASES] for _ in range(TEAMS_OF_NODE)]
        for g in range(gpus):
            for p, column in enumerate(gpu_columns(rng, hours)):
                team = teams[g % TEAMS_OF_NODE]
                team[p] = [x + y for x, y in zip(team[p], column)]
                lines.append(line("idleburn_gpu_phase_closed_seconds_total",
                                  {"node": node, "uuid": f"GPU-{n:05d}-{g}", "phase": PHASES[p], "epoch": epoch},
                                  ",".join(map(str, column)), stamps))
        for t, columns in enumerate(teams):
            name = f"team{(n + t) % TEAMS}"
            for p, column in enumerate(columns):
                for h in range(0, hours, 24):
                    truth[h // 24, name, PHASES[p]] += column[min(h + 24, hours)] - column[h]
                labels = {"node": node, "team": name, "phase": PHASES[p]}
                lines.append(line("idleburn_owner_phase_closed_seconds_total", {**labels, "epoch": epoch},
                                  ",".join(map(str, column)), stamps))
                if jobs:
                    labels = {"node": node, "cluster": "c1", "job": "", "user": f"u{t}", "team": name,
                              "experiment": "e", "phase": PHASES[p]}
                    lines += job_lines(labels, column, edges, hours, (n + 2 * t) % JOB_HOURS)
        post(url, lines)
    return truth


def main():
    args = argparse.ArgumentParser()
    args.add_argument("url")
    args.add_argument("--nodes", type=int, default=1250)
    args.add_argument("--gpus", type=int, default=8)
    args.add_argument("--hours", type=int, default=720)
    args.add_argument("--jobs", action="store_true")
    args = args.parse_args()
    truth = load(args.url, args.nodes, args.gpus, args.hours, args.jobs)
    sums = {phase: sum(s for (_, _, p), s in truth.items() if p == phase) for phase in PHASES}
    print(" ".join(f"{phase}={sums[phase] / 3600:.6f}" for phase in PHASES))


if __name__ == "__main__":
    main()
