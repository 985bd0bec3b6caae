#include "text/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "text/secrets.h"

namespace idleburn {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLine, IsShownAsAShellTakesIt) {
  EXPECT_EQ(ShownCommand(Words{"sh", "-c", "sleep 1; exit 3"}), "sh -c 'sleep 1; exit 3'");
  EXPECT_EQ(ShownCommand(Words{"train", ""}), "train ''");
  EXPECT_EQ(ShownCommand({}), "");
}

struct Case {
  Words words;
  std::string shown;
};

TEST(CommandLine, SecretsAreNotShown) {
  const Case cases[] = {
      {{"t", "--token", "abc", "--lr", "0.1"}, "t --token [redacted] --lr 0.1"},
      {{"t", "--password=x y&z", "run"}, "t --password=[redacted] run"},
      {{"t", "-api-key", "abc"}, "t -api-key [redacted]"},
      {{"t", "--hf_token", "--fast"}, "t --hf_token --fast"},
      {{"env", "WANDB_API_KEY=abc", "python", "t.py"}, "env WANDB_API_KEY=[redacted] python t.py"},
      {{"env", "MY_SECRET=a b", "t"}, "env MY_SECRET=[redacted] t"},
      {{"env", "PGPASSWORD=a b", "t"}, "env PGPASSWORD=[redacted] t"},
      {{"t", "+logger.apiKey=abc"}, "t +logger.apiKey=[redacted]"},
      {{"t", "db.password_old=abc"}, "t db.password_old=[redacted]"},
      {{"sh", "-c", "HF_TOKEN=abc python t.py --secret 'a b' --lr 1"},
       "sh -c 'HF_TOKEN=[redacted] python t.py --secret '[redacted]' --lr 1'"},
      {{"bash", "-lc", "export A_KEY=\"a b\"; t"}, "bash -lc 'export A_KEY=\"[redacted]\"; t'"},
      {{"curl", "-u", "me:word", "x"}, "curl -u me:[redacted] x"},
      {{"docker", "run", "-u", "1000:1000", "x"}, "docker run -u 1000:1000 x"},
      {{"curl", "-H", "Authorization: Basic YWJj=="}, "curl -H 'Authorization: [redacted]'"},
      {{"curl", "-H", "X-Api-Key:abc"}, "curl -H X-Api-Key:[redacted]"},
      {{"curl", "--what", "Bearer abcdefgh12"}, "curl --what 'Bearer [redacted]'"},
      {{"t", R"({"user":"me","api_key": "abc"})"}, R"(t '{"user":"me","api_key": "[redacted]"}')"},
      {{"t", "https://me:w@rd@host:5000/p?x=1"}, "t https://me:[redacted]@host:5000/p?x=1"},
      {{"t", "--db=postgresql://me:word@h/db"}, "t --db=postgresql://me:[redacted]@h/db"},
      {{"git", "clone", "https://0123456789abcdef0123@github.com/a/b"}, "git clone https://[redacted]@github.com/a/b"},
      {{"t", "https://h/p?a=1&sig=abc%2F&b=2"}, "t https://h/p?a=1&sig=[redacted]&b=2"},
      {{"t", "sk-proj-0123456789abcdefghij"}, "t [redacted]"},
      {{"t", "--x=hf_abcdefghijklmnopqr0123"}, "t --x=[redacted]"},
      {{"t", "AKIA0123456789ABCDEF,x"}, "t [redacted],x"},
      {{"t", "--db-pass", "hunter2", "--pw", "hunter2", "--lr", "1"}, "t --db-pass [redacted] --pw [redacted] --lr 1"},
      {{"t", "--dbPass=hunter2", "--user.pw=a b"}, "t --dbPass=[redacted] --user.pw=[redacted]"},
      {{"mysql", "-phunter2", "-psecret", "-pS3cr!t", "-p=abc", "db"},
       "mysql -p[redacted] -p[redacted] -p[redacted] -p=[redacted] db"},
      {{"sh", "-c", "mysql -u me -phunter2 db; ls"}, "sh -c 'mysql -u me -p[redacted] db; ls'"},
      {{"/usr/bin/sshpass", "-p", "hunter2", "ssh", "-p", "22", "h"}, "/usr/bin/sshpass -p [redacted] ssh -p 22 h"},
      {{"docker", "login", "-u", "me", "-p", "8080", "h"}, "docker login -u me -p [redacted] h"},
      {{"idleburn", "run", "--tag", "token=abc", "--project", "https://me:word@h/p", "--", "t"},
       "idleburn run --tag token=[redacted] --project https://me:[redacted]@h/p -- t"},
      {{"t", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-1"}, "t [redacted]"},
  };
  for (const Case& c : cases) EXPECT_EQ(ShownCommand(c.words), c.shown);
}

TEST(CommandLine, WhatIsNoSecretIsShownAsItIs) {
  const Words commands[] = {
      {"python", "train.py", "--max_tokens", "512", "--tokenizer", "gpt2", "--eos-token-id=5", "--num-tokens=1e9"},
      {"t", "--password-file", "/etc/p", "--key-path=k.pem", "--author", "me", "--monkey=3", "--keys=a,b"},
      {"t", "outputs/hf_llama_finetune_version_20240101", "disk-0123456789012345678901", "a=b", "x:y", "--token"},
      {"t", "https://host:5000/path", "ssh://git@host/x", "s3://bucket/key", "http://[::1]:80/", "mailto:a@b"},
      {"docker", "run", "-p", "8080:80", "-p8080:80", "x", "-p", "9000", "ssh", "-p2222", "-p", "8-10"},
      {"t", "-padding", "3", "-path", "/a", "-print0", "-prune", "-pix_fmt", "yuv420p", "-p4", "-pthread", "-pav"},
      {"t", "-prefetch-factor=2", "-precision", "bf16", "-port8080", "--pwd-dir", "/a", "--num-passes", "3", "-p"},
      {"ffmpeg", "-pass", "2", "-passlogfile", "a", "--pass=1", "--passthrough", "x", "--compass", "n", "--bypass",
       "x"},
      {"t", "lr=0.1", "--seed=1", "key", "-", "--", "=", "--=", "token"},
  };
  for (const Words& words : commands) {
    std::string joined;
    for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
    EXPECT_EQ(ShownCommand(words), joined);
  }
}

// Whatever stands around it, a secret that is named never comes through, and doing it twice changes nothing.
TEST(CommandLine, APlantedSecretNeverComesThrough) {
  const Words before = {"--api-key=%",       "TOKEN=%",        "https://a:%@h", "x Authorization: Bearer % y",
                        R"({"secret":"%"})", "--password '%'", "?token=%&x",    "PASSWD = %",
                        "--db-pass %",       "--pw=%"};
  const Words around = {"", "a ", "--lr 0.1 ", "'", "\"x\" ", "é", "=", "; ", "-c ", "x:"};
  const std::string secret = "planted0secret1";
  std::mt19937 random(11);
  const auto pick = [&](const Words& from) { return from[random() % from.size()]; };
  for (int round = 0; round < 2000; ++round) {
    std::string form = pick(before);
    form.replace(form.find('%'), 1, secret);
    const std::string text = pick(around) + form + (random() % 2 == 0 ? "" : " " + pick(around));
    const std::string shown = WithoutSecrets(text);
    EXPECT_EQ(shown.find(secret), std::string::npos) << text;
    EXPECT_NE(shown.find(kRedacted), std::string::npos) << text;
    EXPECT_EQ(WithoutSecrets(shown), shown) << text;
    EXPECT_EQ(ShownCommand(Words{"t", text}).find(secret), std::string::npos) << text;
  }
}

TEST(CommandLine, IsCutAsAShellCutsIt) {
  const std::pair<std::string_view, Words> cases[] = {
      {"a  b\tc\n", {"a", "b", "c"}},
      {R"(sh -c 'a "b" \ c')", {"sh", "-c", R"(a "b" \ c)"}},
      {R"(x"a b"y \ z\'t "\"q\"" "\n" '')", {"xa by", " z't", "\"q\"", "\\n", ""}},
      {R"(a\)", {R"(a\)"}},
  };
  for (const auto& [text, words] : cases) EXPECT_EQ(*SplitCommand(text), words) << text;
  for (const std::string_view bad : {"", "  ", "'a", "a \"b'"}) EXPECT_FALSE(SplitCommand(bad)) << bad;
}

}  // namespace

namespace {

TEST(SpellingTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("price", "pirce"), 1U);
  EXPECT_EQ(EditDistance("same", "same"), 0U);
}

TEST(SpellingTest, FindsTheNearest) {
  const std::vector<std::string> flags = {"--prices", "--period", "--price"};
  EXPECT_EQ(NearestSpelling("--prise", flags), "--price");
  EXPECT_EQ(NearestSpelling("x", std::vector<std::string>{}), "");
}

TEST(SuggestionTest, OnlyWhatIsNearIsMeant) {
  const std::vector<std::string> known = {"run", "audit", "horizon_months"};
  EXPECT_EQ(SuggestionFor("adit", known), "did you mean audit?");
  EXPECT_EQ(SuggestionFor("rnu", known), "did you mean run?");
  EXPECT_EQ(SuggestionFor("horizon", known), "did you mean horizon_months?");
  EXPECT_EQ(SuggestionFor("adamv", std::vector<std::string>{"adamw", "adam"}), "did you mean adamw?");
  EXPECT_EQ(SuggestionFor("fleet", known), "give one of run, audit, horizon_months");
  EXPECT_EQ(MeantBy("serve", known), "");
  EXPECT_EQ(SuggestionFor("serve", {}), "there is none");
}

}  // namespace

}  // namespace idleburn
