#include "standin/script.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace idleburn::standin {
namespace {

using Values = std::map<std::string, std::string>;

// "a=1 b="two words" flag": flag has the value "1".
Values ReadValues(std::istringstream& in) {
  Values values;
  std::string word;
  while (in >> word && word[0] != '#') {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      values[word] = "1";
      continue;
    }
    std::string value = word.substr(equals + 1);
    if (!value.empty() && value[0] == '"') {
      std::string more;
      while (value.size() < 2 || value.back() != '"') {
        if (!(in >> more)) break;
        value += " " + more;
      }
      value = value.substr(1, value.size() - 2);
    }
    values[word.substr(0, equals)] = value;
  }
  return values;
}

double Number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::uint64_t Bytes(const std::string& text) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  const std::string_view name(unit);
  const double scale = name == "GiB" ? 1024.0 * 1024 * 1024 : name == "MiB" ? 1024.0 * 1024 : 1.0;
  return static_cast<std::uint64_t>(number * scale);
}

void ReadFacts(const Values& values, BoardFacts& facts) {
  for (const auto& [key, value] : values) {
    if (key == "name") facts.name = value;
    if (key == "uuid") facts.uuid = value;
    if (key == "bus") facts.bus_id = value;
    if (key == "memory") facts.memory = Bytes(value);
    if (key == "window") facts.window_ns = ReadTime(value);
    if (key == "phase") facts.phase_ns = ReadTime(value);
    if (key == "idle") facts.idle_mw = Number(value) * 1000;
    if (key == "limit") facts.limit_mw = Number(value) * 1000;
    if (key == "default_limit") facts.default_limit_mw = Number(value) * 1000;
    if (key == "max_clock") facts.max_clock_mhz = Number(value);
    if (key == "energy") facts.energy_mj = Bytes(value);
    if (key == "ring") facts.ring = static_cast<std::size_t>(Number(value));
    if (key == "samples") facts.samples = value == "1";
    if (key == "gpm") facts.gpm = value == "1";
    if (key == "vbios") facts.vbios = value;
    if (key == "pcie_gen") facts.pcie_generation = static_cast<std::uint32_t>(Number(value));
    if (key == "pcie_width") facts.pcie_width = static_cast<std::uint32_t>(Number(value));
    if (key == "nvlinks") facts.nvlinks = static_cast<std::uint32_t>(Number(value));
    if (key == "gi") facts.gpu_instance = static_cast<std::uint32_t>(Number(value));
    if (key == "ci") facts.compute_instance = static_cast<std::uint32_t>(Number(value));
    if (key == "hidden") facts.hidden = value == "1";
    if (key == "slices") facts.slices = static_cast<std::uint32_t>(Number(value));
    if (key == "profile") facts.profile = value;
  }
}

void ReadFault(const std::string& word, std::istringstream& in, Script& script) {
  Fault fault;
  std::string argument;
  in >> fault.function;
  if (word == "fail" && in >> argument) fault.code = static_cast<int>(Number(argument));
  if (word == "delay" && in >> argument) fault.delay_ns = ReadTime(argument);
  fault.hang = word == "hang";
  if (word == "crash") in >> fault.crash;
  const Values values = ReadValues(in);
  for (const auto& [key, value] : values) {
    if (key == "gpu") fault.gpu = static_cast<int>(Number(value));
    if (key == "from") fault.from = ReadTime(value);
    if (key == "times") fault.times = static_cast<std::int64_t>(Number(value));
  }
  if (values.contains("for")) fault.until = fault.from + ReadTime(values.at("for"));
  script.faults.push_back(fault);
}

// "at TIME gpu N key=value...", "at TIME reload", "at TIME order 1,0", "at TIME xid GPU CODE".
bool ReadEvent(std::istringstream& in, Script& script) {
  std::string time;
  std::string what;
  in >> time >> what;
  const std::int64_t at = ReadTime(time);
  if (at < 0) return false;
  if (what == "gpu") {
    std::string board;
    std::string rest;
    in >> board;
    std::getline(in, rest);
    script.timeline[board].push_back(time + rest);
    return true;
  }
  if (what == "reload") {
    script.reloads.push_back(at);
    return true;
  }
  if (what == "order") {
    Reorder order;
    order.at = at;
    for (std::string index; std::getline(in >> std::ws, index, ',');)
      order.order.push_back(static_cast<int>(std::strtol(index.c_str(), nullptr, 10)));
    script.orders.push_back(order);
    return true;
  }
  Xid xid;
  xid.at = at;
  in >> xid.gpu >> xid.code;
  if (what == "xid") script.xids.push_back(xid);
  return what == "xid";
}

bool ReadLine(const std::string& word, std::istringstream& in, Script& script) {
  if (word == "clock") {
    std::string kind;
    in >> kind;
    script.manual_clock = kind == "manual";
    return kind == "manual" || kind == "real";
  }
  if (word == "driver") return static_cast<bool>(in >> script.driver >> script.nvml);
  if (word == "growing_lists") return script.growing_lists = true;
  if (word == "narrow_pcie") return script.narrow_pcie = true;
  if (word == "long_process_records") return script.long_process_records = true;
  if (word == "at") return ReadEvent(in, script);
  if (word == "fail" || word == "delay" || word == "hang" || word == "crash") {
    ReadFault(word, in, script);
    return true;
  }
  std::size_t index = 0;
  if (word != "gpu" && word != "mig") return false;
  in >> index;
  if (word == "mig") {
    if (index >= script.gpus.size()) return false;
    BoardFacts facts = script.gpus[index].facts;
    ReadFacts(ReadValues(in), facts);
    script.gpus[index].instances.push_back(facts);
    return true;
  }
  if (index != script.gpus.size()) return false;
  ScriptGpu gpu;
  const std::string digits = std::to_string(1000 + index);
  gpu.facts.uuid = "GPU-5d0ca1e5-0000-4000-8000-00000000" + digits;
  gpu.facts.bus_id = "00000000:" + digits.substr(2) + ":00.0";
  ReadFacts(ReadValues(in), gpu.facts);
  script.gpus.push_back(gpu);
  return true;
}

// The quantities from one line of a timeline on.
struct Level {
  std::int64_t from = 0;
  std::array<double, kQuantities> value{};
  std::uint64_t reasons = 0;
  std::uint32_t celsius = 40;
  std::uint64_t memory = 0;
  bool memory_told = false;
  std::vector<Process> processes;
  std::vector<Process> drawing;
  bool lost = false;
};

// "12:10GiB,13:?"; "none".
std::vector<Process> ReadProcesses(const std::string& text) {
  std::vector<Process> processes;
  std::istringstream list(text);
  for (std::string one; text != "none" && std::getline(list, one, ',');) {
    const std::size_t colon = std::min(one.find(':'), one.size());
    const bool known = colon + 1 < one.size() && one[colon + 1] != '?';
    processes.push_back({static_cast<std::uint32_t>(static_cast<int>(std::strtol(one.c_str(), nullptr, 10))),
                         known ? Bytes(one.substr(colon + 1)) : ~std::uint64_t{0}});
  }
  return processes;
}

void ReadLevel(const Values& values, Level& level) {
  static const std::map<std::string, std::pair<Quantity, double>> kNames = {
      {"util", {Quantity::kBusy, 1}},     {"power", {Quantity::kPower, 1000}}, {"sm", {Quantity::kSm, 1}},
      {"tensor", {Quantity::kTensor, 1}}, {"dram", {Quantity::kDram, 1}},      {"clock", {Quantity::kClock, 1}},
      {"rx", {Quantity::kPcieRx, 1e6}},   {"tx", {Quantity::kPcieTx, 1e6}},    {"nvlink", {Quantity::kNvlink, 1e6}}};
  for (const auto& [key, value] : values) {
    if (const auto name = kNames.find(key); name != kNames.end()) {
      level.value[static_cast<std::size_t>(name->second.first)] = Number(value) * name->second.second;
    }
    if (key == "reasons") level.reasons = std::strtoull(value.c_str(), nullptr, 0);
    if (key == "temp") level.celsius = static_cast<std::uint32_t>(Number(value));
    if (key == "lost") level.lost = value == "1";
    if (key == "memory") {
      level.memory = Bytes(value);
      level.memory_told = true;
    }
    if (key == "procs") level.processes = ReadProcesses(value);
    if (key == "draws") level.drawing = ReadProcesses(value);
  }
}

class Scripted : public Activity {
 public:
  explicit Scripted(std::vector<Level> levels) : levels_(std::move(levels)) {}

  double Integral(Quantity quantity, std::int64_t from, std::int64_t to) override {
    double sum = 0;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const std::int64_t end = i + 1 < levels_.size() ? levels_[i + 1].from : INT64_MAX;
      const std::int64_t overlap = std::min(to, end) - std::max(from, levels_[i].from);
      if (overlap > 0) sum += levels_[i].value[static_cast<std::size_t>(quantity)] * static_cast<double>(overlap);
    }
    return sum;
  }
  double At(Quantity quantity, std::int64_t t) override { return Of(t).value[static_cast<std::size_t>(quantity)]; }
  std::uint64_t MemoryUsed(std::int64_t t) override {
    const Level& level = Of(t);
    if (level.memory_told) return level.memory;
    std::uint64_t sum = 0;
    for (const auto* list : {&level.processes, &level.drawing}) {
      for (const Process& process : *list) sum += process.memory == ~std::uint64_t{0} ? 0 : process.memory;
    }
    return sum;
  }
  std::vector<Process> Processes(std::int64_t t) override { return Of(t).processes; }
  std::vector<Process> Drawing(std::int64_t t) override { return Of(t).drawing; }
  std::uint64_t EventReasons(std::int64_t t) override { return Of(t).reasons; }
  std::uint32_t Celsius(std::int64_t t) override { return Of(t).celsius; }
  bool Lost(std::int64_t t) override { return Of(t).lost; }

 private:
  [[nodiscard]] const Level& Of(std::int64_t t) const {
    const auto after = std::upper_bound(levels_.begin(), levels_.end(), t,
                                        [](std::int64_t time, const Level& level) { return time < level.from; });
    return after == levels_.begin() ? *after : *std::prev(after);
  }
  std::vector<Level> levels_;
};

}  // namespace

std::int64_t ReadTime(const std::string& text) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  const std::string_view name(unit);
  const double scale = name.empty() || name == "s" ? 1e9 : name == "ms" ? 1e6 : name == "us" ? 1e3 : -1;
  return unit == text.c_str() || scale < 0 ? -1 : static_cast<std::int64_t>(number * scale);
}

Script ReadScript(std::string_view text) {
  Script script;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream in(line);
    std::string word;
    if (!(in >> word) || word[0] == '#') continue;
    if (!ReadLine(word, in, script)) {
      script.error = "line " + std::to_string(number) + ": " + line;
      break;
    }
  }
  return script;
}

std::unique_ptr<Activity> ScriptedActivity(const BoardFacts& facts, const std::vector<std::string>& lines) {
  Level first;
  first.value[static_cast<std::size_t>(Quantity::kPower)] = facts.idle_mw;
  first.value[static_cast<std::size_t>(Quantity::kClock)] = facts.max_clock_mhz;
  std::vector<Level> levels = {first};
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string time;
    in >> time;
    Level next = levels.back();
    next.from = ReadTime(time);
    ReadLevel(ReadValues(in), next);
    if (next.from == levels.back().from) levels.pop_back();
    levels.push_back(next);
  }
  return std::make_unique<Scripted>(std::move(levels));
}

}  // namespace idleburn::standin
