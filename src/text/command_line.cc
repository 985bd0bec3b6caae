#include "text/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "text/secrets.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Flags that take "user:password".
constexpr auto kUserFlags = std::to_array<std::string_view>({"-u", "--user", "--proxy-user"});

// A program whose flag takes a password as the next word. If `also` is set, this word must stand before it too:
// "docker -p" is a port, "docker login -p" a password.
struct PasswordFlag {
  std::string_view program;  // the beginning of its name
  std::string_view flag;
  std::string_view also = "";
};
constexpr auto kPasswordFlags = std::to_array<PasswordFlag>({{"sshpass", "-p"},
                                                             {"mongo", "-p"},
                                                             {"cqlsh", "-p"},
                                                             {"influx", "-p"},
                                                             {"beeline", "-p"},
                                                             {"sqlcmd", "-P"},
                                                             {"redis-cli", "-a"},
                                                             {"ldap", "-w"},
                                                             {"docker", "-p", "login"},
                                                             {"podman", "-p", "login"},
                                                             {"nerdctl", "-p", "login"},
                                                             {"helm", "-p", "login"},
                                                             {"az", "-p", "login"}});

// Whether the word after `words` is such a password. Each program has only one: in "sshpass -p X ssh -p 22" the 22 is
// a port. Names of up to two letters ("az") must match whole, because many other names begin so.
bool AsksForPassword(std::span<const std::string> words) {
  const std::string& flag = words.back();
  for (const PasswordFlag& row : kPasswordFlags) {
    if (flag != row.flag || std::count(words.begin(), words.end(), flag) > 1) continue;
    const auto is_program = [&](const std::string& word) {
      const std::size_t slash = word.rfind('/');
      const std::string_view name = std::string_view(word).substr(slash == std::string::npos ? 0 : slash + 1);
      return row.program.size() > 2 ? name.starts_with(row.program) : name == row.program;
    };
    const bool also = row.also.empty() || std::find(words.begin(), words.end(), row.also) != words.end();
    if (also && std::any_of(words.begin(), words.end(), is_program)) return true;
  }
  return false;
}

bool IsFlag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// Whether a shell's flag ("-c", "-lc") announces a script. Only parts of a script are secret, so it is not redacted
// as one word.
bool GivesScript(std::string_view word) { return IsFlag(word) && word[1] != '-' && word.back() == 'c'; }

// Redacts the password of "user:password". A numeric pair such as "1000:1000" stays: it is a user and group id.
std::string WithoutPassword(const std::string& word) {
  const std::size_t colon = word.find(':');
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  if (colon == std::string::npos ||
      std::all_of(word.begin() + static_cast<std::ptrdiff_t>(colon) + 1, word.end(), digit))
    return word;
  return word.substr(0, colon + 1) + std::string(kRedacted);
}

// One word as it is shown. `before` is the word before it, which may be a flag that takes a secret. The checks go
// from what the flag says to what the word itself looks like.
std::string ShownWord(const std::string& word, std::string_view before) {
  const bool value = IsFlag(before) && before.find('=') == std::string_view::npos && !IsFlag(word);
  if (value && IsSecretName(before) && !IsCountOf(before, word)) return std::string(kRedacted);
  if (std::find(kUserFlags.begin(), kUserFlags.end(), before) != kUserFlags.end()) return WithoutPassword(word);
  const std::size_t sign = word.find('=');
  if (const std::size_t shown = PasswordIn(word); shown > 0 && !GivesScript(before)) {
    return word.substr(0, shown) + std::string(kRedacted);
  }
  const bool named = sign != std::string::npos && word.find_first_of(" \t\n/:?\"'") > sign;
  const std::string name = named ? word.substr(0, sign) : "";
  const bool secret = named && IsSecretName(name) && !IsCountOf(name, std::string_view(word).substr(sign + 1));
  if (secret && sign + 1 < word.size() && !GivesScript(before)) {
    return word.substr(0, sign + 1) + std::string(kRedacted);  // all of it: a password may have any character
  }
  return WithoutSecrets(word);
}

}  // namespace

std::string ShownCommand(std::span<const std::string> words) {
  std::string text;
  std::string_view before;
  for (const std::string& word : words) {
    const std::size_t place = static_cast<std::size_t>(&word - words.data());
    const bool password = place > 0 && AsksForPassword(words.first(place));
    const std::string shown = password ? std::string(kRedacted) : ShownWord(word, before);
    const bool plain = !shown.empty() && shown.find_first_of(" \t\n\"'\\$`") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? shown : "'" + shown + "'");
    before = word;
  }
  return text;
}

// Inside double quotes, a backslash escapes only a quote or a backslash; inside single quotes, nothing.
Result<std::vector<std::string>> SplitCommand(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;  // in a word, which may be empty: ''
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size() &&
                         (quote == '\0' || text[i + 1] == '"' || text[i + 1] == '\\');
    const bool blank = quote == '\0' && (c == ' ' || c == '\t' || c == '\n');
    if (blank) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (escapes) {
      words.back() += text[++i];
    } else if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') return FailUsage("'" + std::string(text.substr(0, 60)) + "' has a quote without an end");
  if (words.empty()) return FailUsage("no command");
  return words;
}

// The Damerau-Levenshtein distance (optimal string alignment), by dynamic programming.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return table.back();
}

std::string NearestSpelling(std::string_view word, std::span<const std::string> candidates) {
  const auto nearest = std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string& x, const std::string& y) { return EditDistance(word, x) < EditDistance(word, y); });
  return nearest == candidates.end() ? std::string() : *nearest;
}

// One edit is taken for a slip first. Then a longer or shorter form counts more than several edits.
std::string MeantBy(std::string_view word, std::span<const std::string> known) {
  std::string nearest = NearestSpelling(word, known);
  const std::size_t edits = EditDistance(word, nearest);
  // More edits than half of the word make another word.
  const bool near = 2 * edits <= word.size();
  if (near && edits == 1) return nearest;
  // price_per_hour means price, and horizon means horizon_months. The longest such word wins.
  const std::string* within = nullptr;
  for (const std::string& one : known) {
    const bool part = one.size() > 2 && word.size() > 2 && (one.starts_with(word) || word.starts_with(one));
    if (part && (within == nullptr || one.size() > within->size())) within = &one;
  }
  if (within != nullptr) return *within;
  return near ? nearest : std::string();
}

std::string SuggestionFor(std::string_view word, std::span<const std::string> known) {
  if (known.empty()) return "there is none";
  if (const std::string meant = MeantBy(word, known); !meant.empty()) return "did you mean " + meant + "?";
  return "give one of " + ListText(known);
}

}  // namespace idleburn
