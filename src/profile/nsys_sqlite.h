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

 private:
  NsysDatabase(SqliteDatabase database, std::string name) : database_(std::move(database)), name_(std::move(name)) {}
  Result<void> ReadSchema();

  SqliteDatabase database_;
  std::string name_;
  std::map<std::string, std::set<std::string>, std::less<>> tables_;  // with their columns
  std::int64_t most_rows_ = 0;
  std::optional<SqliteStatement> strings_;
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
// Only counted as entries of the file.
inline constexpr auto kNsysCountedTables =
    std::to_array<std::string_view>({"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"});

// ENUM_CUDA_MEMCPY_OPER. An array is device memory. Migrations of unified memory are copies too.
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

// ENUM_CUPTI_OVERHEAD_TYPE: the profiler flushes buffers, instruments code, creates resources. Other types are CUDA's
// own.
inline constexpr auto kNsysOwnOverhead = std::to_array<std::int64_t>({3, 4, 5});

// ENUM_NSYS_EVENT_TYPE: ranges of NVTX, pushed and popped or started and ended, in memory or from a text file.
inline constexpr auto kNsysRanges = std::to_array<std::int64_t>({59, 60, 70, 71});

// Messages of DIAGNOSTIC_EVENT. The first is in most reports, complete ones included.
struct NsysDiagnostic {
  std::string_view words;
  bool events_missing;
};
inline constexpr auto kNsysDiagnostics = std::to_array<NsysDiagnostic>({
    {"Not all CUDA events might have been collected", false},
    {"Not all NVTX events might have been collected", false},
    {"dropped", true},
});

// The row of a table by the number in the file, or `otherwise` if the number is out of range.
template <typename Table>
constexpr auto NsysRow(const Table& table, std::int64_t at, typename Table::value_type otherwise) {
  return at >= 0 && at < static_cast<std::int64_t>(table.size()) ? table[static_cast<std::size_t>(at)] : otherwise;
}

}  // namespace idleburn
