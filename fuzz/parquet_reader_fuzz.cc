// The input is a whole Parquet file, each column of which is read by our own reader in every form that it covers.
#include "import/parquet_reader.h"
#include "memory_file.h"

namespace {

using idleburn::TableType;

constexpr std::size_t kMostRows = 1 << 18;  // equal rows take no bytes; a file may have very many

void ReadSome(idleburn::TableStream& stream) {
  const TableType form = stream.columns()[0].type;
  std::size_t seen = 0;
  std::size_t bytes = 0;
  while (seen < kMostRows) {
    const auto chunk = stream.Next();
    CHECK(chunk || (!chunk.error().message.empty() && chunk.error().message.find('\n') == std::string::npos));
    if (!chunk || *chunk == nullptr) return;
    const idleburn::TableVector vector = (*chunk)->Vector(0);
    for (std::size_t i = 0; i < (*chunk)->rows(); ++i) {
      if (vector.IsNull(i)) continue;
      if (form == TableType::kText) {
        for (const char c : vector.Text(i)) bytes += static_cast<unsigned char>(c);
      } else {
        bytes += vector.Get<std::uint64_t>(i) & 1;
      }
    }
    seen += (*chunk)->rows();
  }
  CHECK(bytes < SIZE_MAX);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const idleburn::MemoryFile memory(data, size);
  const std::optional<idleburn::SeekableFile> file = idleburn::SeekableFile::Open(memory.path());
  CHECK(file);
  const std::optional<idleburn::ParquetReader> reader = idleburn::ParquetReader::Open(*file);
  if (!reader) return 0;
  for (std::size_t i = 0; i < reader->columns().size(); ++i) {
    for (const TableType form : {reader->columns()[i].type, TableType::kText}) {
      const idleburn::ParquetReader::Selection selection{i, form};
      const std::unique_ptr<idleburn::TableStream> stream = reader->Read(std::span(&selection, 1));
      if (stream != nullptr) ReadSome(*stream);
    }
  }
  return 0;
}
