#include "standin/live_activity.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace idleburn::standin {
namespace {

struct Busy {
  std::int64_t start;
  std::int64_t end;
  float sm;
  float dram;
  float power;
  float pcie;
  float tensor;
};

class Live : public Activity {
 public:
  Live(std::shared_ptr<LiveMarks> marks, BoardFacts facts, int device, std::int64_t base_ns)
      : marks_(std::move(marks)), facts_(std::move(facts)), device_(device), base_(base_ns) {}

  double Integral(Quantity quantity, std::int64_t from, std::int64_t to) override {
    // Edges of the pieces in which the set of busy processes stays the same.
    const std::vector<Busy> busy = BusyWithin(from + base_, to + base_);
    std::vector<std::int64_t> edges = {from + base_, to + base_};
    for (const Busy& b : busy) {
      edges.push_back(b.start);
      edges.push_back(b.end);
    }
    std::sort(edges.begin(), edges.end());
    double sum = 0;
    std::vector<Busy> open;
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      for (; next < busy.size() && busy[next].start <= edges[i]; ++next) open.push_back(busy[next]);
      open.erase(std::remove_if(open.begin(), open.end(), [&](const Busy& b) { return b.end <= edges[i]; }),
                 open.end());
      sum += Level(quantity, open) * static_cast<double>(edges[i + 1] - edges[i]);
    }
    return sum;
  }
  double At(Quantity quantity, std::int64_t t) override {
    constexpr std::int64_t kSensor = 25'000'000;  // what a power sensor averages over
    return Integral(quantity, t - kSensor, t) / static_cast<double>(kSensor);
  }
  std::uint64_t MemoryUsed(std::int64_t t) override {
    std::uint64_t sum = 0;
    for (const Process& process : Processes(t)) sum += process.memory;
    return sum;
  }
  std::vector<Process> Processes(std::int64_t) override {
    std::vector<Process> list;
    for (std::size_t i = 0; i < MarkFile::kSlots; ++i) {
      const MarkSlot& slot = marks_->file->slots[i];
      if (slot.pid == 0 || slot.device != device_ || slot.context == 0 || !Alive(i)) continue;
      list.push_back({static_cast<std::uint32_t>(slot.pid.load()), slot.memory.load()});
    }
    return list;
  }
  std::uint64_t EventReasons(std::int64_t t) override { return At(Quantity::kBusy, t) == 0 ? 1 : 0; }
  std::uint32_t Celsius(std::int64_t) override { return 45; }
  bool Lost(std::int64_t) override { return false; }
  // A mark is in the file a moment after it began.
  std::int64_t KnownUntil(std::int64_t now) override { return std::max<std::int64_t>(now - 2'000'000, 0); }

 private:
  bool Alive(std::size_t slot) {
    const std::int32_t pid = marks_->file->slots[slot].pid;
    const bool alive = kill(pid, 0) == 0 || errno == EPERM;
    if (alive) marks_->last_alive[slot] = MonotonicNow();
    return alive;
  }

  // In order of start, cut to [from, to).
  std::vector<Busy> BusyWithin(std::int64_t from, std::int64_t to) {
    std::vector<Busy> busy;
    for (std::size_t i = 0; i < MarkFile::kSlots; ++i) {
      const MarkSlot& slot = marks_->file->slots[i];
      if (slot.pid == 0 || slot.device != device_) continue;
      const std::int64_t seen = Alive(i) ? INT64_MAX : marks_->last_alive[i];
      const std::uint64_t count = slot.count.load(std::memory_order_acquire);
      const std::uint64_t oldest = count > MarkSlot::kMarks ? count - MarkSlot::kMarks : 0;
      for (std::uint64_t n = count; n > oldest; --n) {
        const Mark& mark = slot.marks[(n - 1) % MarkSlot::kMarks];
        Busy b = {mark.start, mark.end.load(), mark.sm, mark.dram, mark.power, mark.pcie, mark.tensor};
        if (mark.sequence.load(std::memory_order_acquire) != n) continue;  // written over meanwhile
        b.end = b.end == 0 ? seen : b.end;
        if (b.end <= from) break;  // those before it ended earlier
        if (b.start >= to) continue;
        b.start = std::max(b.start, from);
        b.end = std::min(b.end, to);
        busy.push_back(b);
      }
    }
    std::sort(busy.begin(), busy.end(), [](const Busy& a, const Busy& b) { return a.start < b.start; });
    return busy;
  }

  [[nodiscard]] double Level(Quantity quantity, const std::vector<Busy>& open) const {
    Busy all{};
    for (const Busy& b : open) {
      all.sm += b.sm;
      all.dram += b.dram;
      all.power += b.power;
      all.pcie += b.pcie;
      all.tensor += b.tensor;
    }
    const auto share = [](float f) { return std::min(static_cast<double>(f), 1.0); };
    switch (quantity) {
      case Quantity::kBusy:
        return open.empty() ? 0 : 100;
      case Quantity::kPower:
        return facts_.idle_mw + share(all.power) * (facts_.limit_mw - facts_.idle_mw);
      case Quantity::kSm:
        return 100 * share(all.sm);
      case Quantity::kTensor:
        return 100 * share(all.tensor);
      case Quantity::kDram:
        return 100 * share(all.dram);
      case Quantity::kClock:
        return facts_.max_clock_mhz;
      case Quantity::kPcieRx:
        return static_cast<double>(all.pcie) * 1e9;
      default:
        return 0;
    }
  }

  std::shared_ptr<LiveMarks> marks_;
  BoardFacts facts_;
  int device_;
  std::int64_t base_;
};

}  // namespace

std::shared_ptr<LiveMarks> LiveMarks::Map(const std::string& path) {
  MarkFile* const file = MapMarks(path);
  if (file == nullptr) return nullptr;
  auto marks = std::make_shared<LiveMarks>();
  marks->file = file;
  return marks;
}

std::unique_ptr<Activity> LiveActivityOf(std::shared_ptr<LiveMarks> marks, const BoardFacts& facts, int device,
                                         std::int64_t base_ns) {
  return std::make_unique<Live>(std::move(marks), facts, device, base_ns);
}

}  // namespace idleburn::standin
