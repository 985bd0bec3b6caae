#include "bill/bill_table.h"
#include "import/duckdb_query.h"
#include "os/input_file.h"
#include "text/strings.h"

// Parquet through DuckDB, every column as text. DuckDB prints decimals, integers and times exactly; a binary floating
// point number gets the shortest text that means it.
namespace idleburn {
namespace {

class BillParquet final : public BillTable {
 public:
  explicit BillParquet(SeekableFile file) : file_(std::move(file)) {}

  Result<void> Open(const std::string& path) {
    connection_ = TRY(OpenDuckDb(1));
    const std::string from = "FROM read_parquet(" + SqlText(file_.alias()) + ")";
    std::string select;
    std::unique_ptr<TableStream> types = TRY(
        connection_->Query("SELECT column_name::VARCHAR, column_type::VARCHAR FROM (DESCRIBE SELECT * " + from + ")"));
    while (const std::unique_ptr<TableChunk> chunk = TRY(types->Next())) {
      for (std::size_t row = 0; row < chunk->rows(); ++row) {
        const std::string name(chunk->Vector(0).Text(row));
        const std::string_view type = chunk->Vector(1).Text(row);
        select += (select.empty() ? "" : ", ") + Expression(SqlName(name), type) + " AS " + SqlName(name);
        columns_.push_back(name);
      }
    }
    if (columns_.empty()) return Fail(path + ": has no columns");
    types.reset();
    stream_ = TRY(connection_->Query("SELECT " + select + " " + from));
    cells_.resize(columns_.size());
    return {};
  }

  [[nodiscard]] const std::vector<std::string>& columns() const override { return columns_; }
  [[nodiscard]] std::span<const BillCell> cells() const override { return cells_; }
  [[nodiscard]] std::int64_t line() const override { return line_; }

  Result<bool> Next() override {
    while (chunk_ == nullptr || row_ == chunk_->rows()) {
      chunk_ = TRY(stream_->Next());
      row_ = 0;
      if (chunk_ == nullptr) return false;
    }
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const TableVector vector = chunk_->Vector(c);
      const bool null = vector.IsNull(row_);
      cells_[c] = {null ? std::string_view() : vector.Text(row_), null};
    }
    ++row_;
    ++line_;
    return true;
  }

 private:
  // Times as FOCUS writes them, maps and structures as JSON, everything else as text.
  static std::string Expression(const std::string& name, std::string_view type) {
    if (type.starts_with("TIMESTAMP") || type == "DATE") {
      return "strftime(" + name + "::TIMESTAMP, '%Y-%m-%dT%H:%M:%SZ')";
    }
    if (type.starts_with("MAP") || type.starts_with("STRUCT") || type.ends_with("[]")) {
      return "to_json(" + name + ")::VARCHAR";
    }
    return name + "::VARCHAR";
  }

  SeekableFile file_;
  std::unique_ptr<DuckDbConnection> connection_;
  std::unique_ptr<TableStream> stream_;
  std::unique_ptr<TableChunk> chunk_;
  std::vector<std::string> columns_;
  std::vector<BillCell> cells_;
  std::size_t row_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace

Result<std::unique_ptr<BillTable>> OpenBillParquet(const std::string& path) {
  std::optional<SeekableFile> file = SeekableFile::Open(path);
  if (!file) return Fail(path + ": cannot be read");
  auto table = std::make_unique<BillParquet>(std::move(*file));
  TRY(table->Open(path));
  return table;
}

}  // namespace idleburn
