#include "run/descendants.h"

#include <map>

#include "measure/proc_text.h"
#include "os/folder_names.h"
#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {

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

}  // namespace idleburn
