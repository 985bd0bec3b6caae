#include "import/parquet_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "import/parquet_column.h"

namespace idleburn {
namespace {

constexpr std::size_t kChunkRows = 2048;

// Writes the digits of integers to text cells.
void ToTexts(std::size_t rows, bool is_unsigned, ParquetCells& cells) {
  constexpr std::size_t kMostDigits = 20;
  const std::shared_ptr<char[]> digits(new char[rows * kMostDigits]);
  std::unique_ptr<std::byte[]> data(new std::byte[rows * sizeof(TextCell)]);
  const auto* const values = reinterpret_cast<const std::uint64_t*>(cells.data.get());
  auto* const texts = reinterpret_cast<TextCell*>(data.get());
  char* at = digits.get();
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t value = values[i];
    const std::to_chars_result done = is_unsigned
                                          ? std::to_chars(at, at + kMostDigits, value)
                                          : std::to_chars(at, at + kMostDigits, static_cast<std::int64_t>(value));
    texts[i] = TextCell({at, static_cast<std::size_t>(done.ptr - at)});
    at = done.ptr;
  }
  cells.data = std::move(data);
  cells.texts.push_back(digits);
}

// What a signed integer cannot hold has no value.
void DropBeyondSigned(std::size_t rows, ParquetCells& cells) {
  const auto* const values = reinterpret_cast<const std::uint64_t*>(cells.data.get());
  for (std::size_t i = 0; i < rows; ++i) {
    if (values[i] >> 63 == 0) continue;
    if (cells.validity == nullptr) {
      const std::size_t words = (rows + 63) / 64;
      cells.validity.reset(new std::uint64_t[words]);
      std::fill_n(cells.validity.get(), words, ~std::uint64_t{0});
    }
    cells.validity[i / 64] &= ~(std::uint64_t{1} << i % 64);
  }
}

class Chunk final : public TableChunk {
 public:
  Chunk(std::size_t rows, std::vector<ParquetCells> cells) : rows_(rows), cells_(std::move(cells)) {}
  [[nodiscard]] std::size_t rows() const override { return rows_; }
  [[nodiscard]] TableVector Vector(std::size_t column) const override {
    const ParquetCells& cells = cells_[column];
    if (cells.codes == nullptr) return {cells.data.get(), cells.validity.get()};
    return {cells.dictionary.get(), cells.validity.get(), cells.codes.get(), cells.dictionary, cells.entries};
  }

 private:
  std::size_t rows_;
  std::vector<ParquetCells> cells_;
};

class Stream final : public TableStream {
 public:
  Stream(const SeekableFile& file, std::shared_ptr<const ParquetFooter> footer,
         std::span<const ParquetReader::Selection> selected)
      : footer_(std::move(footer)), selected_(selected.begin(), selected.end()) {
    for (const ParquetReader::Selection& s : selected_) {
      const ParquetColumn& column = footer_->columns[s.position];
      columns_.push_back({column.table.name, s.form});
      const bool coded = s.form == column.table.type && column.value != ParquetValue::kUint64;
      readers_.push_back(ParquetColumnReader::Make(column, file, unpacker_, coded));
    }
  }

  [[nodiscard]] const std::vector<StreamColumn>& columns() const override { return columns_; }

  Result<std::unique_ptr<TableChunk>> Next() override {
    while (left_ == 0) {
      if (group_ == footer_->groups.size()) return std::unique_ptr<TableChunk>();
      const ParquetGroup& group = footer_->groups[group_++];
      left_ = group.rows;
      for (std::size_t i = 0; i < selected_.size(); ++i) readers_[i]->Start(group.parts[selected_[i].position]);
    }
    const std::size_t rows = std::min<std::uint64_t>(left_, kChunkRows);
    std::vector<ParquetCells> cells(selected_.size());
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      TRY(readers_[i]->Read(rows, cells[i]));
      const ParquetColumn& column = footer_->columns[selected_[i].position];
      const bool is_unsigned = column.value == ParquetValue::kUint64;
      if (selected_[i].form != column.table.type) {
        ToTexts(rows, is_unsigned, cells[i]);
      } else if (is_unsigned) {
        DropBeyondSigned(rows, cells[i]);
      }
    }
    left_ -= rows;
    return std::make_unique<Chunk>(rows, std::move(cells));
  }

 private:
  std::shared_ptr<const ParquetFooter> footer_;
  std::vector<ParquetReader::Selection> selected_;
  std::vector<StreamColumn> columns_;
  BlockUnpacker unpacker_;
  std::vector<std::unique_ptr<ParquetColumnReader>> readers_;
  std::size_t group_ = 0;   // the next
  std::uint64_t left_ = 0;  // rows of the group before it
};

bool Covers(const ParquetFooter& footer, const ParquetReader::Selection& selection) {
  const ParquetColumn& column = footer.columns[selection.position];
  if (column.value == ParquetValue::kOther) return false;
  const bool digits = column.table.type == TableType::kInteger && selection.form == TableType::kText;
  if (selection.form != column.table.type && !digits) return false;
  return std::all_of(footer.groups.begin(), footer.groups.end(),
                     [&](const ParquetGroup& group) { return group.parts[selection.position].covered; });
}

}  // namespace

ParquetReader::ParquetReader(const SeekableFile& file, ParquetFooter footer)
    : file_(&file), footer_(std::make_shared<const ParquetFooter>(std::move(footer))) {
  for (const ParquetColumn& column : footer_->columns) columns_.push_back(column.table);
}

std::optional<ParquetReader> ParquetReader::Open(const SeekableFile& file) {
  std::optional<ParquetFooter> footer = ReadParquetFooter(file);
  if (!footer) return std::nullopt;
  return ParquetReader(file, std::move(*footer));
}

std::unique_ptr<TableStream> ParquetReader::Read(std::span<const Selection> selected) const {
  const bool covered =
      std::all_of(selected.begin(), selected.end(), [&](const Selection& s) { return Covers(*footer_, s); });
  return covered ? std::make_unique<Stream>(*file_, footer_, selected) : nullptr;
}

}  // namespace idleburn
