#include <algorithm>
#include <array>
#include <cstring>

#include "bill/bill_table.h"
#include "text/number.h"

// Splits CSV in one pass over a buffer that holds a whole record. Cells point into the buffer. Doubled quotes are
// removed in place once a record is complete, so nothing is copied.
namespace idleburn {
namespace {

constexpr std::size_t kReadSize = 1 << 20;
constexpr std::size_t kLongestRecord = 1 << 20;  // an open quote ends here at the latest
constexpr std::size_t kMostColumns = 4096;

class BillCsv final : public BillTable {
 public:
  explicit BillCsv(ByteSource& in) : in_(in), buffer_(2 * kReadSize) {}

  Result<void> ReadHeader() {
    if (!TRY(Scan())) return Fail(in_.name() + ": is empty; give a billing export with a header line");
    separator_ = SniffBillSeparator(std::string_view(&buffer_[begin_], next_ - begin_));
    TRY(Scan());
    Finish();
    for (const BillCell& cell : cells_) columns_.emplace_back(Trim(cell.text));
    if (columns_.size() > kMostColumns) {
      return Fail(in_.name() + ":1: has more than " + std::to_string(kMostColumns) + " columns; this is not a bill");
    }
    Advance();
    return {};
  }

  [[nodiscard]] const std::vector<std::string>& columns() const override { return columns_; }
  [[nodiscard]] std::span<const BillCell> cells() const override { return cells_; }
  [[nodiscard]] std::int64_t line() const override { return line_; }

  Result<bool> Next() override {
    while (TRY(Scan())) {
      line_ = next_line_;
      if (marks_.size() == 1 && marks_[0].size == 0 && !marks_[0].quoted) {  // a blank line
        Advance();
        continue;
      }
      if (good_ && marks_.size() == columns_.size()) {
        Finish();
        Advance();
        return true;
      }
      if (malformed) malformed(line_);
      Resume();
    }
    return false;
  }

 private:
  // Where a cell lies, from the begin of its record.
  struct Mark {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
    bool quoted = false;
    bool doubled = false;  // has doubled quotes
  };

  static char SniffBillSeparator(std::string_view header) {
    constexpr std::array<char, 3> kSeparators = {',', ';', '\t'};
    return *std::max_element(kSeparators.begin(), kSeparators.end(), [&](char a, char b) {
      return std::count(header.begin(), header.end(), a) < std::count(header.begin(), header.end(), b);
    });
  }

  // Moves the record at hand to the begin of the buffer and reads more behind it. False at the end of the input.
  Result<bool> Fill() {
    if (at_end_) return false;
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() - end_ < kReadSize) buffer_.resize(buffer_.size() + kReadSize);
    const std::size_t got = TRY(in_.Read(std::span(buffer_.data() + end_, kReadSize)));
    at_end_ = got == 0;
    end_ += got;
    return got > 0;
  }

  // Finds the cells of the record at begin_, the end of the record (next_) and that of its first line. False if there
  // is no record left. `good_` tells whether the quotes made sense.
  Result<bool> Scan() {
    while (true) {
      if (begin_ < end_ && ScanHeld()) return true;
      if (!TRY(Fill())) return begin_ < end_ && ScanHeld();
    }
  }

  // The same with what the buffer holds. False if the record may go on behind it.
  bool ScanHeld() {
    marks_.clear();
    good_ = true;
    lines_ = 0;
    first_line_end_ = 0;
    const char* const base = buffer_.data() + begin_;
    const auto size = static_cast<std::uint32_t>(std::min(end_ - begin_, 2 * kLongestRecord));
    std::uint32_t at = 0;
    while (true) {
      if (at < size && base[at] == '"') {
        if (!ScanQuotedCell(base, size, &at)) return false;
      } else {
        const std::uint32_t start = at;
        while (at < size && base[at] != separator_ && base[at] != '\n') ++at;
        if (at == size && !at_end_) return false;
        marks_.push_back({start, at - start, false, false});
      }
      if (at >= size || base[at] == '\n') break;
      ++at;  // the separator
    }
    EndRecord(base, at, size);
    return true;
  }

  // A cell that begins with a quote. Leaves *at behind it. False if it may go on behind the buffer.
  bool ScanQuotedCell(const char* base, std::uint32_t size, std::uint32_t* at) {
    const std::uint32_t start = ++*at;
    bool doubled = false;
    while (true) {
      const char c = *at < size ? base[*at] : '\0';
      if (*at >= size || *at > kLongestRecord) {
        if (*at <= kLongestRecord && !at_end_) return false;
        good_ = false;  // never closed
        break;
      }
      if (c == '\n') {
        if (lines_++ == 0) first_line_end_ = *at;
      }
      if (c == '"') {
        if (*at + 1 == size && !at_end_) return false;
        if (*at + 1 == size || base[*at + 1] != '"') break;
        doubled = true;
        ++*at;
      }
      ++*at;
    }
    marks_.push_back({start, *at - start, true, doubled});
    if (*at < size && base[*at] == '"') ++*at;
    if (*at < size && base[*at] == '\r') ++*at;
    if (*at == size && !at_end_) return false;
    if (*at < size && base[*at] != separator_ && base[*at] != '\n') good_ = false;  // text behind the quote
    while (*at < size && base[*at] != separator_ && base[*at] != '\n') ++*at;
    return *at < size || at_end_;
  }

  void EndRecord(const char* base, std::uint32_t at, std::uint32_t size) {
    Mark& last = marks_.back();
    if (!last.quoted && last.size > 0 && base[last.at + last.size - 1] == '\r') --last.size;
    if (lines_ == 0) first_line_end_ = at;
    ++lines_;
    next_ = begin_ + std::min(at + 1, size);
  }

  // Makes the cells of the record that was found.
  void Finish() {
    char* const base = buffer_.data() + begin_;
    cells_.resize(marks_.size());
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      Mark& mark = marks_[i];
      if (mark.doubled) RemoveDoubled(base, &mark);
      cells_[i] = {std::string_view(base + mark.at, mark.size), mark.size == 0 && !mark.quoted};
    }
  }
  static void RemoveDoubled(char* base, Mark* mark) {
    char* out = base + mark->at;
    const char* const end = out + mark->size;
    for (const char* in = out; in < end; ++in) {
      *out++ = *in;
      if (*in == '"') ++in;
    }
    mark->size = static_cast<std::uint32_t>(out - base) - mark->at;
  }

  void Advance() {
    begin_ = next_;
    next_line_ += lines_;
  }
  // Goes on behind the first line of a record that made no sense.
  void Resume() {
    begin_ = std::min(begin_ + first_line_end_ + 1, end_);
    ++next_line_;
  }

  ByteSource& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the record
  std::size_t end_ = 0;    // of what was read
  std::size_t next_ = 0;   // begin of the record behind it
  bool at_end_ = false;
  char separator_ = ',';
  std::vector<Mark> marks_;
  bool good_ = true;
  std::int64_t lines_ = 0;  // of the record
  std::uint32_t first_line_end_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t line_ = 0;
  std::vector<BillCell> cells_;
  std::vector<std::string> columns_;
};

}  // namespace

Result<std::unique_ptr<BillTable>> OpenBillCsv(ByteSource& in) {
  auto table = std::make_unique<BillCsv>(in);
  TRY(table->ReadHeader());
  return table;
}

}  // namespace idleburn
