#include "measure/proc_files.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>

#include "os/folder.h"
#include "os/kept_file.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

namespace {

// The limit of what is parsed.
constexpr std::int64_t kMost = std::int64_t{1} << 62;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Adds without overflow. A sum at the limit is not credible anyway.
void Add(std::int64_t* sum, std::int64_t value) { *sum = *sum > kMost - value ? kMost : *sum + value; }

// Disks that are stacked on others or have no medium. Their bytes would count twice, or were never on a disk.
constexpr std::array<std::string_view, 7> kNoDisks = {"loop", "ram", "zram", "dm-", "md", "sr", "fd"};
// Network devices that pass on to others, or whose traffic never leaves the machine. A byte to a container would
// count at its veth, at the bridge and at the card.
constexpr std::array<std::string_view, 12> kNoNetwork = {"lo",  "veth", "docker", "br-",  "virbr",   "cni",
                                                         "tap", "tun",  "bond",   "team", "flannel", "cali"};

template <std::size_t kSize>
bool StartsWithAny(std::string_view name, const std::array<std::string_view, kSize>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

// Whether a name is that of a partition: "sda1" of "sda", "nvme0n1p2" of "nvme0n1". A disk whose name ends in a digit
// has a "p" before the number of its partition.
bool IsPartitionOf(std::string_view name, std::string_view disk) {
  if (name.size() <= disk.size() || disk.empty() || !name.starts_with(disk)) return false;
  std::string_view rest = name.substr(disk.size());
  if (IsDigit(disk.back())) {
    if (rest.front() != 'p') return false;
    rest.remove_prefix(1);
  }
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), IsDigit);
}

}  // namespace

std::string_view TakeLine(std::string_view* text) {
  const std::size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::optional<std::int64_t> NumberOf(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > kMost) return std::nullopt;
  return value;
}

std::string_view Words::Next() {
  while (!text_.empty() && IsBlank(text_.front())) text_.remove_prefix(1);
  std::size_t size = 0;
  while (size < text_.size() && !IsBlank(text_[size])) ++size;
  const std::string_view word = text_.substr(0, size);
  text_.remove_prefix(size);
  return word;
}

std::optional<std::int64_t> Words::NextNumber() { return NumberOf(Next()); }

void Words::Skip(int words) {
  for (int i = 0; i < words; ++i) Next();
}

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name may contain blanks and parentheses. Nothing after it does, so the last parenthesis ends it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  Words words(text.substr(name_end + 1));
  ProcessStat stat;
  const std::string_view state = words.Next();
  if (state.size() != 1) return std::nullopt;
  stat.state = state.front();
  bool whole = true;
  const auto next = [&] {
    const std::optional<std::int64_t> value = words.NextNumber();
    whole = whole && value;
    return value.value_or(0);
  };
  stat.parent = static_cast<std::int32_t>(next());   // field 4
  words.Skip(1);                                     // group
  stat.session = static_cast<std::int32_t>(next());  // 6
  words.Skip(4);                                     // terminal, its group, flags, minor faults
  stat.waited_faults = next();                       // 11
  stat.major_faults = next();                        // 12
  stat.waited_major_faults = next();                 // 13
  Add(&stat.waited_faults, stat.waited_major_faults);
  for (int i = 0; i < 2; ++i) Add(&stat.cpu_ticks, next());         // 14, 15
  for (int i = 0; i < 2; ++i) Add(&stat.waited_cpu_ticks, next());  // 16, 17
  words.Skip(2);                                                    // priority, nice
  stat.threads = next();                                            // 20
  words.Skip(1);
  stat.start_ticks = next();     // 22
  words.Skip(1);                 // size
  stat.resident_pages = next();  // 24
  if (!whole) return std::nullopt;
  return stat;
}

std::optional<ProcessIo> ParseProcessIo(std::string_view text) {
  const auto rchar = ValueOfKey(text, "rchar:");
  const auto wchar = ValueOfKey(text, "wchar:");
  const auto read = ValueOfKey(text, "read_bytes:");
  const auto written = ValueOfKey(text, "write_bytes:");
  if (!rchar || !wchar || !read || !written) return std::nullopt;
  return ProcessIo{*rchar, *wchar, *read, *written};
}

// The mask is hexadecimal, and signal 1 is its lowest bit.
std::optional<bool> CatchesSignal(std::string_view status, int signal) {
  constexpr std::string_view kKey = "SigCgt:";
  while (!status.empty()) {
    const std::string_view line = TakeLine(&status);
    if (line.substr(0, kKey.size()) != kKey) continue;
    const std::string_view word = Words(line.substr(kKey.size())).Next();
    std::uint64_t mask = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), mask, 16);
    if (error != std::errc() || end != word.data() + word.size() || signal < 1 || signal > 64) return std::nullopt;
    return ((mask >> (signal - 1)) & 1) != 0;
  }
  return std::nullopt;
}

std::optional<std::int64_t> ParseRunQueueWait(std::string_view text) {
  Words words(text);
  if (!words.NextNumber()) return std::nullopt;
  return words.NextNumber();
}

std::optional<std::int64_t> ParsePressure(std::string_view text, std::string_view line_name) {
  while (!text.empty()) {
    Words words(TakeLine(&text));
    if (words.Next() != line_name) continue;
    for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
      if (!word.starts_with("total=")) continue;
      const std::optional<std::int64_t> micros = NumberOf(word.substr(6));
      if (!micros || *micros > kMost / 1000) return std::nullopt;
      return *micros * 1000;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> ValueOfKey(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    Words words(TakeLine(&text));
    if (words.Next() == key) return words.NextNumber();
  }
  return std::nullopt;
}

// The first line sums all CPUs. The lines of single CPUs follow it directly, and only they are counted.
std::optional<MachineCpu> ParseMachineCpu(std::string_view text) {
  Words all(TakeLine(&text));
  if (all.Next() != "cpu") return std::nullopt;
  MachineCpu cpu;
  for (int field = 0; field < 7; ++field) {
    const std::optional<std::int64_t> ticks = all.NextNumber();
    if (!ticks) return std::nullopt;
    const bool idle = field == 3 || field == 4;  // idle, iowait
    if (!idle) Add(&cpu.busy_ticks, *ticks);
  }
  while (text.starts_with("cpu")) {
    TakeLine(&text);
    ++cpu.cpus;
  }
  return cpu;
}

// A disk comes before its partitions in the file, so the disks seen so far suffice to recognise them.
ByteCounts ParseDiskstats(std::string_view text) {
  ByteCounts bytes;
  std::vector<std::string_view> disks;
  while (!text.empty()) {
    Words words(TakeLine(&text));
    words.Skip(2);
    const std::string_view name = words.Next();
    const bool part =
        std::any_of(disks.begin(), disks.end(), [&](std::string_view d) { return IsPartitionOf(name, d); });
    if (name.empty() || part || StartsWithAny(name, kNoDisks)) continue;
    disks.push_back(name);
    words.Skip(2);
    const std::optional<std::int64_t> read = words.NextNumber();
    words.Skip(3);
    const std::optional<std::int64_t> written = words.NextNumber();
    if (!read || !written || std::max(*read, *written) > kMost / kSectorBytes) continue;
    Add(&bytes.in, *read * kSectorBytes);
    Add(&bytes.out, *written * kSectorBytes);
  }
  return bytes;
}

// Bytes received are the first number after the name, bytes sent the ninth.
ByteCounts ParseNetDev(std::string_view text) {
  ByteCounts bytes;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // headings
    const std::string_view name = Words(line.substr(0, colon)).Next();
    if (name == "lo" || StartsWithAny(name, kNoNetwork)) continue;
    Words words(line.substr(colon + 1));
    const std::optional<std::int64_t> received = words.NextNumber();
    words.Skip(7);
    const std::optional<std::int64_t> sent = words.NextNumber();
    if (!received || !sent) continue;
    Add(&bytes.in, *received);
    Add(&bytes.out, *sent);
  }
  return bytes;
}

// A line is "8:0 rbytes=1 wbytes=2 rios=3 ...".
ByteCounts ParseIoStat(std::string_view text) {
  ByteCounts bytes;
  while (!text.empty()) {
    Words words(TakeLine(&text));
    words.Skip(1);
    for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
      if (word.starts_with("rbytes=")) Add(&bytes.in, NumberOf(word.substr(7)).value_or(0));
      if (word.starts_with("wbytes=")) Add(&bytes.out, NumberOf(word.substr(7)).value_or(0));
    }
  }
  return bytes;
}

// A line is "8:0 Read 4096". Other kinds, such as "Sync", count the same bytes again.
ByteCounts ParseBlkioBytes(std::string_view text) {
  ByteCounts bytes;
  while (!text.empty()) {
    Words words(TakeLine(&text));
    words.Skip(1);
    const std::string_view kind = words.Next();
    const std::int64_t value = words.NextNumber().value_or(0);
    if (kind == "Read") Add(&bytes.in, value);
    if (kind == "Write") Add(&bytes.out, value);
  }
  return bytes;
}

std::optional<std::int64_t> CountOfList(std::string_view list) {
  std::int64_t count = 0;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const std::size_t dash = item.find('-');
    const std::optional<std::int64_t> first = NumberOf(item.substr(0, dash));
    const std::optional<std::int64_t> last = dash == std::string_view::npos ? first : NumberOf(item.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    Add(&count, *last - *first + 1);
  }
  if (count == 0) return std::nullopt;
  return count;
}

namespace {

// Bytes of a command line. A process may have megabytes of arguments.
constexpr std::size_t kLongestCommand = 4096;

// The text of a process's file. Absent if the process ended or hides it.
std::optional<std::string> ReadOf(const std::string& proc, std::int64_t pid, const char* name) {
  KeptFile file(proc + "/" + std::to_string(pid) + "/" + name, nullptr);
  std::string buffer;
  const std::optional<std::string_view> text = file.Read(buffer);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

// The name in "4711 (python train) S ...". It may contain any character, parentheses too.
std::string NameIn(std::string_view stat) {
  const std::size_t begin = stat.find('(');
  const std::size_t end = stat.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return std::string(stat.substr(begin + 1, end - begin - 1));
}

// The arguments of a command line, which zero bytes end.
std::vector<std::string> WordsOf(std::string_view arguments) {
  std::vector<std::string> words;
  while (!arguments.empty()) {
    const std::size_t end = std::min(arguments.find('\0'), arguments.size());
    words.emplace_back(arguments.substr(0, end));
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  // A program that writes its title over its arguments leaves only zero bytes after it.
  while (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

namespace {

// The parsed stat of a process. Absent if the process ended or is hidden.
std::optional<ProcessStat> StatOf(const std::string& proc, std::int64_t pid) {
  const auto text = pid > 0 ? ReadOf(proc, pid, "stat") : std::nullopt;
  return text ? ParseProcessStat(*text) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> StartTicksOf(const std::string& proc, std::int64_t pid) {
  const auto stat = StatOf(proc, pid);
  return stat ? std::optional(stat->start_ticks) : std::nullopt;
}

std::optional<std::int64_t> RunningSince(const std::string& proc, std::int64_t pid) {
  const auto stat = StatOf(proc, pid);
  const bool ended = stat && (stat->state == 'Z' || stat->state == 'X');
  return stat && !ended ? std::optional(stat->start_ticks) : std::nullopt;
}

std::optional<ProcessIdentity> IdentityOf(const std::string& proc, std::int64_t pid, std::int64_t start_ticks) {
  ProcessIdentity identity;
  const auto status = ReadOf(proc, pid, "status");
  const std::optional<std::int64_t> user = status ? ValueOfKey(*status, "Uid:") : std::nullopt;
  if (user) identity.user = static_cast<std::uint32_t>(*user);
  const auto arguments = ReadOf(proc, pid, "cmdline");
  if (arguments) identity.command = WordsOf(std::string_view(*arguments).substr(0, kLongestCommand));
  // The start is checked last: only then all that was read before belongs to the same process.
  const auto text = ReadOf(proc, pid, "stat");
  const auto stat = text ? ParseProcessStat(*text) : std::nullopt;
  if (!stat || stat->start_ticks != start_ticks) return std::nullopt;
  identity.name = NameIn(*text);
  return identity;
}

// Reads all processes once and then walks down from the root. Only the parents are known to the kernel's files.
std::vector<pid_t> DescendantsOf(pid_t root, const std::string& proc) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, char> states;
  std::string buffer;
  for (const std::string& name : NamesIn(proc)) {
    const std::optional<std::int64_t> pid = ParseInteger(name);
    if (!pid) continue;
    KeptFile file(proc + "/" + name + "/stat", nullptr);
    const std::optional<std::string_view> text = file.Read(buffer);
    const std::optional<ProcessStat> stat = text ? ParseProcessStat(*text) : std::nullopt;
    if (!stat) continue;  // it has ended meanwhile
    children.emplace(stat->parent, static_cast<pid_t>(*pid));
    states[static_cast<pid_t>(*pid)] = stat->state;
  }
  std::vector<pid_t> found = {root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto at = first; at != last; ++at) found.push_back(at->second);
  }
  std::vector<pid_t> living;
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (states[found[i]] != 'Z') living.push_back(found[i]);
  }
  return living;
}

std::optional<std::string> UserName(std::uint32_t id) {
  std::array<char, 16384> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(id, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) return std::nullopt;
  return std::string(found->pw_name);
}

}  // namespace idleburn
