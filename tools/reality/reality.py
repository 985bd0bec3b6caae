#!/usr/bin/env python3
"""Holds the product against a real GPU, in pieces of under ten minutes, and prints the tables of docs/reality.md.

    reality.py PIECE... [--idleburn build/reality/idleburn] [--out DIR] [--seconds 30] [--python python3]

Pieces: abi, truth, overhead, workloads:FIRST-LAST (1 to 10, as workloads.py lists them), plan, table. Each leaves its
figures in DIR/PIECE.json and its recordings and traces beside them; `table` prints all that is there. --rehearse runs
the stand-in's simulated training instead of PyTorch, to try the way through without a GPU.
"""
import argparse
import csv
import glob
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PRICE = "4"

# Workload: (causes that are right, mode of the simulated training that stands for it in a rehearsal).
WORKLOADS = {
    "starved_loader": (("loader_cpu_spare_cores",), "starved"),
    "storage_bound": (("storage",), "starved"),
    "small_batch": (("launch_bound",), "small-batch"),
    "compute_bound": (("compute_bound", "healthy"), "compute-bound"),
    "pageable_copies": (("h2d_bandwidth", "h2d_small"), "starved"),
    "item_every_layer": (("synchronization", "launch_bound"), "small-batch"),
    "frequent_checkpoints": (("checkpoint_stall",), "in-step"),
    "idle_held": (("idle_held",), "idle-held"),
    "spin_wait": (("spin_wait",), "spin-wait"),
    "memory_pressure": (("memory_pressure",), "small-batch"),
}


class Bench:
    def __init__(self, flags):
        self.flags = flags
        os.makedirs(flags.out, exist_ok=True)

    def path(self, name):
        return os.path.join(self.flags.out, name)

    def keep(self, piece, figures):
        with open(self.path(piece + ".json"), "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
        print(json.dumps(figures, indent=1))

    def idleburn(self, *words, check=True):
        command = [self.flags.idleburn, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise RuntimeError("%s: %s" % (" ".join(command), done.stderr[-2000:]))
        return done

    def audit(self, *inputs):
        return json.loads(self.idleburn("audit", *inputs, "--price", PRICE, "--format", "json", "--quiet").stdout)

    def workload(self, name, fixed, trace=None):
        if self.flags.rehearse:
            return [self.flags.rehearse, WORKLOADS[name][1], str(self.flags.seconds)]
        words = [self.flags.python, os.path.join(HERE, "workloads.py"), name, "--seconds", str(self.flags.seconds),
                 "--folder", self.flags.out]
        return words + (["--fixed"] if fixed else []) + (["--trace", trace] if trace else [])


def used(before):
    """Processor seconds of the children since `before`, a getrusage."""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def abi(bench):
    """Every declaration against the header and the driver that are installed."""
    headers = [path for pattern in ("/usr/local/cuda*/include/nvml.h", "/usr/include/nvml.h",
                                    "/opt/**/include/nvml.h") for path in glob.glob(pattern, recursive=True)]
    command = [sys.executable, os.path.join(ROOT, "tools", "nvml_abi.py"), "--all", "--library", "libnvidia-ml.so.1"]
    if headers:
        command += ["--header", headers[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    bench.keep("abi", {"header": headers[:1], "code": done.returncode, "table": (done.stdout + done.stderr).split("\n")})


def column(row, start):
    return next(name for name in row if name.startswith(start))


def energy_and_power(rows):
    """Joules by the driver's counter and by the trapezoid under its power, over the same stretch."""
    counter, power, at = column(rows[0], "total_energy"), column(rows[0], "power.draw"), "seconds"
    stamped = [row for row in rows if row[counter] and row[power]]
    joules = sum((b[at] - a[at]) * (float(a[power]) + float(b[power])) / 2 for a, b in zip(stamped, stamped[1:]))
    return (float(stamped[-1][counter]) - float(stamped[0][counter])) / 1000, joules


def exported(bench, recording):
    text = bench.idleburn("export", recording).stdout.splitlines()
    rows = list(csv.DictReader(text))
    for row in rows:
        day, fraction = re.match(r"(.*T[\d:]+)\.?(\d*)Z", row["time"]).groups()
        row["seconds"] = time.mktime(time.strptime(day, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))
    return rows


def mean_of(rows, start):
    values = [float(row[column(row, start)]) for row in rows if row[column(row, start)]]
    return statistics.mean(values) if values else None


def cost_of(command, seconds):
    """Processor share and peak memory of a sampler left to run."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    peak = re.search(r"VmHWM:\s+(\d+)", open("/proc/%d/status" % child.pid, encoding="ascii").read())
    child.terminate()
    child.wait()
    return {"percent_of_a_core": 100 * used(before) / (time.monotonic() - begin), "peak_mib": int(peak[1]) / 1024}


PYNVML_LOOP = """
import time
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
at = time.monotonic()
while True:
    n.nvmlDeviceGetUtilizationRates(h); n.nvmlDeviceGetPowerUsage(h); n.nvmlDeviceGetMemoryInfo(h)
    n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM); n.nvmlDeviceGetCurrentClocksThrottleReasons(h)
    n.nvmlDeviceGetTotalEnergyConsumption(h)
    at += 0.1
    time.sleep(max(0, at - time.monotonic()))
"""


def truth(bench):
    """Window, energy, GPM against utilization, and what sampling costs beside its peers."""
    figures = {"doctor": json.loads(bench.idleburn("doctor", "--format", "json", check=False).stdout)["checks"]}
    for name, words in (("idle", None), ("busy", bench.workload("compute_bound", False))):
        recording = bench.path("truth_%s.idleburn" % name)
        busy = subprocess.Popen(words, stdout=subprocess.DEVNULL) if words else None
        time.sleep(10 if words and not bench.flags.rehearse else 0)
        bench.idleburn("record", "--for", "%ds" % min(20, bench.flags.seconds), "-o", recording, "--price",
                       PRICE, "--no-history", "--report", bench.path("truth_%s.txt" % name))
        if busy:
            busy.terminate()
            busy.wait()
        rows = exported(bench, recording)
        counter, trapezoid = energy_and_power(rows)
        figures[name] = {"energy_counter_j": counter, "power_integrated_j": trapezoid,
                         "ratio": trapezoid / counter if counter else None,
                         "utilization": mean_of(rows, "utilization.gpu"), "sm_active": mean_of(rows, "sm_active"),
                         "tensor_active": mean_of(rows, "tensor_active"), "dram_active": mean_of(rows, "dram_active")}
    seconds = min(20, bench.flags.seconds)
    samplers = {
        "idleburn record --hz 10": [bench.flags.idleburn, "record", "-o", bench.path("cost.idleburn"), "--price",
                                    PRICE, "--no-history", "--report", bench.path("cost.txt")],
        "nvidia-smi -lms 100": ["nvidia-smi", "--query-gpu=timestamp,utilization.gpu,power.draw,memory.used,clocks.sm",
                                "--format=csv", "-lms", "100"],
        "pynvml at 10 Hz": [bench.flags.python, "-c", PYNVML_LOOP]}
    figures["samplers"] = {}
    for name, command in samplers.items():
        try:
            figures["samplers"][name] = cost_of(command, seconds)
        except (OSError, TypeError) as error:
            figures["samplers"][name] = str(error)
    bench.keep("truth", figures)


def steps_a_second(output):
    """Of a finished run of workloads.py: its own count of steps and seconds."""
    found = re.search(r"trained (\d+) steps in ([\d.]+) s", output)
    return int(found[1]) / float(found[2]) if found else None


def overhead(bench):
    """Steps a second alone and under run, in turn: the mean log ratio of the pairs and its 95 % interval."""
    ratios = []
    for pair in range(4):
        rates = {}
        for measured in ((False, True) if pair % 2 == 0 else (True, False)):
            ours = [bench.flags.idleburn, "run", "--no-recording", "--no-history", "--price", PRICE, "-o",
                    bench.path("overhead.txt"), "--"] if measured else []
            begin = time.monotonic()
            done = subprocess.run(ours + bench.workload("compute_bound", True), capture_output=True, text=True,
                                  check=True)
            rates[measured] = steps_a_second(done.stdout) or 1 / (time.monotonic() - begin)
        ratios.append(math.log(rates[False] / rates[True]))
    mean, half = statistics.mean(ratios), 3.182 * statistics.stdev(ratios) / 2
    bench.keep("overhead", {"pairs": len(ratios), "percent": [100 * math.expm1(x) for x in
                                                             (mean, mean - half, mean + half)]})


def workloads(bench, first, last):
    """Each workload as it is and fixed: what is named, what is promised, what came of it."""
    figures = {}
    for name in list(WORKLOADS)[first - 1:last]:
        found = {}
        for fixed in (False, True):
            tag = name + ("_fixed" if fixed else "")
            recording, trace = bench.path(tag + ".idleburn"), bench.path(tag + ".pt.trace.json.gz")
            bench.idleburn("run", "--recording", recording, "--no-history", "--price", PRICE, "-o",
                           bench.path(tag + ".txt"), "--", *bench.workload(name, fixed, trace))
            said = {"live": bench.audit(recording)}
            if os.path.exists(trace):
                said["trace"] = bench.audit(trace)
                said["both"] = bench.audit(recording, trace)
            found[tag] = {how: {"causes": [[f["cause"], f["status"], round(f["share"], 4)] for f in audit["findings"]],
                                "advice": [[r["id"], r["saving"]] for r in audit["recommendations"][:2]],
                                "phases": {phase: row["percent"] for phase, row in audit["phases"].items()}}
                          for how, audit in said.items()}
        compared = bench.idleburn("compare", bench.path(name + ".idleburn"), "--vs",
                                  bench.path(name + "_fixed.idleburn"), "--changes", "command", "--price", PRICE,
                                  "--no-history", "--format", "json", check=False)
        verdict = json.loads(compared.stdout) if compared.returncode == 0 else {"error": compared.stderr[-500:]}
        figures[name] = {"expected": WORKLOADS[name][0], **found, "compare": verdict}
        bench.keep("workloads_%d-%d" % (first, last), figures)


def plan(bench):
    """Fine-tuning of models built from a config with random weights, against the plan before and after two probes."""
    rows = bench.path("plan_rows.csv")
    if not bench.flags.rehearse:
        subprocess.run([bench.flags.python, os.path.join(HERE, "finetune_probes.py"), rows], check=True)
    predicted = bench.path("plan_predicted.csv")
    bench.idleburn("plan", "--predict", rows, "-o", predicted)
    with open(rows, encoding="utf-8") as file:
        measured = {row["key"]: float(row["measured"]) for row in csv.DictReader(file)}
    with open(predicted, encoding="utf-8") as file:
        said = {row["key"]: row for row in csv.DictReader(file)}
    figures = {key: {"measured": value, **said.get(key, {})} for key, value in measured.items()}
    bench.keep("plan", figures)


def table(bench):
    """All that is there, as markdown."""
    for path in sorted(glob.glob(bench.path("workloads_*.json"))):
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
        print("| workload | right | live | trace | both | fixed: live | compare |\n|---|---|---|---|---|---|---|")
        for name, row in figures.items():
            def top(tag, how):
                causes = row[tag].get(how, {}).get("causes", [])
                return "; ".join("%s (%s, %.0f %%)" % (c[0], c[1], 100 * c[2]) for c in causes[:2]) or "-"
            print("| %s | %s | %s | %s | %s | %s | %s |" % (
                name, " or ".join(row["expected"]), top(name, "live"), top(name, "trace"), top(name, "both"),
                top(name + "_fixed", "live"), row["compare"].get("verdict", row["compare"].get("error"))))
    for name in ("overhead", "truth", "plan"):
        if os.path.exists(bench.path(name + ".json")):
            with open(bench.path(name + ".json"), encoding="utf-8") as file:
                print("\n" + name + "\n" + file.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pieces", nargs="+")
    parser.add_argument("--idleburn", default=os.path.join(ROOT, "build", "reality", "idleburn"))
    parser.add_argument("--out", default=os.environ.get("OUT", "reality"))
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--rehearse", metavar="SIMULATED_TRAINING")
    bench = Bench(parser.parse_args())
    for piece in bench.flags.pieces:
        begin = time.monotonic()
        name, _, span = piece.partition(":")
        if name == "workloads":
            first, last = (int(x) for x in (span or "1-10").split("-"))
            workloads(bench, first, last)
        else:
            {"abi": abi, "truth": truth, "overhead": overhead, "plan": plan, "table": table}[name](bench)
        print("reality: %s took %.0f s" % (piece, time.monotonic() - begin), file=sys.stderr)


if __name__ == "__main__":
    main()
