// The input is the whole file. The Parquet reader is DuckDB's, which is not instrumented: this target watches how the
// importer takes what a broken file yields, so its seeds matter more than its mutations.
#include "import/parquet.h"

#include <sys/mman.h>
#include <unistd.h>

#include "import_fuzz.h"

namespace {

// A file in memory, which is a plain file with a path.
class MemoryFile {
 public:
  MemoryFile(const unsigned char* data, std::size_t size) : fd_(memfd_create("parquet", MFD_CLOEXEC)) {
    CHECK(fd_ >= 0 && write(fd_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const MemoryFile file(data, size);
  idleburn::DeviceTable devices;
  idleburn::DataQuality quality;
  idleburn::OwnerLedger owners;
  idleburn::CountingSink sink(devices);
  idleburn::ImportTarget target{devices, quality, owners, sink};
  idleburn::StringSource source("", file.path());
  const idleburn::Result<void> done = idleburn::ImportParquet(source, idleburn::ImportOptions{}, target);
  CHECK(done || done.error().message.find('\n') == std::string::npos);
  return 0;
}
