#include "text/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Redaction works on words and names, without knowing the program whose command line or environment it reads. A miss
// leaks a secret into a report, and a false hit hides a harmless word. The tables below say which names are secret,
// and which exceptions keep false hits rare.

namespace {

// A word that a secret's name ends with. `anywhere` accepts it in the middle too ("--password-of-db"), unless the rest
// of the name says that the value is only something about the secret.
struct NameRow {
  std::string_view ending;
  bool anywhere = false;
  bool whole = false;  // only as a word of its own: "--key", not "--monkey"
};
constexpr auto kNames = std::to_array<NameRow>({{"password", true},
                                                {"passwd", true},
                                                {"passphrase", true},
                                                {"secret", true},
                                                {"credential", true},
                                                {"credentials", true},
                                                {"token"},
                                                {"apikey"},
                                                {"secretkey"},
                                                {"accesskey"},
                                                {"privatekey"},
                                                {"authorization"},
                                                {"key", false, true},
                                                {"auth", false, true},
                                                {"cookie", false, true},
                                                {"dsn", false, true},
                                                {"pwd", false, true},
                                                {"pw", false, true},
                                                {"pass", false, true},
                                                {"pswd", false, true},
                                                {"creds", false, true},
                                                {"sig", false, true},  // of an address with rights in it
                                                {"signature", false, true}});
// Last words of a name that make it a name of something about a secret: "token-file", "key-id".
constexpr auto kAboutOne =
    std::to_array<std::string_view>({"file", "path", "dir", "folder", "name", "id", "ids", "url", "uri", "env",
                                     "length", "len", "size", "type", "ttl", "provider", "index", "limit"});

// Options with one dash that begin with p. A word that equals or starts one of them is shown, even if it is a password.
// Names of five or more letters may continue: "-prefetch-factor", "-partitions".
constexpr auto kOptionsWithP = std::to_array<std::string_view>(
    {"package",  "padding",   "page",     "parallel", "param",   "partition", "passlogfile", "patch",    "path",
     "patience", "pause",     "pedantic", "perm",     "period",  "phase",     "pipe",        "pipeline", "pix_fmt",
     "plan",     "platform",  "plot",     "plugin",   "point",   "policy",    "pool",        "port",     "position",
     "power",    "precision", "predict",  "prefetch", "prefix",  "preload",   "prepare",     "preserve", "preset",
     "pretrain", "pretty",    "preview",  "print",    "prior",   "private",   "proc",        "process",  "profile",
     "program",  "progress",  "project",  "prompt",   "propert", "proto",     "protocol",    "provider", "proxy",
     "prune",    "pthread",   "public",   "publish",  "pull",    "push",      "python"});

// How keys of a well-known service begin. At least that many characters follow, and one of them is a digit.
struct KeyRow {
  std::string_view begins;
  std::size_t tail;
  std::string_view also = "";  // characters that follow besides letters and digits
};
constexpr auto kKeys = std::to_array<KeyRow>({
    {"sk-", 20, "-_"},         // OpenAI, Anthropic
    {"sk_live_", 16},          // Stripe
    {"rk_live_", 16},          //
    {"ghp_", 20},              // GitHub
    {"gho_", 20},              //
    {"ghu_", 20},              //
    {"ghs_", 20},              //
    {"ghr_", 20},              //
    {"github_pat_", 20, "_"},  //
    {"glpat-", 16, "-_"},      // GitLab
    {"hf_", 20},               // Hugging Face
    {"nvapi-", 20, "-_"},      // NVIDIA
    {"wandb_v1_", 20, "_"},    // Weights & Biases
    {"r8_", 20},               // Replicate
    {"dapi", 32},              // Databricks
    {"xoxb-", 16, "-"},        // Slack
    {"xoxp-", 16, "-"},        //
    {"AKIA", 16},              // Amazon
    {"ASIA", 16},              //
    {"AIza", 30, "-_"},        // Google
    {"ya29.", 20, "-_."},      //
    {"npm_", 30},              // npm
    {"pypi-", 30, "-_"},       // PyPI
    {"SG.", 30, "-_."},        // SendGrid
    {"eyJ", 30, "-_."},        // JSON web tokens
});

// Character classes of names and values.
bool IsBlank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsQuote(char c) { return c == '"' || c == '\''; }
bool IsNamePart(char c) { return IsAlnum(c) || c == '_' || c == '-' || c == '.'; }

// Splits a name into lower-case words: "dbPassword" and "DB_PASSWORD" both give "db" and "password".
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  char before = '\0';
  for (const char c : name) {
    const bool hump = IsLower(before) && std::isupper(static_cast<unsigned char>(c)) != 0;  // "dbPass"
    before = c;
    if (hump) words.emplace_back();
    if (IsAlnum(c)) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// A part of a text, from `begin` to before `end`.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The position of the next character that is no blank.
std::size_t AfterBlanks(std::string_view text, std::size_t at) {
  while (at < text.size() && IsBlank(text[at])) ++at;
  return at;
}

// The value at `at`: the text between quotes, or else everything up to a blank or one of `ends`.
Span ValueAt(std::string_view text, std::size_t at, std::string_view ends, bool blanks_end) {
  if (at < text.size() && IsQuote(text[at])) return {at + 1, std::min(text.find(text[at], at + 1), text.size())};
  std::size_t end = at;
  while (end < text.size() && ends.find(text[end]) == std::string_view::npos && !(blanks_end && IsBlank(text[end]))) {
    ++end;
  }
  return {at, end};
}

// The secret value of `name`, which ends at `at`. Empty if there is none, or if it may be shown. Tried in turn: a
// token after "Bearer", then "name=value", "name: value" and "--name value".
Span SecretOf(std::string_view text, std::string_view name, std::size_t at) {
  const std::size_t next = AfterBlanks(text, at);
  if (EqualsIgnoreCase(name, "bearer") && next > at) {
    const Span value = ValueAt(text, next, "\"'", true);
    return value.end - value.begin >= 8 ? value : Span{};
  }
  if (!IsSecretName(name)) return {};
  // In JSON a quote stands between the name and the colon.
  const bool quoted = at < text.size() && IsQuote(text[at]);
  const std::size_t sign = AfterBlanks(text, quoted ? at + 1 : at);
  if (sign >= text.size()) return {};
  const auto shown_or = [&](const Span& value) {
    return IsCountOf(name, text.substr(value.begin, value.end - value.begin)) ? Span{} : value;
  };
  if (text[sign] == '=') return shown_or(ValueAt(text, AfterBlanks(text, sign + 1), "&;|<>\"'", true));
  // The value of an HTTP header may contain blanks.
  if (text[sign] == ':') return ValueAt(text, AfterBlanks(text, sign + 1), "\"'}\n", false);
  // "--name value": only a flag takes the next word, and another flag is no value.
  const bool flag = name.front() == '-' && sign > at && !quoted;
  return flag && text[sign] != '-' ? shown_or(ValueAt(text, sign, "&;|<>\"'", true)) : Span{};
}

// Replaces the values of secret names, and passwords inside words. The text is read name by name; everything between
// names is copied.
std::string WithoutNamed(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && IsNamePart(text[at])) ++at;
    if (at == begin) {
      out += text[at++];
      continue;
    }
    const std::string_view name = text.substr(begin, at - begin);
    const bool word_begins = begin == 0 || IsBlank(text[begin - 1]) || IsQuote(text[begin - 1]);
    const std::size_t end = word_begins ? ValueAt(text, at, "&;|<>\"'", true).end : at;
    if (const std::size_t shown = PasswordIn(text.substr(begin, end - begin)); word_begins && shown > 0) {
      out += text.substr(begin, shown);
      out += kRedacted;
      at = end;
      continue;
    }
    out += name;
    const Span value = SecretOf(text, name, at);
    if (value.begin >= value.end) continue;
    out += text.substr(at, value.begin - at);
    out += kRedacted;
    at = value.end;
  }
  return out;
}

// Redacts what an address carries to log in. Of "https://user:word@host" that is the word; a long name without a word
// is a token itself, as in "https://ghp_...@github.com".
std::string WithoutUsers(std::string_view text) {
  constexpr std::string_view kScheme = "://";
  constexpr std::size_t kLongestName = 15;
  std::string out;
  std::size_t at = 0;
  for (std::size_t found = text.find(kScheme); found != std::string_view::npos; found = text.find(kScheme, at)) {
    const std::size_t begin = found + kScheme.size();
    const std::size_t end = std::min(text.find_first_of("/?#\"' \t\n", begin), text.size());
    const std::size_t sign = text.substr(begin, end - begin).rfind('@');
    out += text.substr(at, begin - at);
    at = begin;
    if (sign == std::string_view::npos) continue;
    const std::string_view user = text.substr(begin, sign);
    const std::size_t colon = user.find(':');
    const bool token = colon == std::string_view::npos && user.size() > kLongestName;
    const bool word = colon != std::string_view::npos && colon + 1 < user.size();
    out += word    ? std::string(user.substr(0, colon + 1)) + std::string(kRedacted)
           : token ? std::string(kRedacted)
                   : std::string(user);
    at = begin + sign;
  }
  return out.append(text.substr(at));
}

// The end of a service's key that begins at `at`; `at` if none begins there.
std::size_t EndOfKey(std::string_view text, std::size_t at) {
  if (at > 0 && IsAlnum(text[at - 1])) return at;
  for (const KeyRow& row : kKeys) {
    if (text.substr(at, row.begins.size()) != row.begins) continue;
    std::size_t end = at + row.begins.size();
    bool digit = false;
    for (; end < text.size() && (IsAlnum(text[end]) || row.also.find(text[end]) != std::string_view::npos); ++end) {
      digit = digit || IsDigit(text[end]);
    }
    if (digit && end - at >= row.begins.size() + row.tail) return end;
  }
  return at;
}

// Replaces keys that are recognized by how they begin, whatever stands before them.
std::string WithoutKeys(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = EndOfKey(text, at);
    if (end == at) {
      out += text[at++];
    } else {
      out += kRedacted;
      at = end;
    }
  }
  return out;
}

}  // namespace

// The last word of a name says what the value is: a "token-file" is a file. Only the words that are secret anywhere
// are looked for in front of it.
bool IsSecretName(std::string_view name) {
  const std::vector<std::string> words = WordsOf(name);
  if (words.empty()) return false;
  if (std::find(kAboutOne.begin(), kAboutOne.end(), words.back()) != kAboutOne.end()) return false;
  return std::any_of(kNames.begin(), kNames.end(), [&](const NameRow& row) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      if (&word != &words.back() && !row.anywhere) return false;
      return row.whole ? word == row.ending : word.ends_with(row.ending);
    });
  });
}

// Excludes, one after another, what "-p..." usually means: an option that names its password apart, figures, a
// cluster of short options, a known option.
std::size_t PasswordIn(std::string_view word) {
  constexpr std::string_view kFlag = "-p";
  constexpr std::size_t kLongestCluster = 3;
  constexpr std::size_t kRunsOn = 5;
  if (word.substr(0, kFlag.size()) != kFlag || word.size() == kFlag.size()) return 0;
  std::string_view rest = word.substr(kFlag.size());
  const std::string_view name = word.substr(0, word.find_first_of("=:"));
  const bool names_one = name.starts_with("-pass") || name == "-pw" || name == "-pwd" || name == "-pswd";
  if (names_one) return 0;  // "-password X": the value is the secret, not the name
  const auto is_figure = [](char c) {
    return IsDigit(c) || std::string_view(".,:/x-=%+").find(c) != std::string::npos;
  };
  if (std::all_of(rest.begin(), rest.end(), is_figure)) return 0;
  if (rest.size() <= kLongestCluster && std::all_of(rest.begin(), rest.end(), IsLower)) return 0;
  const bool option = std::any_of(kOptionsWithP.begin(), kOptionsWithP.end(), [&](std::string_view whole) {
    if (word.substr(1, whole.size()) != whole) return false;
    const std::string_view after = word.substr(1 + whole.size());
    return whole.size() >= kRunsOn || after.empty() || !IsLower(after.front());
  });
  if (option) return 0;
  return kFlag.size() + (rest.front() == '=' ? 1 : 0);
}

bool IsCountOf(std::string_view name, std::string_view value) {
  const std::vector<std::string> words = WordsOf(name);
  return !words.empty() && words.back() == "pass" && value.size() == 1 && IsDigit(value.front());
}

// Addresses first, then names, then whatever still looks like a key.
std::string WithoutSecrets(std::string_view text) { return WithoutKeys(WithoutNamed(WithoutUsers(text))); }

}  // namespace idleburn
