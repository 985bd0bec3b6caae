#!/usr/bin/env python3
"""Holds what src/measure declares of NVML against NVIDIA's own header and library: agreed, missing or different.

    tools/nvml_abi.py [--header nvml.h] [--library libnvidia-ml.so.1]

The header comes with the CUDA toolkit (Debian: libnvidia-ml-dev), the library with the driver; nothing of either is
kept. Exits with 1 if anything differs. A name that one of them does not have is no fault: the program does without.
Standard library and c++ only.
"""
import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")

# Ours, theirs; ">=": room that has to suffice.
CONSTANTS = [line.split() for line in """
kSuccess NVML_SUCCESS
kUninitialized NVML_ERROR_UNINITIALIZED
kInvalidArgument NVML_ERROR_INVALID_ARGUMENT
kNotSupported NVML_ERROR_NOT_SUPPORTED
kNoPermission NVML_ERROR_NO_PERMISSION
kNotFound NVML_ERROR_NOT_FOUND
kInsufficientSize NVML_ERROR_INSUFFICIENT_SIZE
kDriverNotLoaded NVML_ERROR_DRIVER_NOT_LOADED
kTimeout NVML_ERROR_TIMEOUT
kLibraryNotFound NVML_ERROR_LIBRARY_NOT_FOUND
kFunctionNotFound NVML_ERROR_FUNCTION_NOT_FOUND
kGpuIsLost NVML_ERROR_GPU_IS_LOST
kResetRequired NVML_ERROR_RESET_REQUIRED
kOperatingSystem NVML_ERROR_OPERATING_SYSTEM
kLibRmVersionMismatch NVML_ERROR_LIB_RM_VERSION_MISMATCH
kArgumentVersionMismatch NVML_ERROR_ARGUMENT_VERSION_MISMATCH
kDeprecated NVML_ERROR_DEPRECATED
kUnknown NVML_ERROR_UNKNOWN
kNone32 NVML_VALUE_NOT_AVAILABLE
kNone64 NVML_VALUE_NOT_AVAILABLE
kNameSize NVML_DEVICE_NAME_V2_BUFFER_SIZE
kVersionSize NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
kVbiosSize NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE
kMostNvlinks NVML_NVLINK_MAX_LINKS >=
kMemoryV2Version nvmlMemory_v2
kGpmMetricRoom NVML_GPM_METRIC_MAX >=
kGpmVersion NVML_GPM_METRICS_GET_VERSION
kGpmVersion NVML_GPM_SUPPORT_VERSION
kTemperatureV1Version nvmlTemperature_v1
kSamplesGpuUtilization NVML_GPU_UTILIZATION_SAMPLES
kClockSm NVML_CLOCK_SM
kSensorGpu NVML_TEMPERATURE_GPU
kErrorUncorrected NVML_MEMORY_ERROR_TYPE_UNCORRECTED
kCounterVolatile NVML_VOLATILE_ECC
kEventXid nvmlEventTypeXidCriticalError
kFieldEnergy NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION
kFieldNvlinkTx NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX
kFieldNvlinkRx NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX
kFieldPowerInstant NVML_FI_DEV_POWER_INSTANT
kFieldPowerDefaultLimit NVML_FI_DEV_POWER_DEFAULT_LIMIT
kFieldPcieTx NVML_FI_DEV_PCIE_COUNT_TX_BYTES
kFieldPcieRx NVML_FI_DEV_PCIE_COUNT_RX_BYTES
kFieldNvlink5Tx NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES
kFieldNvlink5Rx NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES
kFieldSlowdowns[0] NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN slowdown
kFieldSlowdowns[1] NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN slowdown
kFieldSlowdowns[2] NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN slowdown
kGpmGraphics NVML_GPM_METRIC_GRAPHICS_UTIL
kGpmSm NVML_GPM_METRIC_SM_UTIL
kGpmTensor NVML_GPM_METRIC_ANY_TENSOR_UTIL
kGpmDram NVML_GPM_METRIC_DRAM_BW_UTIL
kGpmPcieTx NVML_GPM_METRIC_PCIE_TX_PER_SEC
kGpmPcieRx NVML_GPM_METRIC_PCIE_RX_PER_SEC
kGpmNvlinkRx NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC
kGpmNvlinkTx NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC
""".split("\n") if line]

# Ours, theirs, then our members and theirs in turn.
STRUCTS = [line.split() for line in """
PciInfo nvmlPciInfo_t bus_id_legacy busIdLegacy domain domain bus bus device device pci_device_id pciDeviceId \
pci_subsystem_id pciSubSystemId bus_id busId
Utilization nvmlUtilization_t gpu gpu memory memory
Memory nvmlMemory_t total total free free used used
MemoryV2 nvmlMemory_v2_t version version total total reserved reserved free free used used
ProcessInfoV1 nvmlProcessInfo_v1_t pid pid used_memory usedGpuMemory
ProcessInfo nvmlProcessInfo_t pid pid used_memory usedGpuMemory gpu_instance gpuInstanceId \
compute_instance computeInstanceId
Attributes nvmlDeviceAttributes_t multiprocessors multiprocessorCount shared_copy_engines sharedCopyEngineCount \
shared_decoders sharedDecoderCount shared_encoders sharedEncoderCount shared_jpeg sharedJpegCount \
shared_ofa sharedOfaCount gpu_instance_slices gpuInstanceSliceCount compute_instance_slices \
computeInstanceSliceCount memory_mb memorySizeMB
Value nvmlValue_t f64 dVal u32 uiVal ul ulVal u64 ullVal i64 sllVal
FieldValue nvmlFieldValue_t field fieldId scope scopeId timestamp timestamp latency_us latencyUsec type valueType \
result nvmlReturn value value
DriverSample nvmlSample_t timestamp timeStamp value sampleValue
EventData nvmlEventData_t device device type eventType data eventData gpu_instance gpuInstanceId \
compute_instance computeInstanceId
GpmMetric nvmlGpmMetric_t id metricId result nvmlReturn value value
GpmMetricsGet nvmlGpmMetricsGet_t version version count numMetrics first sample1 second sample2 metrics metrics >=
GpmSupport nvmlGpmSupport_t version version supported isSupportedDevice
TemperatureV1 nvmlTemperature_v1_t version version sensor sensorType celsius temperature
""".replace("\\\n", "").split("\n") if line]


def read(*path):
    with open(os.path.join(SOURCES, *path), encoding="utf-8") as file:
        return file.read()


def functions():
    """What the library's class declares: (member, exported name), and the older names that it falls back to."""
    declared = re.findall(r"NvmlFunction<[^;{]*> (\w+)\{\s*\"(\w+)\"\}", read("measure", "nvml_library.h"))
    older = dict(re.findall(r"Find\((\w+), \"(\w+)\"\)", read("measure", "nvml_library.cc")))
    return [(member, name, older.get(member)) for member, name in declared]


def undeclared():
    """Constants and structs of ours that no row above holds against theirs."""
    text = read("measure", "nvml_abi.h")
    rows = {row[0].split("[")[0] for row in CONSTANTS} | {row[0] for row in STRUCTS}
    names = re.findall(r"inline constexpr [\w:<>, ]+ (k\w+)", text) + re.findall(r"^(?:struct|union) (\w+) \{", text, re.M)
    return [name for name in names if name not in rows and name != "kFieldSlowdownsBefore13"]


PROBE_HEAD = """
#include <cstdio>
#include <cstddef>
#include "measure/nvml_library.h"
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include HEADER
using namespace idleburn;
template <typename R, typename... P> void Shape(R (*)(P...)) {
  std::printf("%zu", sizeof(R));
  // An enumeration of C is passed as an integer of its width, so that signs are not told apart.
  ((std::printf(" %c%zu", std::is_pointer_v<P> ? 'p' : 'n', sizeof(P))), ...);
}
template <typename T> struct OursOf;
template <typename... P> struct OursOf<NvmlFunction<P...>> {
  static void Print() { Shape(static_cast<nvml::Return (*)(P...)>(nullptr)); }
};
int main() {
"""


def version_of(theirs, header):
    """A macro of a struct's version, made as the header makes it where it does not define it by that name."""
    if theirs in ("nvmlMemory_v2", "nvmlTemperature_v1"):
        number = theirs[-1]
        return "(unsigned)(sizeof(%s_t) | (%su << 24))" % (theirs, number), theirs + "_t" in header
    return "(unsigned long long)(long long)(%s)" % theirs, theirs in header


def probe_lines(header):
    names = set(re.findall(r"\b\w+\b", header))
    for row in CONSTANTS:
        ours, theirs = row[0], row[1]
        value, there = version_of(theirs, names)
        kept = "(unsigned long long)nvml::" + ours
        if ours == "kNone32":
            value = "(unsigned)(%s)" % theirs
        yield ("constant", ours, theirs, row[2] if len(row) > 2 else "", there,
               'std::printf("%%llu\\t%%llu\\n", %s, (unsigned long long)(%s));' % (kept, value))
    for row in STRUCTS:
        relation = row.pop() if row[-1] == ">=" else ""
        ours, theirs, members = "nvml::" + row[0], row[1], row[2:]
        pairs = list(zip(members[::2], members[1::2]))
        sides = []
        for kind, at in ((ours, 0), (theirs, 1)):
            where = ", ".join("offsetof(%s, %s)" % (kind, pair[at]) for pair in pairs)
            sides.append("sizeof(%s), %s" % (kind, where) if not relation else where)
        shape = " ".join(["%zu"] * (len(pairs) + (0 if relation else 1)))
        yield ("struct", row[0], theirs, relation, theirs in names,
               'std::printf("%s\\t%s\\n", %s, %s);' % (shape, shape, *sides))
    for member, name, older in functions():
        known = name if name in names else older
        yield ("function", name, known or name, "", known in names if known else False,
               'OursOf<decltype(NvmlLibrary::%s)>::Print(); std::printf("\\t"); '
               'Shape(static_cast<decltype(&%s)>(nullptr)); std::printf("\\n");'
               % (member, known))


def hold_against_header(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        header = file.read()
    rows = list(probe_lines(header))
    present = [row for row in rows if row[4]]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "probe.cc"), os.path.join(folder, "probe.o")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROBE_HEAD + "\n".join(row[5] for row in present) + "\n}\n")
        # Addresses of the library's functions are taken, never called: nothing has to be linked in.
        include = "-DHEADER=\"%s\"" % os.path.abspath(path)
        # tl/expected.hpp is Debian's libexpected-dev: tools/reality/pack.sh puts a copy into build/reality/include.
        dependencies = os.path.join(SOURCES, "..", "build", "reality", "include")
        command = ["c++", "-std=c++20", "-I", SOURCES, "-isystem", dependencies, include, "-w", source, "-o", program,
                   "-Wl,--unresolved-symbols=ignore-all"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            sys.exit("nvml_abi: what compares does not compile:\n" + built.stderr[:3000])
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    results = []
    for row in rows:
        kind, ours, theirs, relation, there = row[:5]
        if not there:
            results.append((kind, ours, theirs, "missing", ""))
            continue
        left, right = printed.pop(0).split("\t")
        agreed = left == right or (relation == ">=" and kind == "constant" and int(left) >= int(right))
        word = "agreed" if agreed else "older id" if relation == "slowdown" else "different"
        results.append((kind, ours, theirs, word, "" if left == right else "%s, theirs %s" % (left, right)))
    return results


def hold_against_library(path):
    library = ctypes.CDLL(path)
    results = []
    for _, name, older in functions():
        found = name if hasattr(library, name) else older if older and hasattr(library, older) else None
        results.append(("exported", name, found or name, "agreed" if found else "missing",
                        "" if found in (name, None) else "by its older name"))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--header", help="NVIDIA's nvml.h")
    parser.add_argument("--library", help="NVIDIA's libnvidia-ml.so.1")
    parser.add_argument("--all", action="store_true", help="also print what agrees")
    flags = parser.parse_args()
    if not flags.header and not flags.library:
        parser.error("name a --header, a --library or both")
    unheld = undeclared()
    if unheld:
        sys.exit("nvml_abi: of src/measure/nvml_abi.h no row holds: " + ", ".join(unheld))
    results = hold_against_library(flags.library) if flags.library else []
    try:
        results += hold_against_header(flags.header) if flags.header else []
    except (SystemExit, OSError, subprocess.CalledProcessError) as error:
        print("header not held: %s" % error)
    print("| what | ours | theirs | | |\n|---|---|---|---|---|")
    for row in results:
        if flags.all or row[3] != "agreed":
            print("| %s | %s | %s | %s | %s |" % row)
    counts = {}
    for kind, _, _, word, _ in results:
        counts.setdefault(kind, {}).setdefault(word, 0)
        counts[kind][word] += 1
    print()
    for kind, words in counts.items():
        print("%s: %s" % (kind, ", ".join("%d %s" % (number, word) for word, number in words.items())))
    return 1 if any(row[3] == "different" for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
