#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "os/sqlite.h"
#include "profile/profile.h"

namespace idleburn {

// An export of Nsight Systems as tables of which any table and any column may be absent.
class NsysDatabase {
 public:
  // Opens a plain file by its name; anything else is first written to a temporary file. A SQLite database of something
  // else is an error that says what is in it, and so is a report that was not exported.
  static Result<NsysDatabase> Open(ByteSource& in);

  [[nodiscard]] bool Has(std::string_view table) const { return tables_.find(table) != tables_.end(); }
  [[nodiscard]] bool Has(std::string_view table, std::string_view column) const;

  using Row = SqliteStatement;
  using TakeRow = std::function<Result<void>(const Row&)>;
  // Rows of a table in the order of the file, none if there is no such table. Columns it lacks are NULL. More rows than
  // the file can hold are an error: its pages then go round in circles.
  Result<void> ForEach(std::string_view table, std::initializer_list<std::string_view> columns, const TakeRow& take);
  Result<void> ForEachOf(std::string_view query, const TakeRow& take);
  // Of StringIds; "" if the id is not there.
  Result<std::string> Text(std::int64_t id);

 private:
  NsysDatabase(SqliteDatabase database, std::string name) : database_(std::move(database)), name_(std::move(name)) {}
  Result<void> ReadSchema();

  SqliteDatabase database_;
  std::string name_;
  std::map<std::string, std::set<std::string>, std::less<>> tables_;  // with their columns
  std::int64_t most_rows_ = 0;
  std::optional<SqliteStatement> strings_;
};

// Which tables of an export of Nsight Systems are read, and what the numbers in them mean (its ENUM_ tables).

struct NsysDeviceTable {
  std::string_view name;
  DeviceOp op;
  std::array<std::string_view, 3> details;  // kernels: ids of names, the best first; copies: kind, from, to
  std::string_view event_name;              // where the rows name none
};
inline constexpr auto kNsysDeviceTables = std::to_array<NsysDeviceTable>({
    {"CUPTI_ACTIVITY_KIND_KERNEL", DeviceOp::kKernel, {"demangledName", "shortName", "mangledName"}, ""},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", DeviceOp::kKernel, {}, "CUDA graph"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", DeviceOp::kMemcpy, {"copyKind", "srcKind", "dstKind"}, ""},
    {"CUPTI_ACTIVITY_KIND_MEMSET", DeviceOp::kMemset, {}, "Memset"},
});
inline constexpr auto kNsysCallTables =
    std::to_array<std::string_view>({"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"});
inline constexpr auto kNsysOverheadTables =
    std::to_array<std::string_view>({"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"});
// No figure is made of these, but they are entries of the file.
inline constexpr auto kNsysCountedTables =
    std::to_array<std::string_view>({"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"});

// ENUM_CUDA_MEMCPY_OPER. An array is memory of the device; what unified memory migrates is a copy too.
struct NsysCopy {
  CopyKind kind;
  std::string_view name;
};
inline constexpr auto kNsysCopies = std::to_array<NsysCopy>({
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
inline constexpr auto kNsysMemory =
    std::to_array<MemoryKind>({MemoryKind::kPageable, MemoryKind::kPinned, MemoryKind::kDevice, MemoryKind::kDevice,
                               MemoryKind::kManaged, MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kUnknown});

// ENUM_CUPTI_OVERHEAD_TYPE: the profiler flushes buffers, instruments, makes resources. Others are CUDA's own.
inline constexpr auto kNsysOwnOverhead = std::to_array<std::int64_t>({3, 4, 5});

// ENUM_NSYS_EVENT_TYPE: ranges of NVTX, pushed and popped or started and ended, in memory or from a text file.
inline constexpr auto kNsysRanges = std::to_array<std::int64_t>({59, 60, 70, 71});

// Of DIAGNOSTIC_EVENT. The first stands in most reports, complete ones too.
struct NsysDiagnostic {
  std::string_view words;
  bool events_missing;
};
inline constexpr auto kNsysDiagnostics = std::to_array<NsysDiagnostic>({
    {"Not all CUDA events might have been collected", false},
    {"Not all NVTX events might have been collected", false},
    {"dropped", true},
});

// The row of a table at a number of the file; `otherwise` beyond.
template <typename Table>
constexpr auto NsysRow(const Table& table, std::int64_t at, typename Table::value_type otherwise) {
  return at >= 0 && at < static_cast<std::int64_t>(table.size()) ? table[static_cast<std::size_t>(at)] : otherwise;
}

}  // namespace idleburn
