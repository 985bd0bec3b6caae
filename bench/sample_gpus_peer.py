"""The same readings by Python and ctypes, one CSV row a GPU and tick: sample_gpus_peer.py LIBRARY HZ SECONDS."""
import ctypes
import json
import sys
import time


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class MemoryV2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + [(n, ctypes.c_ulonglong) for n in ("total", "reserved", "free", "used")]


def main():
    library, hz, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    nvml = ctypes.CDLL(library)
    nvml.nvmlInit_v2()
    count = ctypes.c_uint()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    handles = [ctypes.c_void_p() for _ in range(count.value)]
    for index, handle in enumerate(handles):
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
    rates, memory = Utilization(), MemoryV2(0x02000028)
    power, energy = ctypes.c_uint(), ctypes.c_ulonglong()
    clock, celsius, reasons = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_ulonglong()
    start, cpu, ticks = time.monotonic(), time.process_time(), 0
    with open("/dev/null", "w", encoding="ascii") as out:
        while time.monotonic() - start < seconds:
            now = time.time_ns()
            for handle in handles:
                nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(rates))
                nvml.nvmlDeviceGetPowerUsage(handle, ctypes.byref(power))
                nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(energy))
                nvml.nvmlDeviceGetClockInfo(handle, 1, ctypes.byref(clock))
                nvml.nvmlDeviceGetCurrentClocksEventReasons(handle, ctypes.byref(reasons))
                if ticks % hz == 0:
                    nvml.nvmlDeviceGetMemoryInfo_v2(handle, ctypes.byref(memory))
                    nvml.nvmlDeviceGetTemperature(handle, 0, ctypes.byref(celsius))
                out.write(f"{now},{rates.gpu},{power.value},{energy.value},{clock.value},{reasons.value},"
                          f"{memory.used},{celsius.value}\n")
            ticks += 1
            time.sleep(max(0.0, start + ticks / hz - time.monotonic()))
    with open("/proc/self/status", encoding="ascii") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    wall, cpu = time.monotonic() - start, time.process_time() - cpu
    print(json.dumps({"ticks": ticks, "core_percent": round(100 * cpu / wall, 4),
                      "us_per_tick": round(1e6 * cpu / ticks, 1),
                      "rss_mib": round(peak / 1024, 1)}))


main()
