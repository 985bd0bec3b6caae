#!/usr/bin/env python3
"""Holds the product against a real GPU, in pieces of under ten minutes, and prints the tables of docs/reality.md.

    reality.py PIECE... [--idleburn build/reality/idleburn] [--out DIR] [--seconds 30] [--python python3] [--limit 560]

Pieces: abi, truth, overhead, workloads:FIRST-LAST (1 to 10, as workloads.py lists them), plan, calibrate, table. Each
leaves its figures in DIR/PIECE.json and its recordings and traces beside them; `table` prints all that is there.
--rehearse runs the stand-in's simulated training instead of PyTorch, to try the way through without a GPU.
"""
import argparse
import calendar
import csv
import glob
import json
import math
import mmap
import os
import re
import resource
import signal
import statistics
import struct
import subprocess
import sys
import time
import traceback

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
        self.end = time.monotonic() + flags.limit

    def left(self):
        """Seconds until the command has to have ended."""
        return self.end - time.monotonic()

    def path(self, name):
        return os.path.join(self.flags.out, name)

    def keep(self, piece, figures):
        with open(self.path(piece + ".json"), "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)

    def idleburn(self, *words, check=True):
        command = [self.flags.idleburn, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=max(10, self.left()))
        if check and done.returncode != 0:
            said = done.stdout[-500:] + done.stderr[-3000:]
            raise RuntimeError("%s: %d: %s" % (" ".join(command), done.returncode, said))
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
    # glob's ** does not enter folders like /opt/torch/.venv.
    found = subprocess.run(["find", "-L", "/usr/local", "/usr/include", "/usr/lib", "/opt", "-maxdepth", "10", "-name",
                            "nvml.h"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    headers = sorted(found.stdout.split())
    command = [sys.executable, os.path.join(ROOT, "tools", "nvml_abi.py"), "--all", "--library", "libnvidia-ml.so.1"]
    if headers:
        command += ["--header", headers[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    bench.keep("abi", {"header": headers, "code": done.returncode, "table": (done.stdout + done.stderr).split("\n")})


def column(row, start):
    return next((name for name in row if name.startswith(start)), None)


def number(row, start):
    """Absent where the cell is empty, "[N/A]" or "[Unknown Error]", or the column is not there."""
    try:
        return float(row[column(row, start)])
    except (KeyError, TypeError, ValueError):
        return None


def energy_and_power(rows):
    """Joules by the driver's counter and by the trapezoid under its power, over the same stretch."""
    stamped = [(row["seconds"], number(row, "total_energy"), number(row, "power.draw")) for row in rows]
    stamped = [row for row in stamped if None not in row]
    if len(stamped) < 2:
        return None, None
    joules = sum((b[0] - a[0]) * (a[2] + b[2]) / 2 for a, b in zip(stamped, stamped[1:]))
    return (stamped[-1][1] - stamped[0][1]) / 1000, joules


def exported(bench, recording):
    text = bench.idleburn("export", recording).stdout.splitlines()
    rows = list(csv.DictReader(text))
    for row in rows:
        day, fraction = re.match(r"(.*T[\d:]+)\.?(\d*)Z", row["time"]).groups()
        row["seconds"] = calendar.timegm(time.strptime(day, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))
    return rows


def mean_of(rows, start):
    values = [value for value in (number(row, start) for row in rows) if value is not None]
    return statistics.mean(values) if values else None


COUNTERS = ("utilization.gpu", "gr_engine_active", "sm_active", "tensor_active", "dram_active", "power.draw",
            "clocks.current.sm", "memory.used", "pcie.rx", "pcie.tx")


def counters(bench, recording):
    rows = exported(bench, recording)
    return {name: mean_of(rows, name) for name in COUNTERS}


def first_step(child):
    """Waits until a workload trains: importing torch for the first time on a machine may take half a minute."""
    for line in child.stdout:
        if line.startswith("step "):
            return
    raise RuntimeError("the workload ended before its first step")


def cost_of(command, seconds):
    """Processor share and peak memory of a sampler left to run."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    if child.poll() is not None:
        raise OSError("ended with %d: %s" % (child.returncode, child.stderr.read()[-300:]))
    with open("/proc/%d/status" % child.pid, encoding="ascii") as status:
        peak = re.search(r"VmHWM:\s+(\d+)", status.read())
    child.terminate()
    child.communicate()
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


# What each call costs, beside Python's own few microseconds, and the stamps that the driver gives utilizations.
CALLS = """
import json, sys, time
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
def field(*ids):
    return lambda: n.nvmlDeviceGetFieldValues(h, list(ids))
asked = {"GetUtilizationRates": lambda: n.nvmlDeviceGetUtilizationRates(h),
         "GetPowerUsage": lambda: n.nvmlDeviceGetPowerUsage(h),
         "GetTotalEnergyConsumption": lambda: n.nvmlDeviceGetTotalEnergyConsumption(h),
         "GetMemoryInfo": lambda: n.nvmlDeviceGetMemoryInfo(h),
         "GetClockInfo": lambda: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM),
         "GetCurrentClocksThrottleReasons": lambda: n.nvmlDeviceGetCurrentClocksThrottleReasons(h),
         "GetComputeRunningProcesses": lambda: n.nvmlDeviceGetComputeRunningProcesses(h),
         "GetFieldValues(power instant)": field(n.NVML_FI_DEV_POWER_INSTANT),
         "GetSamples(utilization)": lambda: n.nvmlDeviceGetSamples(h, n.NVML_GPU_UTILIZATION_SAMPLES, 0)}
try:
    sample = n.nvmlGpmSampleAlloc()
    asked["GpmSampleGet"] = lambda: n.nvmlGpmSampleGet(h, sample)
except Exception as error:
    print(error, file=sys.stderr)
costs = {}
for name, call in asked.items():
    took = []
    try:
        for _ in range(200):
            begin = time.perf_counter_ns()
            call()
            took.append((time.perf_counter_ns() - begin) / 1000)
        took.sort()
        costs[name] = {"p50_us": took[100], "p99_us": took[197], "max_us": took[-1]}
    except Exception as error:
        costs[name] = str(error)
stamps, last, end = [], 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    try:
        for s in n.nvmlDeviceGetSamples(h, n.NVML_GPU_UTILIZATION_SAMPLES, last)[1]:
            stamps.append(int(s.timeStamp))
        last = max(stamps, default=0)
    except n.NVMLError:
        pass
    time.sleep(0.05)
print(json.dumps({"costs": costs, "stamps_us": sorted(set(stamps))}))
"""


def against_stamps(said, rows):
    """Every utilization of the recording against the driver's own stamps: none twice, none invented, none left out."""
    ours = [row["time"] for row in rows if number(row, "utilization.gpu") is not None]
    at = [round(1e6 * row["seconds"]) for row in rows if number(row, "utilization.gpu") is not None]
    inside = [stamp for stamp in said if at and min(at) <= stamp <= max(at)]
    near = [a for a in at if any(abs(a - s) <= 1000 for s in said)]
    apart = sorted(b - a for a, b in zip(said, said[1:]))
    return {"rows": len(ours), "different": len(set(ours)), "of_driver_inside": len(inside),
            "rows_on_a_stamp": len(near), "window_ms_median": apart[len(apart) // 2] / 1000 if apart else None}


def truth(bench):
    """Window, energy, GPM against utilization, and what sampling costs beside its peers."""
    figures = {"doctor": json.loads(bench.idleburn("doctor", "--format", "json", check=False).stdout)["checks"]}
    for name, words in (("idle", None), ("busy", bench.workload("compute_bound", False))):
        recording = bench.path("truth_%s.idleburn" % name)
        busy = subprocess.Popen(words, stdout=subprocess.PIPE, text=True) if words else None
        beside = None
        try:
            if busy and not bench.flags.rehearse:
                first_step(busy)
            beside = subprocess.Popen([bench.flags.python, "-c", CALLS, str(min(20, bench.flags.seconds) + 3)],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            bench.idleburn("record", "--for", "%ds" % min(20, bench.flags.seconds), "-o", recording, "--price",
                           PRICE, "--no-history", "--report", bench.path("truth_%s.txt" % name))
        finally:
            if busy and bench.flags.rehearse:
                busy.terminate()
            told = beside.communicate(timeout=60)[0] if beside else ""
            if busy:
                busy.terminate()
                busy.communicate()
        rows = exported(bench, recording)
        calls = json.loads(told) if told.strip() else {"costs": {}, "stamps_us": []}
        counter, trapezoid = energy_and_power(rows)
        figures[name] = {"energy_counter_j": counter, "power_integrated_j": trapezoid,
                         "ratio": trapezoid / counter if counter else None,
                         "calls": calls["costs"], "stamps": against_stamps(calls["stamps_us"], rows),
                         **{counter_name: mean_of(rows, counter_name) for counter_name in COUNTERS}}
        bench.keep("truth", figures)
    seconds = min(15, bench.flags.seconds)
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
    bench.keep("truth", figures)


def rate_between(shared, seconds):
    """Steps a second by the workload's own stamps, so that steps cut off at either end do not count."""
    first = struct.unpack("qq", shared[:16])
    time.sleep(seconds)
    last = struct.unpack("qq", shared[:16])
    return (last[0] - first[0]) / (last[1] - first[1]) * 1e9, last[0] - first[0], (last[1] - first[1]) / 1e9


def overhead_of(bench, name, fixed, pairs, seconds):
    """Switchback within one run: our process is stopped and let go on in turn (A B B A), as in bench."""
    counts, table = bench.path("counts_" + name), bench.path("overhead_%s.csv" % name)
    if os.path.exists(counts):
        os.remove(counts)
    words = bench.workload(name, fixed) + ["--count", counts, "--seconds", str(int(2.3 * pairs * seconds + 20))]
    child = subprocess.Popen([bench.flags.idleburn, "run", "--no-recording", "--no-history", "--price", PRICE, "-o",
                              bench.path("overhead_%s.txt" % name), "--", *words], stderr=subprocess.DEVNULL)
    try:
        while True:
            time.sleep(0.5)
            if child.poll() is not None:
                raise RuntimeError("%s ended with %d" % (name, child.returncode))
            if os.path.exists(counts) and os.path.getsize(counts) == 16:
                with open(counts, "r+b") as file:
                    shared = mmap.mmap(file.fileno(), 16)
                if struct.unpack("qq", shared[:16])[0] > 20:
                    break
        ratios, rows = [], []
        for pair in range(pairs):
            rates = {}
            for measured in ((False, True) if pair % 2 == 0 else (True, False)):
                os.kill(child.pid, signal.SIGCONT if measured else signal.SIGSTOP)
                time.sleep(0.1)
                rates[measured], steps, took = rate_between(shared, seconds)
                rows.append((time.time(), took, steps, "measured" if measured else "stopped", len(rows)))
            ratios.append(math.log(rates[False] / rates[True]))
    finally:
        os.kill(child.pid, signal.SIGCONT)
        child.terminate()
        child.wait()
    with open(table, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("time_s", "gpu_seconds", "steps", "arm", "block"), *rows])
    ours = bench.idleburn("compare", table, "--switchback", "--arms", "measured,stopped", "--price", PRICE,
                          "--no-history", "--format", "json", check=False)
    t95 = {9: 2.262, 14: 2.145, 19: 2.093, 24: 2.064, 29: 2.045}.get(pairs - 1, 2.1)
    mean, half = statistics.mean(ratios), t95 * statistics.stdev(ratios) / math.sqrt(pairs)
    return {"pairs": pairs, "percent": [100 * math.expm1(x) for x in (mean, mean - half, mean + half)],
            "compare": json.loads(ours.stdout) if ours.returncode == 0 else ours.stderr[-500:]}


def overhead(bench):
    """Of a training that the GPU bounds, and of one that the host's launches bound, which feels a sampler sooner."""
    figures = {}
    for name, fixed in (("compute_bound", True), ("small_batch", False)):
        try:
            figures[name] = overhead_of(bench, name, fixed, 20, 2)
        except (RuntimeError, OSError, ValueError, ZeroDivisionError) as error:
            figures[name] = str(error)
        bench.keep("overhead", figures)


def short(audit):
    return {"causes": [[f["cause"], f["status"], f["share"]] for f in audit["findings"]],
            "advice": [[r["id"], r["cause"], r["saving"]] for r in audit["recommendations"][:2]],
            "phases": {phase: row["percent"] for phase, row in audit["phases"].items()}}


def one_run(bench, name, fixed):
    tag = name + ("_fixed" if fixed else "")
    recording, trace = bench.path(tag + ".idleburn"), bench.path(tag + ".pt.trace.json.gz")
    bench.idleburn("run", "--recording", recording, "--no-history", "--price", PRICE, "-o",
                   bench.path(tag + ".txt"), "--", *bench.workload(name, fixed, trace))
    said = {"counters": counters(bench, recording), "live": short(bench.audit(recording))}
    if os.path.exists(trace):
        for how, inputs in (("trace", (trace,)), ("both", (recording, trace))):
            try:
                said[how] = short(bench.audit(*inputs))
            except (RuntimeError, ValueError, KeyError) as error:
                said[how] = {"error": str(error)[-500:]}
    return said


def workloads(bench, first, last):
    """Each workload as it is and fixed: what is named, what is promised, what came of it."""
    figures = {}
    for name in list(WORKLOADS)[first - 1:last]:
        figures[name] = {"expected": WORKLOADS[name][0]}
        if bench.left() < 2 * bench.flags.seconds + 50 + (75 if name == "idle_held" else 0):
            figures[name]["error"] = "no time left"
            bench.keep("workloads_%d-%d" % (first, last), figures)
            continue
        try:
            if name == "storage_bound" and not bench.flags.rehearse:  # its data is written before, not in the run
                subprocess.run(bench.workload(name, False) + ["--prepare"], check=True, timeout=120)
            for fixed in (False, True):
                figures[name][name + ("_fixed" if fixed else "")] = one_run(bench, name, fixed)
            compared = bench.idleburn("compare", bench.path(name + ".idleburn"), "--vs",
                                      bench.path(name + "_fixed.idleburn"), "--changes", "command", "--price", PRICE,
                                      "--no-history", "--format", "json", check=False)
            figures[name]["compare"] = (json.loads(compared.stdout) if compared.returncode == 0 else
                                        {"error": compared.stderr[-500:]})
        except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            figures[name]["error"] = str(error)[-3000:]
            print("reality: %s: %s" % (name, figures[name]["error"]), file=sys.stderr)
        for leftover in ("shards.bin", "checkpoint.pt"):
            if os.path.exists(bench.path(leftover)):
                os.remove(bench.path(leftover))
        bench.keep("workloads_%d-%d" % (first, last), figures)


def plan(bench):
    """Fine-tuning of models built from a config with random weights, against the plan before and after two probes."""
    rows = bench.path("plan_rows.csv")
    if not bench.flags.rehearse:
        subprocess.run([bench.flags.python, os.path.join(HERE, "finetune_probes.py"), rows], check=False,
                       timeout=max(30, bench.left()))  # what it wrote before it failed counts
    predicted = bench.path("plan_predicted.csv")
    bench.idleburn("plan", "--predict", rows, "-o", predicted)
    with open(rows, encoding="utf-8") as file:
        measured = {row["key"]: float(row["measured"]) for row in csv.DictReader(file)}
    with open(predicted, encoding="utf-8") as file:
        said = {row["key"]: row for row in csv.DictReader(file)}
    figures = {key: {"measured": value, **said.get(key, {})} for key, value in measured.items()}
    for row in figures.values():
        if row.get("predicted"):
            row["error"] = float(row["predicted"]) / row["measured"] - 1
    bench.keep("plan", figures)


# As finetune_probes.py has them: size, method, sequence, batch, checkpointing; the second probe has a quarter of the
# sequence.
CALIBRATED = (("1.1B", "full", 2048, 4, 0), ("1.1B", "lora", 2048, 4, 0), ("3.0B", "full", 2048, 4, 1),
              ("3.0B", "lora", 2048, 4, 1))
SHAPES = {"1.1B": (2048, 22, 32, 4, 5632), "3.0B": (3072, 28, 24, 8, 8192)}


def calibrate(bench):
    """The plan of a run before and after its two probes, against what `plan` (run before it) measured of the same."""
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout.splitlines()[0].strip()
    figures = {}
    for size, method, seq, batch, checkpointing in CALIBRATED:
        if bench.left() < 90:
            break
        hidden, layers, heads, kv_heads, ffn = SHAPES[size]
        words = ["plan", "--framework", "peft", "--gpu", gpu, "--hidden", str(hidden), "--layers", str(layers),
                 "--heads", str(heads), "--kv-heads", str(kv_heads), "--ffn", str(ffn), "--vocab", "32000", "--method",
                 method, "--precision", "bf16", "--seq-len", str(seq), "--micro-batch", str(batch), "--checkpointing",
                 "full" if checkpointing else "none", "--no-history", "--format", "json"]
        probes = ["--probe", "--probe-vary", "seq_len=%d" % (seq // 4), "--", bench.flags.python,
                  os.path.join(HERE, "finetune_probes.py"), "--train", size, method, "{seq_len}", str(batch),
                  str(checkpointing)]
        key = "%s-%s-s%d-b%d%s" % (size, method, seq, batch, "-ckpt" if checkpointing else "")
        figures[key] = {}
        for when, more in (("before", []), ("after", probes)):
            try:
                figures[key][when] = json.loads(bench.idleburn(*words, *more).stdout)
            except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
                figures[key][when] = str(error)[-1000:]
        bench.keep("calibrate", figures)


def said_last(error):
    """The end of an error, as a cell of a table."""
    return error.strip().splitlines()[-1][-160:].replace("|", "/") if error and error.strip() else "-"


def table(bench):
    """All that is there, as markdown."""
    for path in sorted(glob.glob(bench.path("workloads_*.json"))):
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
        print("| workload | right | live | trace | both | fixed: live "
              "| promised | realised | verdict | SM, tensor, DRAM |\n"
              "|---|---|---|---|---|---|---|---|---|---|")
        for name, row in figures.items():
            def top(tag, how):
                causes = row.get(tag, {}).get(how, {}).get("causes", [])
                return "; ".join("%s (%s, %.0f %%)" % (c[0], c[1], 100 * (c[2] or 0)) for c in causes[:2]) or "-"

            def interval(saving):
                if not saving or saving.get("low") is None:
                    return "-"
                return "%.0f to %.0f %%" % (100 * saving["low"], 100 * saving["high"])
            seen = row.get(name, {})
            advice = (seen.get("both") or {}).get("advice") or (seen.get("live") or {}).get("advice") or [[None] * 3]
            compared = row.get("compare", {})
            means = [seen.get("counters", {}).get(c) for c in ("sm_active", "tensor_active", "dram_active")]
            print("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
                name, " or ".join(row["expected"]), top(name, "live"), top(name, "trace"), top(name, "both"),
                top(name + "_fixed", "live"), interval(advice[0][2]), interval(compared.get("saving")),
                compared.get("verdict") or said_last(compared.get("error") or row.get("error")),
                ", ".join("-" if m is None else "%.0f" % m for m in means)))
    for name in ("abi", "overhead", "truth", "plan", "calibrate"):
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
    parser.add_argument("--limit", type=float, default=560, help="seconds that the whole command may take")
    parser.add_argument("--rehearse", metavar="SIMULATED_TRAINING")
    bench = Bench(parser.parse_args())
    for piece in bench.flags.pieces:
        begin = time.monotonic()
        name, _, span = piece.partition(":")
        try:
            if name == "workloads":
                first, last = (int(x) for x in (span or "1-10").split("-"))
                workloads(bench, first, last)
            else:
                {"abi": abi, "truth": truth, "overhead": overhead, "plan": plan, "calibrate": calibrate,
                 "table": table}[name](bench)
        except Exception:  # one piece that fails must not cost the others
            traceback.print_exc()
        print("reality: %s took %.0f s" % (piece, time.monotonic() - begin), file=sys.stderr)


if __name__ == "__main__":
    main()
