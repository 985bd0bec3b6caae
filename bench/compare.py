"""Runs idleburn and DuckDB in turn on the logs that tools/bench.sh made, and prints ratios, goals and agreement.

Usage: compare.py BUILD_DIR DATA_DIR. Exits with 0 unless something could not run: a goal missed is a row of the table.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

RUNS = 5
OURS_EACH = 3  # of idleburn for one of DuckDB, which takes much longer: both medians span the same minutes
GAP_S = 5
NOMINAL_TICK_S = 0.1
BANDS = ("idle", "underutilized", "productive", "compute_bound")

# The log as a relation of (gpu, stamp, util, watts), by file.
CSV = "read_csv('{path}', all_varchar = true)"
PARSED = """SELECT "index"::INT AS gpu, strptime(timestamp, '%Y/%m/%d %H:%M:%S.%g') AS stamp,
    {util}::INT AS util, {watts}::DOUBLE AS watts FROM """ + CSV
SOURCES = {
    "units.csv": PARSED.format(util="""replace("utilization.gpu [%]", ' %', '')""",
                               watts="""replace("power.draw [W]", ' W', '')""", path="{path}"),
    "plain.csv": """SELECT "index" AS gpu, timestamp AS stamp, "utilization.gpu" AS util, "power.draw" AS watts
        FROM read_csv('{path}', timestampformat = '%Y/%m/%d %H:%M:%S.%g')""",
    "log.parquet": """SELECT "index" AS gpu, timestamp AS stamp, "utilization.gpu" AS util, "power.draw" AS watts
        FROM '{path}'""",
}

BAND_SUMS = ", ".join(f"sum({{weight}}) FILTER (util >= {low} AND util < {high})"
                      for low, high in ((0, 10), (10, 70), (70, 90), (90, 101)))

# What a quick query does: every row is 0.1 s.
FIXED = f"SELECT {BAND_SUMS.format(weight=NOMINAL_TICK_S)}, sum(watts * {NOMINAL_TICK_S}) / 3.6e6 FROM ({{source}})"
# Time from the stamps: a row lasts until the GPU's next one, longer gaps are nobody's; power between two rows.
EXACT = f"""SELECT {BAND_SUMS.format(weight='dt / 1e6')}, sum((watts + next_watts) / 2 * dt) / 3.6e12
    FROM (SELECT util, watts, lead(watts) OVER w AS next_watts, epoch_us(lead(stamp) OVER w) - epoch_us(stamp) AS dt
          FROM ({{source}}) WINDOW w AS (PARTITION BY gpu ORDER BY stamp)) WHERE dt <= {GAP_S * 1_000_000}"""
# idleburn's published rule for fast recorders: a wall-clock second with a reading counts whole, by its mean.
GRID = """SELECT count(*) FILTER (s < 10 * n), count(*) FILTER (s >= 10 * n AND s < 70 * n),
    count(*) FILTER (s >= 70 * n AND s < 90 * n), count(*) FILTER (s >= 90 * n)
    FROM (SELECT sum(util) AS s, count(*) AS n FROM ({source}) GROUP BY gpu, epoch_us(stamp) // 1000000)"""

# File, what the peer answers, its query, threads, the least ratio peer/idleburn, most MiB of idleburn.
COMPARISONS = (
    ("units.csv", "fixed interval", FIXED, 1, 5, 32),
    ("units.csv", "fixed interval", FIXED, 2, 5, 32),
    ("plain.csv", "exact", EXACT, 1, 8, 32),
    ("plain.csv", "exact", EXACT, 2, 8, 32),
    ("plain.csv", "fixed interval", FIXED, 1, 3, 32),
    ("plain.csv", "fixed interval", FIXED, 2, 3, 32),
    ("log.parquet", "exact", EXACT, 1, 4, 96),
    ("log.parquet", "exact", EXACT, 2, 2, 96),
    ("log.parquet", "fixed interval", FIXED, 1, 1 / 1.1, 96),
)


class Bench:
    def __init__(self, build, data):
        self.build = build
        self.data = data

    def run(self, command):
        """Wall seconds, seconds on the processor, peak MiB and standard output of a command."""
        took = self.data / "took"
        done = subprocess.run([self.build / "measure", took, *command], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench: {command[0]} {command[1]} ... failed with {done.returncode}")
        return [float(x) for x in took.read_text().split()] + [done.stdout]

    def audit(self, name, threads):
        return self.run([self.build / "idleburn", "audit", self.data / name, "--price", "2.5", "--max-gap", f"{GAP_S}s",
                         "--format", "json", "--quiet", "--threads", str(threads)])

    def query(self, name, sql, threads):
        source = SOURCES[name].format(path=self.data / name)
        return self.run([self.build / "duckdb_query", str(threads), sql.format(source=source)])


def compare(bench, name, answer, sql, threads, goal, most_mib):
    """One row of the table: medians of runs taken in turn."""
    ours, theirs = [], []
    for _ in range(RUNS):
        theirs.append(bench.query(name, sql, threads))
        ours += [bench.audit(name, threads) for _ in range(OURS_EACH)]
    wall, cpu, mib = (statistics.median(run[i] for run in ours) for i in range(3))
    peer_wall, peer_cpu, peer_mib = (statistics.median(run[i] for run in theirs) for i in range(3))
    ratio = peer_wall / wall
    met = "met" if ratio >= goal and mib <= most_mib else "not met"
    size = (bench.data / name).stat().st_size / 1e6
    return (f"| {name} | {answer} | {threads} | {wall:.2f} | {size / wall:,.0f} | {mib:.0f} | {peer_wall:.2f} | "
            f"{peer_mib:.0f} | {ratio:.1f} | {peer_cpu / cpu:.1f} | >= {goal:.2g}x, <= {most_mib} MiB | {met} |")


def agreement(bench, name):
    """Rows that hold idleburn's answer against DuckDB's."""
    report = json.loads(bench.audit(name, 2)[3])
    ours = [report["phases"][band]["gpu_hours"] * 3600 for band in BANDS]
    grid = [float(x) for x in bench.query(name, GRID, 2)[3].split()]
    exact = [float(x) for x in bench.query(name, EXACT, 2)[3].split()]
    fixed = [float(x) for x in bench.query(name, FIXED, 2)[3].split()]
    for band, mine, theirs in zip(BANDS, ours, grid):
        same = "agrees" if abs(mine - theirs) < 0.01 else "DIFFERS"
        yield f"| {name} | {band}, GPU-seconds by the second | {mine:,.3f} | {theirs:,.3f} | {same} |"
    observed, stamped = sum(ours), sum(exact[:4])
    # By the second, one with a reading counts whole and one without is unobserved, in gaps below 5 s too.
    yield (f"| {name} | observed GPU-seconds against stamps | {observed:,.0f} | {stamped:,.0f} | "
           f"{'agrees' if abs(observed / stamped - 1) < 0.01 else 'DIFFERS'} within 1 % |")
    yield (f"| {name} | energy, kWh, against stamps | {report['energy_kwh']:.4f} | {exact[4]:.4f} | "
           f"{'agrees' if abs(report['energy_kwh'] / exact[4] - 1) < 0.01 else 'DIFFERS'} within 1 % |")
    yield (f"| {name} | observed against rows x {NOMINAL_TICK_S} s | {observed:,.0f} | {sum(fixed[:4]):,.0f} | "
           f"ratio {observed / sum(fixed[:4]):.4f}: the recorder really ticks every 107.8 ms |")


def main():
    bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]))
    lines = []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    say(f"Medians of whole-process runs in turn, {OURS_EACH} of idleburn after each of {RUNS} of DuckDB,"
        f" {os.cpu_count()} cores; ratios are peer / idleburn, above 1 is faster.\n")
    say("| file | DuckDB answers | threads | idleburn s | MB/s | MiB | DuckDB s | MiB | wall ratio | CPU ratio | goal |"
        " |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in COMPARISONS:
        say(compare(bench, *row))
    say("\n| file | what | idleburn | DuckDB | |\n|---|---|---|---|---|")
    for name in SOURCES:
        for line in agreement(bench, name):
            say(line)
    results = Path("build/bench/results.md")
    results.write_text("\n".join(lines) + "\n")
    print(f"\nwritten to {results}")


if __name__ == "__main__":
    main()
