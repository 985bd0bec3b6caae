#include "plan/plan_files.h"

#include <array>

#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a configuration: more is some other file

Result<std::string> ReadWhole(ByteSource& in) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t got = TRY(in.Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
    if (text.size() > kMostBytes) return Fail(in.name() + " is larger than 1 MiB: no configuration of a run");
  }
}

bool EndsWith(const std::string& name, std::string_view ending) {
  return name.size() >= ending.size() &&
         EqualsIgnoreCase(std::string_view(name).substr(name.size() - ending.size()), ending);
}

}  // namespace

Result<PlanFile> ReadPlanFile(ByteSource& in, const std::string& name) {
  const std::string text = TRY(ReadWhole(in));
  if (EndsWith(name, ".json")) return ReadHfConfig(text, name);
  if (EndsWith(name, ".yaml") || EndsWith(name, ".yml")) return ReadTrainingYaml(text, name);
  return ReadPlanToml(text, name);
}

}  // namespace idleburn
