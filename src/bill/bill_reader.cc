#include "bill/bill_reader.h"

#include <sys/stat.h>

#include <array>
#include <cstring>
#include <utility>

#include "bill/bill_value.h"
#include "os/input_file.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using C = FocusColumn;

// Distinct items that are remembered. Beyond that all are forgotten and may be written again: memory stays bounded.
constexpr std::size_t kMostItems = 100'000;

// Two independent 64-bit hashes of the same words. Items are compared by both alone.
struct PairHash {
  std::uint64_t a = 0x9E3779B97F4A7C15ULL;
  std::uint64_t b = 0xC2B2AE3D27D4EB4FULL;

  static std::uint64_t Fold(std::uint64_t x, std::uint64_t y) {
    const Uint128 product = static_cast<Uint128>(x) * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  void Add(std::uint64_t word) {
    a = Fold(a ^ word, 0xE7037ED1A0B428DBULL);
    b = Fold(b ^ (word + 0x8EBC6AF09C88C6E3ULL), 0xA0761D6478BD642FULL) + word;
  }
  // The text and its length, so that two cells do not flow into each other.
  void Add(std::string_view text) {
    std::uint64_t word = 0;
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
      std::memcpy(&word, text.data() + at, 8);
      Add(word);
    }
    word = 0;
    if (at < text.size()) std::memcpy(&word, text.data() + at, text.size() - at);
    Add(word);
    Add(text.size());
  }
  void Add(const BillCell& cell) {
    if (cell.null) {
      Add(std::uint64_t{0xFFFFFFFFFFFFFFFFULL});
    } else {
      Add(cell.text);
    }
  }
  friend bool operator==(const PairHash&, const PairHash&) = default;
};
struct PairHasher {
  std::size_t operator()(const PairHash& hash) const { return hash.a; }
};

// Hashes a file while it is read.
class HashedSource final : public ByteSource {
 public:
  HashedSource(std::unique_ptr<ByteSource> in, Sha256& hash, ProgressWatch watch)
      : in_(std::move(in)), hash_(hash), watch_(std::move(watch)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t got = TRY(in_->Read(out));
    hash_.Add(std::string_view(out.data(), got));
    done_ += got;
    if (watch_) watch_(done_, 0);
    return got;
  }
  [[nodiscard]] bool truncated() const override { return in_->truncated(); }
  [[nodiscard]] const std::string& name() const override { return in_->name(); }

 private:
  std::unique_ptr<ByteSource> in_;
  Sha256& hash_;
  ProgressWatch watch_;
  std::uint64_t done_ = 0;
};

// Size and time of the last change. All 0 of what is no file.
struct FileState {
  std::int64_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};
FileState StateOf(const std::string& path) {
  struct stat found = {};
  if (path == "-" || stat(path.c_str(), &found) != 0) return {};
  return {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

// Columns that are in the item: all but numbers and the charge period.
std::vector<C> ItemColumns(const ColumnPlan& plan) {
  std::vector<C> columns;
  for (const FocusColumnFacts& column : kFocusColumns) {
    const bool own = IsNumber(column.kind) || column.id == C::kChargePeriodStart || column.id == C::kChargePeriodEnd;
    if (!own && (plan.format() != BillFormat::kFocus || plan.Has(column.id))) columns.push_back(column.id);
  }
  return columns;
}

class RowMaker {
 public:
  RowMaker(ColumnPlan plan, const BillReadOptions& options, BillSink& sink, BillFileFacts* facts)
      : plan_(std::move(plan)),
        sink_(sink),
        facts_(facts),
        columns_(ItemColumns(plan_)),
        next_item_(options.first_item) {
    context_.focus = plan_.format() == BillFormat::kFocus;
    static const GpuInstances kInstances = GpuInstances::BuiltIn();  // the list is in the program
    context_.instances = &kInstances;
    for (const FocusColumnFacts& column : kFocusColumns) {
      context_.present[Index(column.id)] = plan_.Has(column.id);
    }
    facts_->present = context_.present;
  }

  Result<void> Take(std::int64_t line, std::span<const BillCell> cells) {
    plan_.Read(cells, &cells_);
    row_.line = line;
    row_.findings.clear();
    ReadNumbers();
    ReadPeriod();
    const ItemEntry* const entry = TRY(ItemOf());
    row_.item = entry->id;
    row_.what = &entry->item;
    row_.hash = HashOf(cells);
    ++facts_->rows;
    if (!row_.Has(C::kBilledCost)) ++facts_->no_amount;
    JudgeRow(context_, &row_);
    TRY(sink_.OnRow(row_));
    for (const RowFinding& finding : row_.findings) TRY(sink_.OnFinding(line, &row_, finding));
    for (RowFinding finding : entry->item.findings) {
      if (finding.rule == BillRule::kUntagged || finding.rule == BillRule::kLiteralNull) {
        finding.amount = row_.Number(C::kBilledCost);
      }
      TRY(sink_.OnFinding(line, &row_, finding));
    }
    return {};
  }

 private:
  struct ItemEntry {
    std::int64_t id = 0;
    BillItem item;
  };

  void Find(BillRule rule, C column, std::int64_t amount = 0) { row_.findings.push_back({rule, column, amount, 0, 0}); }

  void ReadNumbers() {
    row_.known = row_.rounded = 0;
    row_.numbers.fill(0);
    for (std::size_t i = 0; i < kFocusNumberCount; ++i) {
      const C column = kFocusNumbers[i];
      const BillCell& cell = cells_[Index(column)];
      if (cell.null) continue;
      const BillNumber number = ParseBillNumber(cell.text);
      const auto bit = static_cast<std::uint16_t>(1U << i);
      if (number.known) {
        row_.numbers[i] = number.nano;
        row_.known |= bit;
      }
      if (number.rounded) {
        row_.rounded |= bit;
        ++facts_->rounded;
      }
      if (number.well || (!context_.focus && number.known)) continue;
      const BillRule rule = cell.text.empty()      ? BillRule::kQuotedEmpty
                            : MeansNull(cell.text) ? BillRule::kLiteralNull
                                                   : BillRule::kBadNumber;
      // Other exports leave cells empty, or write NULL, where a charge has no such number.
      if (context_.focus || rule == BillRule::kBadNumber) Find(rule, column, number.nano);
    }
  }

  void ReadPeriod() {
    row_.period_known = true;
    row_.start = TimeOf(C::kChargePeriodStart, &last_start_);
    row_.end = TimeOf(C::kChargePeriodEnd, &last_end_);
  }
  // Most rows have the time of the row before, so that is kept.
  struct LastTime {
    std::string text;
    BillTime time;
  };
  Instant TimeOf(C column, LastTime* last) {
    const BillCell& cell = cells_[Index(column)];
    if (cell.text != last->text) {
      last->text = cell.text;
      last->time = ParseBillTime(cell.text);
    }
    const BillTime& time = last->time;
    if (!time.known) row_.period_known = false;
    if (time.known && !time.zoned && !time.well) ++facts_->no_zone;
    if (context_.focus && !time.well) Find(cell.null ? BillRule::kNullNotAllowed : BillRule::kBadTime, column);
    return time.time;
  }

  // The item of the row at hand, made and reported if it is new.
  Result<const ItemEntry*> ItemOf() {
    item_hash_ = PairHash();
    for (const C column : columns_) item_hash_.Add(cells_[Index(column)]);
    const auto found = items_.find(item_hash_);
    if (found != items_.end()) return found->second.get();
    if (items_.size() >= kMostItems) items_.clear();
    auto entry = std::make_unique<ItemEntry>();
    entry->id = next_item_++;
    BillItem& item = entry->item;
    for (const C column : columns_) {
      const BillCell& cell = cells_[Index(column)];
      if (cell.null) continue;
      if (cell.text.empty() || MeansNull(cell.text)) {
        const BillRule rule = cell.text.empty() ? BillRule::kQuotedEmpty : BillRule::kLiteralNull;
        if (context_.focus) item.findings.push_back({rule, column, 0, 0, 0});
        continue;
      }
      item.text[Index(column)].assign(cell.text);
    }
    JudgeItem(context_, &item);
    TRY(sink_.OnItem(entry->id, item));
    const ItemEntry* const made = entry.get();
    items_.emplace(item_hash_, std::move(entry));
    return made;
  }

  [[nodiscard]] std::uint64_t HashOf(std::span<const BillCell> cells) const {
    PairHash hash = item_hash_;
    for (const std::int64_t number : row_.numbers) hash.Add(static_cast<std::uint64_t>(number));
    hash.Add(std::uint64_t{row_.known});
    hash.Add(static_cast<std::uint64_t>(row_.start.nanos()));
    hash.Add(static_cast<std::uint64_t>(row_.end.nanos()));
    for (const std::size_t extra : plan_.extra()) hash.Add(cells[extra]);
    return hash.a ^ hash.b;
  }

  ColumnPlan plan_;
  BillSink& sink_;
  BillFileFacts* facts_;
  RuleContext context_;
  std::vector<C> columns_;
  FocusCells cells_;
  BillRow row_;
  LastTime last_start_;
  LastTime last_end_;
  PairHash item_hash_;
  std::unordered_map<PairHash, std::unique_ptr<ItemEntry>, PairHasher> items_;
  std::int64_t next_item_;
};

// Columns of one's own: x_ and a word in Pascal case, after all columns of FOCUS.
Result<void> JudgeHeader(const std::vector<std::string>& header, const ColumnPlan& plan, BillSink& sink) {
  for (const FocusColumnFacts& column : kFocusColumns) {
    if (column.level == FocusLevel::kMandatory && !plan.Has(column.id)) {
      TRY(sink.OnFinding(1, nullptr, {BillRule::kColumnMissing, column.id}));
    }
  }
  std::size_t last_focus = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (FocusColumnNamed(header[i])) last_focus = i;
  }
  for (const std::size_t i : plan.extra()) {
    const std::string& name = header[i];
    const bool named =
        name.size() > 2 && name.starts_with("x_") && IsUpper(name[2]) && name.find('_', 2) == std::string::npos;
    if (!named || i < last_focus) TRY(sink.OnFinding(1, nullptr, {BillRule::kCustomColumn}));
  }
  return {};
}

Result<void> ReadTable(BillTable& table, const BillReadOptions& options, BillSink& sink, BillFileFacts* facts) {
  ColumnPlan plan = TRY(ColumnPlan::Make(table.columns(), options.columns, facts->name));
  facts->format = kBillFormatNames[static_cast<std::size_t>(plan.format())];
  for (const std::size_t i : plan.extra()) facts->extra.push_back(table.columns()[i]);
  if (plan.format() == BillFormat::kFocus) TRY(JudgeHeader(table.columns(), plan, sink));
  Result<void> done;
  table.malformed = [&](std::int64_t line) {
    ++facts->malformed;
    if (done) done = sink.OnFinding(line, nullptr, {BillRule::kMalformedRow});
  };
  RowMaker maker(std::move(plan), options, sink, facts);
  while (TRY(table.Next())) TRY(maker.Take(table.line(), table.cells()));
  return done;
}

bool IsParquet(const std::string& path) {
  const std::optional<SeekableFile> file = path == "-" ? std::nullopt : SeekableFile::Open(path);
  return file && file->Head(4) == "PAR1";
}

}  // namespace

Result<BillFileFacts> ReadBillText(ByteSource& in, const BillReadOptions& options, BillSink& sink) {
  BillFileFacts facts;
  facts.name = in.name();
  const std::unique_ptr<BillTable> table = TRY(OpenBillCsv(in));
  TRY(ReadTable(*table, options, sink, &facts));
  facts.truncated = in.truncated();
  return facts;
}

Result<BillFileFacts> ReadBill(const std::string& path, const BillReadOptions& options, BillSink& sink) {
  BillFileFacts facts;
  const FileState before = StateOf(path);
  if (IsParquet(path)) {
    facts.name = path;
    const std::unique_ptr<BillTable> table = TRY(OpenBillParquet(path));
    TRY(ReadTable(*table, options, sink, &facts));
    facts.sha256 = TRY(Sha256OfFile(path));
  } else {
    Sha256 hash;
    const std::unique_ptr<ByteSource> in = TRY(OpenInput(path, [&](std::unique_ptr<ByteSource> file) {
      return std::make_unique<HashedSource>(std::move(file), hash, options.progress);
    }));
    facts = TRY(ReadBillText(*in, options, sink));
    facts.sha256 = hash.Hex();
  }
  if (!(StateOf(path) == before)) {
    return Fail(path + ": changed while idleburn read it; wait until the export is complete, then import it again");
  }
  return facts;
}

}  // namespace idleburn
