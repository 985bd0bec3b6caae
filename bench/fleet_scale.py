#!/usr/bin/env python3
"""Loads a VictoriaMetrics with the closed counters of a large fleet, whose sums are known.

usage: fleet_scale.py URL [--nodes 1250] [--gpus 8] [--hours 720] [--jobs]
Hourly samples ten minutes after each edge, from 2026-03-01T00:00:00Z on: GPU counters, four teams a node, and with
--jobs four jobs a node that change every eight hours. Prints the GPU-hours by phase that were loaded."""
import argparse
import random
import urllib.request

START = 1772323200
PHASES = ("idle", "underutilized", "productive", "compute_bound", "unobserved")


def post(url, lines):
    body = "".join(lines).encode()
    urllib.request.urlopen(urllib.request.Request(url + "/api/v1/import", data=body)).read()


def line(name, labels, values, stamps):
    label_text = ",".join(f'"{k}":"{v}"' for k, v in labels.items())
    return f'{{"metric":{{"__name__":"{name}",{label_text}}},"values":[{values}],"timestamps":[{stamps}]}}\n'


def main():
    args = argparse.ArgumentParser()
    args.add_argument("url")
    args.add_argument("--nodes", type=int, default=1250)
    args.add_argument("--gpus", type=int, default=8)
    args.add_argument("--hours", type=int, default=720)
    args.add_argument("--jobs", action="store_true")
    args = args.parse_args()
    edges = [START + 3600 * h for h in range(args.hours + 1)]
    stamps = ",".join(str((e + 600) * 1000) for e in edges)
    epoch = str(START - 7200)
    total = dict.fromkeys(PHASES, 0)
    for n in range(args.nodes):
        node, rng, lines = f"node{n:05d}", random.Random(n), []
        lines.append(line("idleburn_closed_timestamp_seconds", {"node": node}, ",".join(map(str, edges)), stamps))
        teams = [dict.fromkeys(PHASES, None) for _ in range(4)]
        for g in range(args.gpus):
            # Seconds of each hour by phase: two cuts in a short cycle of patterns.
            pattern = []
            for _ in range(24):
                a, b, c = sorted(rng.randrange(3601) for _ in range(3))
                pattern.append((a, b - a, c - b, 3600 - c, 0))
            for p, phase in enumerate(PHASES):
                value, column = 7200 if p == 0 else 0, []
                for h in range(args.hours + 1):
                    column.append(value)
                    value += pattern[h % 24][p]
                total[phase] += column[-1] - column[0]
                team = teams[g % 4]
                team[phase] = column if team[phase] is None else [x + y for x, y in zip(team[phase], column)]
                lines.append(line("idleburn_gpu_phase_closed_seconds_total",
                                  {"node": node, "uuid": f"GPU-{n:05d}-{g}", "phase": phase, "epoch": epoch},
                                  ",".join(map(str, column)), stamps))
        for t, team in enumerate(teams):
            for phase, column in team.items():
                lines.append(line("idleburn_owner_phase_closed_seconds_total",
                                  {"node": node, "team": f"team{(n + t) % 20}", "phase": phase, "epoch": epoch},
                                  ",".join(map(str, column)), stamps))
                if not args.jobs:
                    continue
                for first in range(0, args.hours, 8):
                    labels = {"node": node, "cluster": "c1", "job": f"{n}-{t}-{first}", "user": f"u{t}",
                              "team": f"team{(n + t) % 20}", "experiment": "e", "phase": phase}
                    # It begins at the first edge; its last hour ends on an edge, and is shown once after it.
                    inside = range(first + 1, min(first + 8, args.hours + 1))
                    base = column[first]
                    seen = [(edges[h] + 600, column[h] - base) for h in inside]
                    twin = ",".join(str(v) for _, v in seen)
                    if seen:
                        lines.append(line("idleburn_job_phase_closed_seconds_total", {**labels, "epoch": str(edges[first])},
                                          twin, ",".join(str(t * 1000) for t, _ in seen)))
                    if first + 8 <= args.hours:
                        seen.append((edges[first + 8] + 60, column[first + 8] - base))
                        seen.append((edges[first + 8] + 120, column[first + 8] - base))
                        seen.insert(-2, (edges[first + 8] - 1, column[first + 8] - base))
                    if seen:
                        lines.append(line("idleburn_job_phase_seconds_total", labels, ",".join(str(v) for _, v in seen),
                                          ",".join(str(t * 1000) for t, _ in seen)))
        post(args.url, lines)
    print(" ".join(f"{phase}={total[phase] / 3600:.6f}" for phase in PHASES))


if __name__ == "__main__":
    main()
