// What only drivers of the last years have; the stand-in of an old driver is built without this file.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "standin/exports.h"

namespace idleburn::standin {
namespace {

constexpr double kKib = 1024;

// Counters of slowdowns: nanoseconds of software thermal slowdown are counted while the mask has that bit, elsewhere
// nothing happens. Under the other ids newer drivers keep settings of 32 bits.
nvml::Return Field(Node& node, Board& board, std::int64_t now, nvml::FieldValue& field) {
  const bool renumbered = static_cast<int>(std::strtol(node.script.nvml.c_str(), nullptr, 10)) >= 13;
  const U32 first = renumbered ? nvml::kFieldSlowdowns[0] : nvml::kFieldSlowdownsBefore13[0];
  field.type = nvml::ValueType::kUlonglong;
  field.value.u64 = 0;
  if (field.field >= first && field.field < first + 3) {
    field.value.u64 = field.field == first ? static_cast<U64>(now / 4) : 0;
    return nvml::kSuccess;
  }
  if (renumbered && field.field >= 251 && field.field <= 253) {
    field.type = nvml::ValueType::kUint;
    field.value.u32 = 1;
    return nvml::kSuccess;
  }
  switch (field.field) {
    case nvml::kFieldPowerInstant:
      field.type = nvml::ValueType::kUint;
      field.value.u32 = static_cast<U32>(std::lround(board.activity().At(Quantity::kPower, now)));
      return nvml::kSuccess;
    case nvml::kFieldPowerDefaultLimit:
      field.type = nvml::ValueType::kUint;
      field.value.u32 = static_cast<U32>(board.facts().default_limit_mw);
      return nvml::kSuccess;
    case nvml::kFieldPcieTx:
    case nvml::kFieldPcieRx: {
      const U64 bytes = board.Moved(field.field == nvml::kFieldPcieTx ? Quantity::kPcieTx : Quantity::kPcieRx, now);
      if (node.script.narrow_pcie) {
        field.type = nvml::ValueType::kUint;
        field.value.u32 = static_cast<U32>(bytes);
      } else {
        field.value.u64 = bytes;
      }
      return nvml::kSuccess;
    }
    case nvml::kFieldNvlinkTx:
    case nvml::kFieldNvlinkRx:
      if (field.scope != nvml::kNone32) return nvml::kInvalidArgument;
      field.value.u64 = static_cast<U64>(static_cast<double>(board.Moved(Quantity::kNvlink, now)) / kKib);
      return nvml::kSuccess;
    default:
      return nvml::kNotSupported;
  }
}

std::vector<nvml::ProcessInfo> RecordsOf(const std::vector<Process>& processes) {
  std::vector<nvml::ProcessInfo> list;
  for (const Process& p : processes) list.push_back({p.pid, p.memory, nvml::kNone32, nvml::kNone32});
  return list;
}

std::vector<nvml::ProcessInfo> ProcessesOf(Node& node, Board& board, std::int64_t now) {
  std::vector<nvml::ProcessInfo> list = RecordsOf(board.activity().Processes(now));
  if (node.script.growing_lists) node.script.started_processes += 9;
  for (U32 i = 0; i < node.script.started_processes; ++i) {
    list.push_back({900'000 + i, 1 << 20, nvml::kNone32, nvml::kNone32});
  }
  return list;
}

// As CopyList, in the length that this driver's records have.
nvml::Return CopyRecords(const Node& node, const std::vector<nvml::ProcessInfo>& list, U32* count,
                         nvml::ProcessInfo* out) {
  constexpr std::size_t kLong = 32;
  if (!node.script.long_process_records) return CopyList(list, count, out);
  const bool room = out != nullptr && *count >= list.size();
  *count = static_cast<U32>(list.size());
  for (std::size_t i = 0; room && i < list.size(); ++i) {
    auto* const record = reinterpret_cast<char*>(out) + i * kLong;
    std::memcpy(record, &list[i], sizeof(nvml::ProcessInfo));
    std::memset(record + sizeof(nvml::ProcessInfo), 0, kLong - sizeof(nvml::ProcessInfo));
  }
  return room || list.empty() ? nvml::kSuccess : nvml::kInsufficientSize;
}

double PercentOrRate(U32 metric, const GpmState& a, const GpmState& b) {
  const auto mean = [&](Quantity q) {
    const auto i = static_cast<std::size_t>(q);
    return (b.sum[i] - a.sum[i]) / (static_cast<double>(b.time - a.time) / 1e9);
  };
  constexpr double kMib = 1024.0 * 1024.0;
  switch (metric) {
    case nvml::kGpmGraphics:
      return mean(Quantity::kBusy);
    case nvml::kGpmSm:
      return mean(Quantity::kSm);
    case nvml::kGpmTensor:
      return mean(Quantity::kTensor);
    case nvml::kGpmDram:
      return mean(Quantity::kDram);
    case nvml::kGpmPcieTx:
      return mean(Quantity::kPcieTx) / kMib;
    case nvml::kGpmPcieRx:
      return mean(Quantity::kPcieRx) / kMib;
    case nvml::kGpmNvlinkRx:
    case nvml::kGpmNvlinkTx:
      return mean(Quantity::kNvlink) / kMib;
    default:
      return NAN;
  }
}

GpmState* State(nvml::GpmSample sample) { return reinterpret_cast<GpmState*>(sample); }

nvml::Return TakeGpm(Board& board, std::int64_t now, nvml::GpmSample sample) {
  if (!board.facts().gpm) return nvml::kNotSupported;
  GpmState& state = *State(sample);
  state.time = board.activity().KnownUntil(now);
  state.board = &board;
  for (std::size_t q = 0; q < kQuantities; ++q) {
    state.sum[q] = board.activity().Integral(static_cast<Quantity>(q), 0, state.time) / 1e9;
  }
  return nvml::kSuccess;
}

}  // namespace

extern "C" {

nvml::Return nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::MemoryV2* out) {
  return About("nvmlDeviceGetMemoryInfo_v2", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    if (out->version != 0x02000028) return nvml::kArgumentVersionMismatch;
    const U64 reserved = U64{500} << 20;
    const U64 used = board.activity().MemoryUsed(now);
    *out = {out->version, board.facts().memory, reserved, board.facts().memory - used - reserved, used};
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetCurrentClocksEventReasons(nvml::Device device, U64* out) {
  return About("nvmlDeviceGetCurrentClocksEventReasons", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    *out = board.activity().EventReasons(now);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetFieldValues(nvml::Device device, int count, nvml::FieldValue* fields) {
  return About("nvmlDeviceGetFieldValues", device, [&](Node& node, Handle&, Board& board, std::int64_t now) {
    for (int i = 0; i < count; ++i) {
      fields[i].timestamp = static_cast<std::int64_t>(node.WallMicros(now));
      fields[i].result = Field(node, board, now, fields[i]);
    }
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetTotalEccErrors(nvml::Device device, U32, U32, U64* out) {
  return About("nvmlDeviceGetTotalEccErrors", device, [&](Node&, Handle&, Board&, std::int64_t) {
    *out = 0;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device, U32* count, nvml::ProcessInfo* out) {
  return About("nvmlDeviceGetComputeRunningProcesses_v3", device,
               [&](Node& node, Handle&, Board& board, std::int64_t now) {
                 return CopyRecords(node, ProcessesOf(node, board, now), count, out);
               });
}
nvml::Return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml::Device device, U32* count, nvml::ProcessInfo* out) {
  return About("nvmlDeviceGetGraphicsRunningProcesses_v3", device,
               [&](Node& node, Handle&, Board& board, std::int64_t now) {
                 return CopyRecords(node, RecordsOf(board.activity().Drawing(now)), count, out);
               });
}
nvml::Return nvmlDeviceGetMigMode(nvml::Device device, U32* current, U32* pending) {
  return About("nvmlDeviceGetMigMode", device, [&](Node& node, Handle& handle, Board&, std::int64_t) {
    const auto& instances = node.script.gpus[static_cast<std::size_t>(handle.gpu)].instances;
    *current = *pending = instances.empty() ? 0 : 1;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMaxMigDeviceCount(nvml::Device device, U32* count) {
  return About("nvmlDeviceGetMaxMigDeviceCount", device, [&](Node&, Handle&, Board&, std::int64_t) {
    *count = 7;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, U32 index, nvml::Device* out) {
  return About("nvmlDeviceGetMigDeviceHandleByIndex", device,
               [&](Node& node, Handle&, Board&, std::int64_t) { return node.InstanceAt(device, index, out); });
}
nvml::Return nvmlDeviceGetGpuInstanceId(nvml::Device device, U32* id) {
  return About("nvmlDeviceGetGpuInstanceId", device, [&](Node&, Handle& handle, Board& board, std::int64_t) {
    *id = board.facts().gpu_instance;
    return handle.instance ? nvml::kSuccess : nvml::kNotSupported;
  });
}
nvml::Return nvmlDeviceGetAttributes_v2(nvml::Device device, nvml::Attributes* out) {
  return About("nvmlDeviceGetAttributes_v2", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *out = {};
    out->gpu_instance_slices = board.facts().slices;
    out->memory_mb = board.facts().memory >> 20;
    return nvml::kSuccess;
  });
}

nvml::Return nvmlEventSetCreate(nvml::EventSet* set) {
  return Enter("nvmlEventSetCreate", [&](Node& node) {
    ++node.counts.event_sets;
    *set = reinterpret_cast<nvml::EventSet>(&node);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlEventSetFree(nvml::EventSet) {
  return Enter("nvmlEventSetFree", [&](Node& node) {
    --node.counts.event_sets;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceRegisterEvents(nvml::Device device, U64, nvml::EventSet) {
  return About("nvmlDeviceRegisterEvents", device, [](Node&, Handle&, Board&, std::int64_t) { return nvml::kSuccess; });
}
nvml::Return nvmlEventSetWait_v2(nvml::EventSet, nvml::EventData* out, U32) {
  return Enter("nvmlEventSetWait_v2", [&](Node& node) -> nvml::Return {
    const Xid* const xid = node.NextXid();
    if (xid == nullptr) return nvml::kTimeout;
    *out = {};
    node.HandleAt(static_cast<U32>(xid->gpu), &out->device);
    out->type = nvml::kEventXid;
    out->data = xid->code;
    return nvml::kSuccess;
  });
}

nvml::Return nvmlGpmQueryDeviceSupport(nvml::Device device, nvml::GpmSupport* out) {
  return About("nvmlGpmQueryDeviceSupport", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    if (out->version != nvml::kGpmVersion) return nvml::kArgumentVersionMismatch;
    out->supported = board.facts().gpm ? 1 : 0;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlGpmSampleAlloc(nvml::GpmSample* out) {
  return Enter("nvmlGpmSampleAlloc", [&](Node& node) {
    ++node.counts.gpm_samples;
    *out = reinterpret_cast<nvml::GpmSample>(new GpmState);
    return nvml::kSuccess;
  });
}
// Memory of the library's own: given back also when the driver has gone.
nvml::Return nvmlGpmSampleFree(nvml::GpmSample sample) {
  const std::lock_guard lock(Node::This().mutex);
  --Node::This().counts.gpm_samples;
  delete State(sample);
  return nvml::kSuccess;
}
nvml::Return nvmlGpmSampleGet(nvml::Device device, nvml::GpmSample sample) {
  return About("nvmlGpmSampleGet", device, [&](Node&, Handle& handle, Board& board, std::int64_t now) {
    return handle.instance ? nvml::kInvalidArgument : TakeGpm(board, now, sample);
  });
}
nvml::Return nvmlGpmMigSampleGet(nvml::Device device, U32 instance, nvml::GpmSample sample) {
  return About("nvmlGpmMigSampleGet", device, [&](Node& node, Handle&, Board&, std::int64_t now) -> nvml::Return {
    for (U32 i = 0; i < 7; ++i) {
      nvml::Device found = nullptr;
      if (node.InstanceAt(device, i, &found) != nvml::kSuccess) continue;
      Board& board = *node.Find(found)->board;
      if (board.facts().gpu_instance == instance) return TakeGpm(board, now, sample);
    }
    return nvml::kInvalidArgument;
  });
}
nvml::Return nvmlGpmMetricsGet(nvml::GpmMetricsGet* get) {
  return Enter("nvmlGpmMetricsGet", [&](Node&) {
    if (get->version != nvml::kGpmVersion) return nvml::kArgumentVersionMismatch;
    const GpmState& a = *State(get->first);
    const GpmState& b = *State(get->second);
    if (a.board != b.board || b.time - a.time <= 100'000'000) return nvml::kInvalidArgument;
    for (U32 i = 0; i < get->count; ++i) {
      nvml::GpmMetric& metric = get->metrics[i];
      metric.value = PercentOrRate(metric.id, a, b);
      metric.result = std::isnan(metric.value) ? nvml::kNotSupported : nvml::kSuccess;
    }
    return nvml::kSuccess;
  });
}

}  // extern "C"

}  // namespace idleburn::standin
