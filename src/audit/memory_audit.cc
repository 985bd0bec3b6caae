#include "audit/memory_audit.h"

#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "os/input_file.h"
#include "profile/pickle.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostSnapshotBytes = std::size_t{512} << 20;

bool BeginsLikePickle(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return false;
  auto opened = OpenInput(file);
  if (!opened) return false;  // the audit itself says why
  PeekSource source(std::move(*opened));
  const auto head = source.Peek(2);
  return head && SniffPickle(*head);
}

Result<std::string> WholeFile(const std::string& file) {
  const std::unique_ptr<ByteSource> source = TRY(OpenInput(file));
  std::string bytes;
  std::array<char, 1 << 16> part{};
  for (;;) {
    const std::size_t got = TRY(source->Read(part));
    if (got == 0) return bytes;
    if (bytes.size() + got > kMostSnapshotBytes) {
      return Fail(file +
                  ": is larger than 512 MiB; record fewer events: "
                  "torch.cuda.memory._record_memory_history(max_entries=100000)");
    }
    bytes.append(part.data(), got);
  }
}

}  // namespace

Result<bool> IsMemorySnapshot(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (!BeginsLikePickle(input)) continue;
    if (inputs.size() > 1) return FailUsage(input + ": is a pickle; audit a memory snapshot without other files");
    return true;
  }
  return false;
}

Result<MemoryAudit> AuditMemory(const std::string& file) {
  std::string bytes = TRY(WholeFile(file));
  const Result<MemorySnapshot> snapshot = ReadMemorySnapshot(std::move(bytes));
  if (!snapshot) return Fail(file + ": " + snapshot.error().message);
  return MemoryAudit{file, GpuMemoryUseOf(*snapshot), snapshot->traces.has_value(), snapshot->segments.has_value(),
                     snapshot->expandable};
}

}  // namespace idleburn
