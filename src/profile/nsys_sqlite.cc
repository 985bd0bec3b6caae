#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/int128.h"
#include "base/result.h"
#include "os/input_file.h"
#include "os/output_file.h"
#include "os/sqlite.h"
#include "profile/profile.h"
#include "profile/profile_builder.h"
#include "profile/profile_importers.h"
#include "profile/step_finder.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// An export of Nsight Systems as tables. Any table may be missing or lack columns. This class hides that from
// NsysReader (profile/nsys_sqlite.cc), and bounds how much a damaged file can make it read.
class NsysDatabase {
 public:
  // Opens a plain file by name; any other source is copied to a temporary file first, because SQLite needs a file. A
  // SQLite database of something else is an error that says what it holds. So is a report that was not exported.
  static Result<NsysDatabase> Open(ByteSource& in);

  [[nodiscard]] bool Has(std::string_view table) const { return tables_.find(table) != tables_.end(); }
  // Whether there is such a table, with such a column.
  [[nodiscard]] bool Has(std::string_view table, std::string_view column) const;

  using Row = SqliteStatement;
  // Takes one row. An error ends the reading and is returned.
  using TakeRow = std::function<Result<void>(const Row&)>;
  // Calls `take` with the rows of a table in file order. A missing table has no rows; missing columns are NULL. More
  // rows than the file can hold are an error, because its pages then form a loop.
  Result<void> ForEach(std::string_view table, std::initializer_list<std::string_view> columns, const TakeRow& take);
  // The same with the rows of a query, which must be valid for this database.
  Result<void> ForEachOf(std::string_view query, const TakeRow& take);
  // A text of StringIds. "" if the id is not there.
  Result<std::string> Text(std::int64_t id);
  // Tells `in` from now on how far the file is read: by the rows that were taken, of all rows of these tables.
  void TellProgress(ByteSource& in, std::span<const std::string_view> tables);

 private:
  NsysDatabase(SqliteDatabase database, std::string name) : database_(std::move(database)), name_(std::move(name)) {}
  Result<void> ReadSchema();

  SqliteDatabase database_;
  std::string name_;
  std::map<std::string, std::set<std::string>, std::less<>> tables_;  // with their columns
  std::int64_t most_rows_ = 0;
  std::optional<SqliteStatement> strings_;
  // For TellProgress.
  ByteSource* told_ = nullptr;
  std::int64_t rows_ = 0;  // of all tables, as far as known
  std::int64_t rows_taken_ = 0;
  std::int64_t bytes_ = 0;  // of the file
};

// Which tables are read, and what the numbers in them mean (the ENUM_ tables of an export).

// A table of device work, and the columns that describe a row.
struct NsysDeviceTable {
  std::string_view name;
  DeviceOp op;
  std::array<std::string_view, 3> details;  // kernels: name ids, best first; copies: kind, from, to
  std::string_view event_name;              // if the rows have no names
};
// A graph is either traced as a whole or by its kernels, so no work is in two tables.
constexpr auto kNsysDeviceTables = std::to_array<NsysDeviceTable>({
    {"CUPTI_ACTIVITY_KIND_KERNEL", DeviceOp::kKernel, {"demangledName", "shortName", "mangledName"}, ""},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", DeviceOp::kKernel, {}, "CUDA graph"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", DeviceOp::kMemcpy, {"copyKind", "srcKind", "dstKind"}, ""},
    {"CUPTI_ACTIVITY_KIND_MEMSET", DeviceOp::kMemset, {}, "Memset"},
});
constexpr auto kNsysCallTables =
    std::to_array<std::string_view>({"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"});
constexpr auto kNsysOverheadTables =
    std::to_array<std::string_view>({"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"});
// Only counted as entries of the file.
constexpr auto kNsysCountedTables =
    std::to_array<std::string_view>({"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"});

// ENUM_CUDA_MEMCPY_OPER. An array is device memory. Migrations of unified memory are copies too.
struct NsysCopy {
  CopyKind kind;
  std::string_view name;
};
constexpr auto kNsysCopies = std::to_array<NsysCopy>({
    {CopyKind::kOther, "Memcpy"},
    {CopyKind::kHtoD, "Memcpy HtoD"},
    {CopyKind::kDtoH, "Memcpy DtoH"},
    {CopyKind::kHtoD, "Memcpy HtoA"},
    {CopyKind::kDtoH, "Memcpy AtoH"},
    {CopyKind::kDtoD, "Memcpy AtoA"},
    {CopyKind::kDtoD, "Memcpy AtoD"},
    {CopyKind::kDtoD, "Memcpy DtoA"},
    {CopyKind::kDtoD, "Memcpy DtoD"},
    {CopyKind::kHtoH, "Memcpy HtoH"},
    {CopyKind::kPtoP, "Memcpy PtoP"},
    {CopyKind::kHtoD, "Memcpy HtoD (unified memory)"},
    {CopyKind::kDtoH, "Memcpy DtoH (unified memory)"},
    {CopyKind::kDtoD, "Memcpy DtoD (unified memory)"},
});

// ENUM_CUDA_MEM_KIND: pageable, pinned, device, array, managed, device static, managed static, unknown.
constexpr auto kNsysMemory =
    std::to_array<MemoryKind>({MemoryKind::kPageable, MemoryKind::kPinned, MemoryKind::kDevice, MemoryKind::kDevice,
                               MemoryKind::kManaged, MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kUnknown});

// ENUM_CUPTI_OVERHEAD_TYPE: the profiler flushes buffers, instruments code, creates resources. Other types are CUDA's
// own.
constexpr auto kNsysOwnOverhead = std::to_array<std::int64_t>({3, 4, 5});

// ENUM_NSYS_EVENT_TYPE: ranges of NVTX, pushed and popped or started and ended, in memory or from a text file.
constexpr auto kNsysRanges = std::to_array<std::int64_t>({59, 60, 70, 71});

// Messages of DIAGNOSTIC_EVENT. The first is in most reports, complete ones included.
struct NsysDiagnostic {
  std::string_view words;
  bool events_missing;
};
constexpr auto kNsysDiagnostics = std::to_array<NsysDiagnostic>({
    {"Not all CUDA events might have been collected", false},
    {"Not all NVTX events might have been collected", false},
    {"dropped", true},
});

// The row of a table by the number in the file, or `otherwise` if the number is out of range.
template <typename Table>
constexpr auto NsysRow(const Table& table, std::int64_t at, typename Table::value_type otherwise) {
  return at >= 0 && at < static_cast<std::int64_t>(table.size()) ? table[static_cast<std::size_t>(at)] : otherwise;
}

}  // namespace

// Nsight Systems has no documented export format. Tables and columns differ between versions, so every table and every
// column may be missing, and NsysDatabase hides that.

namespace {

using Row = NsysDatabase::Row;

// A global id has the thread in its low 24 bits, the process in the next 24, and the machine above.
constexpr int kProcessShift = 24;
constexpr std::int64_t kIdMask = (1 << kProcessShift) - 1;

// Values of ENUM_CUDA_DEV_MEM_EVENT_OPER and limits of memory events.
constexpr std::int64_t kGivesBack = 1;                       // ENUM_CUDA_DEV_MEM_EVENT_OPER
constexpr std::int64_t kMostMemory = std::int64_t{1} << 50;  // bytes; no GPU has a petabyte

// The machine and process of a global id, without the thread.
std::int64_t ProcessKey(std::int64_t global) { return global >> kProcessShift; }

// "cudaMemcpyAsync" for "cudaMemcpyAsync_v3020".
std::string_view WithoutVersion(std::string_view call) {
  const std::size_t digits = call.find_last_not_of("0123456789") + 1;
  if (digits < 2 || digits == call.size() || call.substr(digits - 2, 2) != "_v") return call;
  return call.substr(0, digits - 2);
}

// "aten::to" for PyTorch's "aten::to, op_id = 7, sizes = [...]".
std::string_view WithoutArguments(std::string_view range) {
  for (const std::string_view argument : {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "}) {
    range = range.substr(0, range.find(argument));
  }
  return range;
}

// Reads the tables of an export, one after another, into a profile. `database` and `file` must outlive it.
class NsysReader {
 public:
  NsysReader(NsysDatabase& database, const std::string& file, DataQuality& quality)
      : database_(database), file_(file), quality_(quality) {}

  // The order matters: which number a process gives to a GPU is needed for device rows, and calls are needed to find
  // steps.
  Result<Profile> Read() {
    TRY(ReadAbout());
    TRY(ReadGpus());
    TRY(ChooseProcesses());
    for (const NsysDeviceTable& table : kNsysDeviceTables) TRY(ReadDeviceTable(table));
    for (const std::string_view table : kNsysCallTables) TRY(ReadCalls(table));
    TRY(ReadRanges());
    for (const std::string_view table : kNsysOverheadTables) TRY(ReadOverhead(table));
    TRY(ReadDiagnostics());
    TRY(ReadMemoryUse());
    for (const std::string_view table : kNsysCountedTables) {
      TRY(database_.ForEach(table, {"start"}, [this](const Row&) {
        ++builder_.header().events_total;
        return Result<void>();
      }));
    }
    for (const auto& [number, users] : users_) {
      if (users.several) quality_.CountNamed(QualityId::kSharedDeviceNumber, std::to_string(number), {&file_});
    }
    Profile profile = builder_.Build();
    if (!by_process_) quality_.Count(QualityId::kAmbiguousLaunch, {&file_}, FindLaunchProcesses(profile));
    quality_.Count(QualityId::kAmbiguousLaunch, {&file_}, DropReusedIds(profile));
    return profile;
  }

 private:
  // Product and schema version.
  Result<void> ReadAbout() {
    Profile& header = builder_.header();
    header.file = file_;
    header.kind = ProfilerKind::kNsight;
    header.profiler = "Nsight Systems";
    header.counter = "nsys.cupti_activity";
    return database_.ForEach("META_DATA_EXPORT", {"name", "value"}, [&header](const Row& row) {
      const std::string_view name = row.Text(0).value_or("");
      const std::string value = Printable(row.Text(1).value_or("").substr(0, 40));
      if (name == "EXPORT_PRODUCT_VERSION") header.profiler = "Nsight Systems " + value;
      if (name == "EXPORT_SCHEMA_VERSION") header.facts["nsys_schema"] = value;
      return Result<void>();
    });
  }

  // The GPUs of the machine, and which number each process has for them. CUDA_VISIBLE_DEVICES makes these differ:
  // each of two processes may call its own GPU 0.
  Result<void> ReadGpus() {
    TRY(database_.ForEach("TARGET_INFO_GPU", {"id", "name", "totalMemory"}, [this](const Row& row) {
      if (const std::optional<std::int64_t> id = row.Integer(0)) {
        ProfiledDevice& device = builder_.Device(*id);
        device.model = std::string(row.Text(1).value_or(""));
        device.memory_bytes = row.Integer(2);
      }
      return Result<void>();
    }));
    return database_.ForEach("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [this](const Row& row) {
      const std::optional<std::int64_t> gpu = row.Integer(0);
      const std::optional<std::int64_t> number = row.Integer(1);
      const std::int64_t id = row.Integer(2).value_or(0);  // of the process, or global
      if (gpu && number) gpus_[{id > kIdMask ? ProcessKey(id) & kIdMask : id, *number}] = *gpu;
      return Result<void>();
    });
  }

  // Whether device tables name processes. A column of NULLs names none, and its first row decides. If any table names
  // none, no table counts, because events of both kinds could not be joined by one rule.
  Result<void> ChooseProcesses() {
    for (const NsysDeviceTable& table : kNsysDeviceTables) {
      if (!database_.Has(table.name)) continue;
      const std::string column = database_.Has(table.name, "globalPid") ? "globalPid" : "NULL";
      TRY(database_.ForEachOf("SELECT " + column + " FROM " + SqliteName(table.name) + " LIMIT 1",
                              [this](const Row& row) {
                                by_process_ = by_process_ && row.Integer(0);
                                return Result<void>();
                              }));
    }
    return {};
  }

  // The process of a row. `global` is the id of a process or of one of its threads.
  std::uint16_t FindProcess(std::optional<std::int64_t> global) {
    if (!global) return builder_.Process("");
    const std::int64_t key = ProcessKey(*global);
    if (const auto found = processes_.find(key); found != processes_.end()) return found->second;
    // Processes of two machines may have the same number.
    const bool taken = std::any_of(processes_.begin(), processes_.end(),
                                   [key](const auto& known) { return ((known.first ^ key) & kIdMask) == 0; });
    const std::string name =
        std::to_string(key & kIdMask) + (taken ? " of " + std::to_string(ProcessKey(key)) : std::string());
    return processes_.emplace(key, builder_.Process(name)).first->second;
  }
  // The thread of a row, by its number alone.
  std::uint32_t FindThread(std::optional<std::int64_t> global) {
    if (!global) return builder_.Thread("");
    const auto [found, is_new] = threads_.try_emplace(*global, 0);
    if (is_new) found->second = builder_.Thread(std::to_string(*global & kIdMask));
    return found->second;
  }

  // The correlation id in that column. None if the row's process is unknown, because ids count from the start of each
  // process. If no device row has a process, ids are kept and FindLaunchProcesses looks for the calls.
  [[nodiscard]] std::int64_t ReadCorrelation(const Row& row, int column, std::optional<std::int64_t> global) const {
    const std::int64_t id = row.Integer(column).value_or(0);
    return id > 0 && (global || !by_process_) ? id : kNoCorrelation;
  }

  // The GPU to which a process gives that number. Without a table it is the number itself, and processes that share a
  // number are counted. Without a process it is the GPU if all processes agree on it.
  std::int64_t FindGpu(std::optional<std::int64_t> global, std::int64_t number) {
    if (global) {
      const auto found = gpus_.find({ProcessKey(*global) & kIdMask, number});
      if (found != gpus_.end()) return found->second;
      const auto [users, is_new] = users_.try_emplace(number, Users{ProcessKey(*global), false});
      users->second.several = users->second.several || users->second.first != ProcessKey(*global);
      return number;
    }
    std::optional<std::int64_t> gpu;
    for (const auto& [key, id] : gpus_) {
      if (key.second != number) continue;
      if (gpu && *gpu != id) return number;
      gpu = id;
    }
    return gpu.value_or(number);
  }

  // Memory that processes allocate and free on a GPU (nsys profile --cuda-memory-usage=true). What they held before
  // the capture is unknown, so this is a lower bound. Rows are read by time, because each adds to what was held.
  Result<void> ReadMemoryUse() {
    constexpr std::string_view kTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";
    for (const char* column : {"start", "deviceId", "globalPid", "bytes", "memKind", "memoryOperationType"}) {
      if (!database_.Has(kTable, column)) return {};
    }
    std::map<std::int64_t, std::int64_t> held;  // by GPU
    return database_.ForEachOf(
        "SELECT deviceId, globalPid, bytes, memKind, memoryOperationType FROM " + SqliteName(kTable) +
            " ORDER BY start",
        [this, &held](const Row& row) {
          ++builder_.header().events_total;
          const std::optional<std::int64_t> number = row.Integer(0);
          const std::int64_t bytes = row.Integer(2).value_or(0);
          if (!number || bytes <= 0 || bytes > kMostMemory) return Result<void>();
          if (NsysRow(kNsysMemory, row.Integer(3).value_or(-1), MemoryKind::kUnknown) != MemoryKind::kDevice) {
            return Result<void>();
          }
          const std::int64_t gpu = FindGpu(row.Integer(1), *number);
          std::int64_t& now = held[gpu];
          now = std::clamp<std::int64_t>(now + (row.Integer(4) == kGivesBack ? -bytes : bytes), 0, kMostMemory);
          builder_.AddReserved(gpu, now);
          return Result<void>();
        });
  }

  // Reads one table of device work. Columns that a version lacks are NULL, so all versions share this code.
  Result<void> ReadDeviceTable(const NsysDeviceTable& table) {
    const auto& details = table.details;
    return database_.ForEach(table.name,
                             {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", details[0],
                              details[1], details[2]},
                             [this, &table](const Row& row) { return AddDeviceRow(table, row); });
  }

  // Adds a kernel, copy, set or graph. Columns are in the order of ReadDeviceTable.
  Result<void> AddDeviceRow(const NsysDeviceTable& table, const Row& row) {
    ++builder_.header().events_total;
    const std::optional<Interval> range = ReadRange(row);
    const std::optional<std::int64_t> number = row.Integer(2);
    if (range && !number) CountBadRow();
    if (!range || !number) return {};
    const std::optional<std::int64_t> process = row.Integer(5);
    constexpr std::int64_t kMostStreams = std::numeric_limits<std::uint32_t>::max();
    DeviceEvent event;
    event.start_ns = range->start;
    event.end_ns = range->end;
    event.stream = static_cast<std::uint32_t>(std::clamp<std::int64_t>(row.Integer(3).value_or(0), 0, kMostStreams));
    event.correlation = ReadCorrelation(row, 4, process);
    if (by_process_) event.process = FindProcess(process);
    event.bytes = std::max<std::int64_t>(row.Integer(6).value_or(0), 0);
    event.op = table.op;
    if (table.op == DeviceOp::kMemcpy) {
      const NsysCopy copy = NsysRow(kNsysCopies, row.Integer(7).value_or(0), kNsysCopies[0]);
      event.copy = copy.kind;
      event.from = NsysRow(kNsysMemory, row.Integer(8).value_or(-1), MemoryKind::kUnknown);
      event.to = NsysRow(kNsysMemory, row.Integer(9).value_or(-1), MemoryKind::kUnknown);
      event.name = builder_.Intern(copy.name);
    } else if (!table.event_name.empty()) {
      event.name = builder_.Intern(table.event_name);
    } else {
      event.name = TRY(KernelName(row));
    }
    builder_.AddDeviceEvent(FindGpu(process, *number), event);
    return {};
  }

  // The best name that the row has. kNoName if it has none.
  Result<NameId> KernelName(const Row& row) {
    for (int column = 7; column < 10; ++column) {
      const std::optional<std::int64_t> id = row.Integer(column);
      if (!id) continue;
      if (const auto found = kernels_.find(*id); found != kernels_.end()) return found->second;
      const std::string name = TRY(database_.Text(*id));
      if (!name.empty()) return kernels_.emplace(*id, builder_.Intern(name)).first->second;
    }
    return kNoName;
  }

  // Reads runtime or driver calls. Calls come by the million but have few names, so each name is looked up and
  // classified once. Launches also go to the step finder.
  Result<void> ReadCalls(std::string_view table) {
    return database_.ForEach(
        table, {"start", "end", "globalTid", "correlationId", "nameId"}, [this](const Row& row) -> Result<void> {
          ++builder_.header().events_total;
          const std::optional<Interval> range = ReadRange(row);
          if (!range) return {};
          const std::int64_t id = row.Integer(4).value_or(-1);
          auto call = calls_.find(id);
          if (call == calls_.end()) {
            const std::string text = TRY(database_.Text(id));
            const CallKind kind = CallKindOf(text);
            const bool launch = kind == CallKind::kLaunchKernel || kind == CallKind::kLaunchGraph;
            call = calls_.emplace(id, Call{std::string(WithoutVersion(text)), launch}).first;
          }
          const std::optional<std::int64_t> global = row.Integer(2);
          const std::int64_t correlation = ReadCorrelation(row, 3, global);
          const std::uint32_t thread = FindThread(global);
          builder_.AddCall(call->second.name, {range->start, range->end, correlation, thread, FindProcess(global)});
          if (call->second.launch) steps_.AddLaunch(thread, range->start);
          return {};
        });
  }

  // Reads NVTX ranges. The table is read twice, because steps are only known once all ranges have been seen. Keeping
  // the ranges in memory instead would take more than the rest of the profile. Doubts are counted in the first pass
  // only.
  Result<void> ReadRanges() {
    TRY(ForEachRange(quality_, [this](const NamedRange& range) {
      steps_.AddRange(range.name, range.at, range.thread, range.process);
      ++builder_.header().events_total;
    }));
    steps_.Choose();
    for (const ProfiledStep& step : steps_.steps()) builder_.AddStep(step);
    DataQuality counted_before;
    return ForEachRange(counted_before, [this](const NamedRange& range) {
      if (steps_.IsStep(range.name, range.thread)) return;
      builder_.AddHostRange(range.name, range.at, range.thread);
      builder_.AddScope(range.name, range.at, range.thread, ScopeOfNvtx(range.name));
    });
  }

  // A range of NVTX.
  struct NamedRange {
    std::string_view name;  // valid during the call
    Interval at;
    std::uint32_t thread;
    std::uint16_t process;
  };
  // Calls `take` with each complete range. Its text is in the row, or registered as a string.
  Result<void> ForEachRange(DataQuality& quality, const std::function<void(const NamedRange&)>& take) {
    return database_.ForEach(
        "NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"},
        [&](const Row& row) -> Result<void> {
          const std::int64_t type = row.Integer(2).value_or(-1);
          if (std::find(kNsysRanges.begin(), kNsysRanges.end(), type) == kNsysRanges.end()) return {};  // a mark
          const std::optional<std::int64_t> start = row.Integer(0);
          const std::optional<std::int64_t> end = row.Integer(1);
          if (!start || !end) quality.Count(QualityId::kUnpairedRange, {&file_});
          if (!start || !end) return {};
          const std::optional<Interval> range = EventRange(*start, *end, quality, {&file_});
          if (!range) return {};
          std::optional<std::string_view> text = row.Text(3);
          std::string registered;
          if (const std::optional<std::int64_t> id = row.Integer(4); id && !text) {
            registered = TRY(database_.Text(*id));
            text = registered;
          }
          const std::optional<std::int64_t> thread = row.Integer(5);
          take({WithoutArguments(text.value_or("")), *range, FindThread(thread), FindProcess(thread)});
          return {};
        });
  }

  // Reads what the profiler itself cost. Only its own overhead counts; other types are CUDA's, and happen without a
  // profiler too. A table without types has nothing else.
  Result<void> ReadOverhead(std::string_view table) {
    const bool typed = database_.Has(table, "overheadType");
    return database_.ForEach(table, {"start", "end", "overheadType"}, [this, typed](const Row& row) {
      ++builder_.header().events_total;
      const std::optional<Interval> range = ReadRange(row);
      const std::int64_t type = row.Integer(2).value_or(-1);
      const bool own = std::find(kNsysOwnOverhead.begin(), kNsysOwnOverhead.end(), type) != kNsysOwnOverhead.end();
      if (range && (own || !typed)) builder_.AddOverhead(*range);
      return Result<void>();
    });
  }

  // Counts known warnings. Their full text may name hosts and files and is not kept.
  Result<void> ReadDiagnostics() {
    return database_.ForEach("DIAGNOSTIC_EVENT", {"text"}, [this](const Row& row) {
      const std::string_view text = row.Text(0).value_or("");
      for (const NsysDiagnostic& diagnostic : kNsysDiagnostics) {
        if (text.find(diagnostic.words) == std::string_view::npos) continue;
        quality_.CountNamed(QualityId::kProfilerWarning, diagnostic.words, {&file_});
        builder_.header().events_missing |= diagnostic.events_missing;
      }
      return Result<void>();
    });
  }

  // The first two columns of a query. Absent, and counted, if they are not times.
  std::optional<Interval> ReadRange(const Row& row) {
    const std::optional<std::int64_t> start = row.Integer(0);
    const std::optional<std::int64_t> end = row.Integer(1);
    if (start && end) return EventRange(*start, *end, quality_, {&file_});
    CountBadRow();
    return std::nullopt;
  }
  void CountBadRow() { quality_.Count(QualityId::kBadRow, {&file_}); }

  // A runtime or driver call by its name.
  struct Call {
    std::string name;
    bool launch;
  };
  // Processes that use a device number which no table maps to a GPU.
  struct Users {
    std::int64_t first;  // process
    bool several;
  };

  NsysDatabase& database_;
  const std::string& file_;
  DataQuality& quality_;
  ProfileBuilder builder_;
  StepFinder steps_;
  bool by_process_ = true;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpus_;  // by process and its number of the device
  std::map<std::int64_t, Users> users_;
  std::unordered_map<std::int64_t, std::uint16_t> processes_;  // by global id without the thread
  std::unordered_map<std::int64_t, std::uint32_t> threads_;    // by global id
  std::unordered_map<std::int64_t, NameId> kernels_;           // by id of the text
  std::unordered_map<std::int64_t, Call> calls_;
};

}  // namespace

bool SniffNsys(std::string_view head) { return SniffSqlite(head); }

namespace {

// The tables with a row for each event, which take the time of reading.
std::vector<std::string_view> LongTables() {
  std::vector<std::string_view> tables{"NVTX_EVENTS"};
  for (const NsysDeviceTable& table : kNsysDeviceTables) tables.push_back(table.name);
  tables.insert(tables.end(), kNsysCallTables.begin(), kNsysCallTables.end());
  tables.insert(tables.end(), kNsysOverheadTables.begin(), kNsysOverheadTables.end());
  tables.insert(tables.end(), kNsysCountedTables.begin(), kNsysCountedTables.end());
  return tables;
}

}  // namespace

Result<Profile> ReadNsys(ByteSource& in, DataQuality& quality) {
  NsysDatabase database = TRY(NsysDatabase::Open(in));
  quality.Count(QualityId::kTruncatedInput, {&in.name()}, in.truncated() ? 1 : 0);
  database.TellProgress(in, LongTables());
  return NsysReader(database, in.name(), quality).Read();
}

namespace {

// The least bytes that a row takes in a SQLite file: a pointer to its cell, its size and number, a header.
constexpr std::int64_t kSmallestRow = 5;
// Bytes of a file's head that tell a SQLite database.
constexpr std::size_t kSniffed = 16;

// What a database of another program holds, for the error message.
std::string OtherTables(const std::vector<std::string>& tables) {
  constexpr std::size_t kNamed = 5;
  if (tables.empty()) return "it has no tables";
  std::string names = "its tables: ";
  for (std::size_t i = 0; i < std::min(tables.size(), kNamed); ++i) {
    names += (i == 0 ? "" : ", ") + Printable(std::string_view(tables[i]).substr(0, 60));
  }
  return names + (tables.size() > kNamed ? ", ..." : "");
}

}  // namespace

// SQLite opens files by name. A compressed file has the name of a plain one but not its bytes, so the head decides
// whether the name can be opened. The temporary copy is deleted at the end of this function; the open database keeps
// its contents.
Result<NsysDatabase> NsysDatabase::Open(ByteSource& in) {
  const std::optional<SeekableFile> plain = SeekableFile::Open(in.name());
  std::optional<SpooledFile> spooled;
  std::string path = in.name();
  if (!plain || !SniffSqlite(plain->Head(kSniffed))) {
    SpooledFile copy = TRY(SpooledFile::Of(in));
    path = copy.path();
    spooled.emplace(std::move(copy));
  }
  SqliteDatabase database = TRY(SqliteDatabase::OpenToRead(path, in.name()));
  NsysDatabase opened(std::move(database), in.name());
  TRY(opened.ReadSchema());
  return opened;
}

// Learns tables and columns. Two tables that every export has tell whether the database is one.
Result<void> NsysDatabase::ReadSchema() {
  const std::vector<std::string> tables = TRY(database_.Tables());
  for (const std::string& table : tables) {
    const std::vector<std::string> columns = TRY(database_.Columns(table));
    tables_.emplace(table, std::set<std::string>(columns.begin(), columns.end()));
  }
  if (!Has("StringIds") && !Has("META_DATA_EXPORT")) {
    return Fail(name_ + ": is a SQLite database, but not from Nsight Systems (" + OtherTables(tables) +
                "); make one with: nsys export --type sqlite REPORT.nsys-rep");
  }
  if (Has("StringIds", "id") && Has("StringIds", "value")) {
    SqliteStatement strings = TRY(database_.Prepare("SELECT value FROM StringIds WHERE id = ?"));
    strings_.emplace(std::move(strings));
  }
  const std::int64_t size = TRY(database_.Size());
  bytes_ = size;
  most_rows_ = size / kSmallestRow;
  return {};
}

bool NsysDatabase::Has(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.count(std::string(column)) != 0;
}

Result<void> NsysDatabase::ForEach(std::string_view table, std::initializer_list<std::string_view> columns,
                                   const TakeRow& take) {
  if (!Has(table)) return {};
  std::string sql;
  for (const std::string_view column : columns) {
    sql += (sql.empty() ? "SELECT " : ", ") + (Has(table, column) ? SqliteName(column) : "NULL");
  }
  return ForEachOf(sql + " FROM " + SqliteName(table), take);
}

// SQLite does not notice pages that form a loop. The size of the file bounds the number of rows.
Result<void> NsysDatabase::ForEachOf(std::string_view query, const TakeRow& take) {
  SqliteStatement statement = TRY(database_.Prepare(query));
  constexpr std::int64_t kRowsBetween = 4096;
  for (std::int64_t rows = 0; rows <= most_rows_; ++rows) {
    const bool more = TRY(statement.Step());
    if (!more) return {};
    TRY(take(statement));
    if (told_ == nullptr || ++rows_taken_ % kRowsBetween != 0) continue;
    const Int128 position = Int128{bytes_} * std::min(rows_taken_, rows_) / rows_;
    told_->Passed(static_cast<std::uint64_t>(position));
  }
  return Fail(name_ + ": the database is damaged (its pages point at one another); copy it again or export it again");
}

// Rows of an export are numbered from 1, so the last number is their count, and SQLite finds it at once.
void NsysDatabase::TellProgress(ByteSource& in, std::span<const std::string_view> tables) {
  for (const std::string_view table : tables) {
    if (!Has(table)) continue;
    Result<SqliteStatement> last = database_.Prepare("SELECT max(rowid) FROM " + SqliteName(table));
    if (!last || !last->Step().value_or(false)) continue;
    rows_ += std::clamp<std::int64_t>(last->Integer(0).value_or(0), 0, most_rows_);
  }
  if (rows_ > 0) told_ = &in;
}

// One prepared statement serves all look-ups: preparing one for each name would cost more than the look-up.
Result<std::string> NsysDatabase::Text(std::int64_t id) {
  if (!strings_) return std::string();
  strings_->Rewind(0, id);
  const bool found = TRY(strings_->Step());
  return std::string(found ? strings_->Text(0).value_or("") : "");
}

}  // namespace idleburn
