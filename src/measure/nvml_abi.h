#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// The part of libnvidia-ml's binary interface that idleburn uses. These are our own declarations, so the build needs
// no header of the driver. The layouts are those of NVML 13.3 (nvml.h of NVIDIA/go-nvml) on x86-64 and aarch64 Linux;
// each is asserted.
//
// Members have the names that this project uses, not NVIDIA's. An enum of NVML is a 4-byte integer here, because the
// driver may return values that this header does not list.
namespace idleburn::nvml {

// The driver's return code, and its opaque handles. Handles are invalid after nvmlShutdown.
using Return = std::int32_t;
struct Device_st;
using Device = Device_st*;
struct EventSet_st;
using EventSet = EventSet_st*;
struct GpmSample_st;
using GpmSample = GpmSample_st*;

// The return codes that the code compares with. measure/nvml_library.cc says what every code means.
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kLibRmVersionMismatch = 18;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kDeprecated = 26;
inline constexpr Return kUnknown = 999;

// The driver writes all ones if it has no value. Such a value is unobserved, and never a number.
inline constexpr std::uint32_t kNone32 = 0xFFFFFFFF;
inline constexpr std::uint64_t kNone64 = ~std::uint64_t{0};

// Sizes of text buffers in bytes, with the zero at the end, and how many NVLinks a board has at most.
inline constexpr std::uint32_t kNameSize = 96;
inline constexpr std::uint32_t kVersionSize = 80;
inline constexpr std::uint32_t kVbiosSize = 32;
inline constexpr std::uint32_t kMostNvlinks = 36;

// Where a board is on the PCI bus. `bus_id` is "00000000:3B:00.0".
struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 && offsetof(PciInfo, bus_id) == 36);

// Percent of the last window in which a kernel ran, and in which memory was read or written.
struct Utilization {
  std::uint32_t gpu;
  std::uint32_t memory;
};
static_assert(sizeof(Utilization) == 8 && offsetof(Utilization, memory) == 4);

// Bytes, of version 1.
struct Memory {  // used includes what the driver reserves
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24 && offsetof(Memory, free) == 8 && offsetof(Memory, used) == 16);

// Bytes, of version 2. Unlike in version 1, `used` leaves out what the driver reserves.
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
// A structure with a version carries its own size and the version: sizeof | version << 24.
inline constexpr std::uint32_t kMemoryV2Version = 0x02000028;
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8 && offsetof(MemoryV2, reserved) == 16);
static_assert(offsetof(MemoryV2, free) == 24 && offsetof(MemoryV2, used) == 32);

// A process that holds a context, as the oldest functions list it. `used_memory` is in bytes.
struct ProcessInfoV1 {
  std::uint32_t pid;
  std::uint64_t used_memory;
};
static_assert(sizeof(ProcessInfoV1) == 16 && offsetof(ProcessInfoV1, used_memory) == 8);

// The same with the instances that the process uses; all ones without MIG.
struct ProcessInfo {  // versions 2 and 3; some drivers write longer ones, see ProcessRoom
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_memory) == 8);
static_assert(offsetof(ProcessInfo, gpu_instance) == 16 && offsetof(ProcessInfo, compute_instance) == 20);

// The part of a board that a MIG instance has. Only `gpu_instance_slices` is read, to charge the instance its share.
struct Attributes {
  std::uint32_t multiprocessors;
  std::uint32_t shared_copy_engines;
  std::uint32_t shared_decoders;
  std::uint32_t shared_encoders;
  std::uint32_t shared_jpeg;
  std::uint32_t shared_ofa;
  std::uint32_t gpu_instance_slices;
  std::uint32_t compute_instance_slices;
  std::uint64_t memory_mb;
};
static_assert(sizeof(Attributes) == 40 && offsetof(Attributes, gpu_instance_slices) == 24);
static_assert(offsetof(Attributes, memory_mb) == 32);

// A value of the driver. The ValueType beside it says which member holds it.
union Value {
  double f64;
  std::uint32_t u32;
  unsigned long ul;
  std::uint64_t u64;
  std::int64_t i64;
  std::int32_t i32;
  std::uint16_t u16;
};
static_assert(sizeof(Value) == 8);

enum class ValueType : std::uint32_t { kDouble, kUint, kUlong, kUlonglong, kLonglong, kInt, kUshort };

// One question of GetFieldValues and its answer. The caller sets `field` and `scope`; `result` is the return code of
// this field alone.
struct FieldValue {
  std::uint32_t field;
  std::uint32_t scope;
  std::int64_t timestamp;  // us since the Unix epoch
  std::int64_t latency_us;
  ValueType type;
  Return result;
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, scope) == 4 && offsetof(FieldValue, timestamp) == 8);
static_assert(offsetof(FieldValue, latency_us) == 16 && offsetof(FieldValue, type) == 24);
static_assert(offsetof(FieldValue, result) == 28 && offsetof(FieldValue, value) == 32);

// One entry of the driver's ring of published values.
struct DriverSample {
  std::uint64_t timestamp;  // us since the Unix epoch
  Value value;
};
static_assert(sizeof(DriverSample) == 16 && offsetof(DriverSample, value) == 8);

// An event. For an Xid event `data` is the Xid code.
struct EventData {
  Device device;
  std::uint64_t type;
  std::uint64_t data;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, type) == 8 && offsetof(EventData, data) == 16);
static_assert(offsetof(EventData, gpu_instance) == 24 && offsetof(EventData, compute_instance) == 28);

// One metric between two GPM samples. The caller sets `id`. The texts belong to the driver.
struct GpmMetric {
  std::uint32_t id;
  Return result;
  double value;
  char* short_name;
  char* long_name;
  char* unit;
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, result) == 4 && offsetof(GpmMetric, value) == 8);
static_assert(offsetof(GpmMetric, short_name) == 16 && offsetof(GpmMetric, unit) == 32);

// The driver's header fixes the length of the tail while the version stays 1. This is the longest known. An older
// library reads and writes less.
inline constexpr std::size_t kGpmMetricRoom = 333;
struct GpmMetricsGet {
  std::uint32_t version;
  std::uint32_t count;
  GpmSample first;
  GpmSample second;
  std::array<GpmMetric, kGpmMetricRoom> metrics;
};
static_assert(sizeof(GpmMetricsGet) == 13344 && offsetof(GpmMetricsGet, count) == 4);
static_assert(offsetof(GpmMetricsGet, first) == 8 && offsetof(GpmMetricsGet, second) == 16);
static_assert(offsetof(GpmMetricsGet, metrics) == 24);

// Whether a device has GPM: Hopper and later.
struct GpmSupport {
  std::uint32_t version;
  std::uint32_t supported;
};
static_assert(sizeof(GpmSupport) == 8 && offsetof(GpmSupport, supported) == 4);
inline constexpr std::uint32_t kGpmVersion = 1;  // of both, plain: without the size that other versions carry

// The temperature by the newer function. Drivers from 13.0 on deprecate the older one.
struct TemperatureV1 {
  std::uint32_t version;
  std::uint32_t sensor;
  std::int32_t celsius;
};
static_assert(sizeof(TemperatureV1) == 12 && offsetof(TemperatureV1, sensor) == 4);
static_assert(offsetof(TemperatureV1, celsius) == 8);
inline constexpr std::uint32_t kTemperatureV1Version = 0x0100000C;

// Values of NVML's enums, as arguments.
inline constexpr std::uint32_t kSamplesGpuUtilization = 1;
inline constexpr std::uint32_t kClockSm = 1;
inline constexpr std::uint32_t kSensorGpu = 0;
inline constexpr std::uint32_t kErrorUncorrected = 1;
inline constexpr std::uint32_t kCounterVolatile = 0;
inline constexpr std::uint64_t kEventXid = 8;

// Field ids of GetFieldValues, with the unit of each value.
inline constexpr std::uint32_t kFieldEnergy = 83;     // mJ
inline constexpr std::uint32_t kFieldNvlinkTx = 138;  // KiB, counters; scope: link, or all ones for all
inline constexpr std::uint32_t kFieldNvlinkRx = 139;
inline constexpr std::uint32_t kFieldPowerInstant = 186;       // mW
inline constexpr std::uint32_t kFieldPowerDefaultLimit = 189;  // mW
inline constexpr std::uint32_t kFieldPcieTx = 197;             // bytes, may wrap
inline constexpr std::uint32_t kFieldPcieRx = 198;
inline constexpr std::uint32_t kFieldNvlink5Tx = 202;  // bytes
inline constexpr std::uint32_t kFieldNvlink5Rx = 204;
// Software thermal, hardware thermal and power brake slowdown, in ns. NVML 13 changed their ids, and the old ids now
// mean something else. So a version number alone is not trusted; see SlowdownFields in measure/nvml_readings.h.
inline constexpr std::array<std::uint32_t, 3> kFieldSlowdowns = {269, 270, 271};
inline constexpr std::array<std::uint32_t, 3> kFieldSlowdownsBefore13 = {251, 252, 253};

// Metric ids of GPM.
inline constexpr std::uint32_t kGpmGraphics = 1;  // these in percent
inline constexpr std::uint32_t kGpmSm = 2;
inline constexpr std::uint32_t kGpmTensor = 5;
inline constexpr std::uint32_t kGpmDram = 10;
inline constexpr std::uint32_t kGpmPcieTx = 20;  // these in MiB/s
inline constexpr std::uint32_t kGpmPcieRx = 21;
inline constexpr std::uint32_t kGpmNvlinkRx = 60;
inline constexpr std::uint32_t kGpmNvlinkTx = 61;

}  // namespace idleburn::nvml
