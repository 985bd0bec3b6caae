#include "cli/common_flags.h"

#include <algorithm>

namespace idleburn {

SettingFlags::SettingFlags(std::vector<std::string> prefixes) {
  for (const SettingInfo& info : SettingTable()) {
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
      return info.key.substr(0, prefix.size()) == prefix;
    });
    if (!wanted || info.flag.empty()) continue;
    if (info.kind == SettingKind::kList) {
      lists_[std::string(info.flag)] = {};
    } else {
      texts_[std::string(info.flag)] = "";
    }
  }
}

void SettingFlags::AppendTo(std::vector<Flag>& flags) {
  for (const SettingInfo& info : SettingTable()) {
    const auto text = texts_.find(std::string(info.flag));
    const auto list = lists_.find(std::string(info.flag));
    if (text == texts_.end() && list == lists_.end()) continue;
    Flag flag{std::string(info.flag), std::string(info.value), std::string(info.help)};
    if (text != texts_.end()) flag.text = &text->second;
    if (list != lists_.end()) flag.list = &list->second;
    flags.push_back(flag);
  }
  Flag config{"--config", "FILE", "read settings from FILE instead of ./idleburn.toml and the user's"};
  config.text = &config_;
  flags.push_back(config);
}

Result<Settings> SettingFlags::Load(const std::map<std::string, std::string>& instead) const {
  std::map<std::string, std::string> given = instead;
  for (const auto& [flag, text] : texts_) {
    if (!text.empty()) given[flag] = text;
  }
  for (const auto& [flag, parts] : lists_) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    if (!text.empty()) given[flag] = text;
  }
  return Settings::Load(config_, given);
}

}  // namespace idleburn
