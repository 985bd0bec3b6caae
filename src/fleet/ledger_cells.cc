#include "fleet/ledger_cells.h"

#include <algorithm>

namespace idleburn {
namespace {

constexpr std::size_t kLongestNumber = 10;  // bytes of 64 bits

class CellWriter {
 public:
  void Put(std::int64_t value) {
    auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
    for (; bits >= 128; bits >>= 7) bytes_ += static_cast<char>((bits & 127) | 128);
    bytes_ += static_cast<char>(bits);
  }
  void Put(const std::string& text) {
    Put(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void Put(const PhaseMs& phases) {
    for (const std::int64_t ms : phases) Put(ms);
  }
  void Put(const JobKey& key) {
    for (const std::string* part : {&key.cluster, &key.job, &key.user, &key.team, &key.experiment}) Put(*part);
  }
  void Reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads the same. After an error every value is 0, and whole() is false.
class CellReader {
 public:
  explicit CellReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  // Whether everything was read without an error.
  [[nodiscard]] bool whole() const { return ok_ && at_ == end_; }

  std::int64_t Number() {
    const auto left = static_cast<std::size_t>(end_ - at_);
    return Folded(left >= kLongestNumber ? Bits(kLongestNumber) : Bits(left));
  }
  // A count of things that each take at least a byte.
  std::size_t Count() {
    const std::int64_t count = Number();
    if (count < 0 || count > end_ - at_) ok_ = false;
    return ok_ ? static_cast<std::size_t>(count) : 0;
  }
  std::string Text() {
    const std::size_t size = Count();
    std::string text(at_, size);
    at_ += size;
    return text;
  }
  PhaseMs Phases() {
    PhaseMs phases{};
    for (std::int64_t& ms : phases) ms = Number();
    return phases;
  }
  JobKey Job() {
    JobKey key;
    for (std::string* part : {&key.cluster, &key.job, &key.user, &key.team, &key.experiment}) *part = Text();
    return key;
  }

 private:
  static std::int64_t Folded(std::uint64_t bits) {
    return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
  }
  // The next number, of `most` bytes at most.
  std::uint64_t Bits(std::size_t most) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < most; ++i) {
      const auto byte = static_cast<unsigned char>(at_[i]);
      bits |= std::uint64_t{byte & 127U} << (7 * i);
      if (byte < 128) {
        at_ += i + 1;
        return bits;
      }
    }
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace

void MergeRows(std::vector<CellRow>* rows) {
  const auto by_id = [](const CellRow& a, const CellRow& b) { return a.id < b.id; };
  if (!std::is_sorted(rows->begin(), rows->end(), by_id)) std::sort(rows->begin(), rows->end(), by_id);
  std::size_t last = 0;
  for (std::size_t i = 1; i < rows->size(); ++i) {
    if ((*rows)[i].id == (*rows)[last].id) {
      (*rows)[last].time.Add((*rows)[i].time);
    } else if (++last != i) {
      (*rows)[last] = (*rows)[i];
    }
  }
  if (!rows->empty()) rows->resize(last + 1);
}

std::string BlockBytes(const std::vector<CellRow>& rows) {
  CellWriter out;
  out.Reserve(rows.size() * 20 + kLongestNumber);
  out.Put(static_cast<std::int64_t>(rows.size()));
  std::uint64_t before = 0;
  for (const CellRow& row : rows) {
    out.Put(static_cast<std::int64_t>(static_cast<std::uint64_t>(row.id) - before));
    before = static_cast<std::uint64_t>(row.id);
  }
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
    for (const CellRow& row : rows) out.Put(row.time.phases[p]);
  }
  for (const CellRow& row : rows) out.Put(row.time.reset_ms);
  return out.Take();
}

bool ReadBlock(std::string_view bytes, std::vector<CellRow>* rows) {
  CellReader in(bytes);
  rows->resize(in.Count());
  std::uint64_t id = 0;  // of bytes that are no block it may wrap
  for (CellRow& row : *rows) row.id = static_cast<std::int64_t>(id += static_cast<std::uint64_t>(in.Number()));
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
    for (CellRow& row : *rows) row.time.phases[p] = in.Number();
  }
  for (CellRow& row : *rows) row.time.reset_ms = in.Number();
  return in.whole();
}

std::string NameBytes(CellKind kind, const CellName& name) {
  if (kind == CellKind::kGpu) return name.uuid;
  if (kind != CellKind::kJob) return name.owner.team;
  CellWriter out;
  out.Put(name.owner);
  return out.Take();
}

std::optional<CellName> NameFrom(CellKind kind, std::string node, std::string_view bytes) {
  CellName name{std::move(node), {}, {}};
  if (kind == CellKind::kGpu) {
    name.uuid = bytes;
  } else if (kind != CellKind::kJob) {
    name.owner.team = bytes;
  } else {
    CellReader in(bytes);
    name.owner = in.Job();
    if (!in.whole()) return std::nullopt;
  }
  return name;
}

std::string StateBytes(const NodeState& state) {
  CellWriter out;
  for (const auto* counters : {&state.gpus, &state.teams}) {
    out.Put(static_cast<std::int64_t>(counters->size()));
    for (const auto& [key, value] : *counters) {
      out.Put(key.first);
      out.Put(key.second);
      out.Put(value);
    }
  }
  out.Put(static_cast<std::int64_t>(state.jobs.size()));
  for (const auto& [key, booked] : state.jobs) {
    out.Put(key);
    out.Put(booked.edge);
    out.Put(booked.value);
  }
  return out.Take();
}

std::optional<NodeState> StateFrom(std::int64_t edge, std::string_view bytes) {
  CellReader in(bytes);
  NodeState state;
  state.edge = edge;
  for (auto* counters : {&state.gpus, &state.teams}) {
    for (std::size_t left = in.Count(); left > 0; --left) {
      std::string name = in.Text();
      const std::int64_t epoch = in.Number();
      (*counters)[{std::move(name), epoch}] = in.Phases();
    }
  }
  for (std::size_t left = in.Count(); left > 0; --left) {
    NodeState::Booked& booked = state.jobs[in.Job()];
    booked.edge = in.Number();
    booked.value = in.Phases();
  }
  return in.whole() ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace idleburn
