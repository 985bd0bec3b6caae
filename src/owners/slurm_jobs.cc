#include "owners/slurm_jobs.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "measure/proc_files.h"
#include "owners/node_gpu.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;

// States in which a job holds its resources. A job in another state does not.
constexpr auto kHolding = std::to_array<std::string_view>(
    {"RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"});
constexpr std::int64_t kLatestStart = 9'000'000'000;  // seconds; later ones do not fit an Instant

// A job as the document has it, before it is judged.
struct QueuedJob {
  std::int64_t id = 0;
  std::optional<std::int64_t> array_id;
  std::optional<std::int64_t> array_task;
  std::optional<std::int64_t> het_id;
  std::optional<std::int64_t> het_offset;
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> user_id;
  std::string cluster;
  std::string user;
  std::string account;
  std::string name;
  std::string nodes;
  std::vector<std::string> states;
  std::vector<std::string> gres;
};

// A number, or the number of {"set":true,"infinite":false,"number":7}. Absent for null and for one that is not set.
// False if the value is neither.
bool ReadJobNumber(JsonValue value, std::optional<std::int64_t>* to) {
  simdjson::ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  if (type == simdjson::ondemand::json_type::null) return true;
  if (type == simdjson::ondemand::json_type::number) {
    std::int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS) return false;
    *to = number;
    return true;
  }
  JsonObject object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  bool set = true;
  bool infinite = false;
  std::optional<std::int64_t> number;
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    if (key == "set" && field.value().get_bool().get(set) != simdjson::SUCCESS) return false;
    if (key == "infinite" && field.value().get_bool().get(infinite) != simdjson::SUCCESS) return false;
    std::int64_t n = 0;
    if (key == "number" && field.value().get_int64().get(n) == simdjson::SUCCESS) number = n;
  }
  if (set && !infinite) *to = number;
  return true;
}

bool ReadJobText(JsonValue value, std::string* to) {
  simdjson::ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  if (type != simdjson::ondemand::json_type::string) return type == simdjson::ondemand::json_type::null;
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return false;
  *to = text;
  return true;
}

// A text, or a list of texts.
bool ReadJobTexts(JsonValue value, std::vector<std::string>* to) {
  simdjson::ondemand::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) {
    return ReadJobText(value, &to->emplace_back());
  }
  for (auto item : list) {
    JsonValue entry;
    if (item.get(entry) != simdjson::SUCCESS || !ReadJobText(entry, &to->emplace_back())) return false;
  }
  return true;
}

bool ReadJobField(std::string_view key, JsonValue value, QueuedJob* job) {
  std::optional<std::int64_t> id;
  if (key == "job_id") {
    const bool read = ReadJobNumber(value, &id);
    job->id = id.value_or(0);
    return read && job->id > 0;
  }
  if (key == "array_job_id") return ReadJobNumber(value, &job->array_id);
  if (key == "array_task_id") return ReadJobNumber(value, &job->array_task);
  if (key == "het_job_id") return ReadJobNumber(value, &job->het_id);
  if (key == "het_job_offset") return ReadJobNumber(value, &job->het_offset);
  if (key == "start_time") return ReadJobNumber(value, &job->start);
  if (key == "user_id") return ReadJobNumber(value, &job->user_id);
  if (key == "cluster") return ReadJobText(value, &job->cluster);
  if (key == "user_name") return ReadJobText(value, &job->user);
  if (key == "account") return ReadJobText(value, &job->account);
  if (key == "name") return ReadJobText(value, &job->name);
  if (key == "nodes") return ReadJobText(value, &job->nodes);
  if (key == "job_state") return ReadJobTexts(value, &job->states);
  if (key == "gres_detail") return ReadJobTexts(value, &job->gres);
  return true;
}

bool HasState(const QueuedJob& job, std::string_view state) {
  return std::find(job.states.begin(), job.states.end(), state) != job.states.end();
}

std::string ShownId(const QueuedJob& job) {
  if (job.array_id.value_or(0) > 0 && job.array_task) {
    return std::to_string(*job.array_id) + "_" + std::to_string(*job.array_task);
  }
  if (job.het_id.value_or(0) > 0) {
    return std::to_string(*job.het_id) + "+" + std::to_string(job.het_offset.value_or(0));
  }
  return std::to_string(job.id);
}

// Adds a job of this node to the queue. Returns why it cannot be read; empty if it can, or is no job of this node.
std::string AddJob(const QueuedJob& queued, std::string_view node, SlurmQueue* queue) {
  const bool completing = HasState(queued, "COMPLETING");
  const bool holds = !completing && std::any_of(kHolding.begin(), kHolding.end(),
                                                [&](std::string_view state) { return HasState(queued, state); });
  if (!holds && !completing) return "";
  const auto place = FindNode(queued.nodes, node);
  if (!place) return "has an unknown form of its nodes";
  if (!place->position) return "";
  queue->completing = queue->completing || completing;
  if (completing) return "";
  if (!queued.start || *queued.start <= 0 || *queued.start > kLatestStart) return "has no start time";
  if (queued.gres.empty()) return "";  // no generic resources at all
  if (queued.gres.size() != place->nodes) return "tells its GPUs for another number of nodes than it has";
  auto gres = ParseGres(queued.gres[*place->position]);
  if (!gres) return "has an unknown form of its GPUs: " + SafeName(queued.gres[*place->position]).substr(0, 60);
  SlurmJob job;
  job.id = ShownId(queued);
  job.raw_id = std::to_string(queued.id);
  job.cluster = SafeName(queued.cluster);
  job.user = SafeName(queued.user.empty() && queued.user_id ? std::to_string(*queued.user_id) : queued.user);
  job.account = SafeName(queued.account);
  job.name = queued.name;
  job.start = Instant::FromNanos(*queued.start * kNanosPerSecond);
  job.gres = *std::move(gres);
  queue->jobs.push_back(std::move(job));
  return "";
}

// Reads one job. Every field is visited, so that a document that is cut off or malformed is seen.
bool ReadQueuedJob(JsonObject object, QueuedJob* job) {
  for (auto field : object) {
    std::string_view key;
    JsonValue value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    if (field.value().get(value) != simdjson::SUCCESS || !ReadJobField(key, value, job)) return false;
  }
  return job->id > 0 && !job->states.empty();
}

tl::unexpected<Error> Malformed() {
  return Fail("squeue --json wrote something else than its document; check the version of Slurm (22.05 or later)");
}

// The value of the first line that begins with `key`, without the blanks around it.
std::optional<std::string_view> LineOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = Trim(TakeLine(&text));
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return std::nullopt;
}

}  // namespace

Result<SlurmQueue> ParseSqueue(std::string text, std::string_view node) {
  const std::size_t size = text.size();
  text.reserve(size + simdjson::SIMDJSON_PADDING);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  JsonObject top;
  if (parser.iterate(text.data(), size, text.capacity()).get(document) != simdjson::SUCCESS) return Malformed();
  if (document.get_object().get(top) != simdjson::SUCCESS) return Malformed();
  SlurmQueue queue;
  bool found = false;
  for (auto field : top) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return Malformed();
    if (key != "jobs") continue;
    simdjson::ondemand::array jobs;
    if (found || field.value().get_array().get(jobs) != simdjson::SUCCESS) return Malformed();
    found = true;
    for (auto item : jobs) {
      JsonObject object;
      QueuedJob job;
      if (item.get_object().get(object) != simdjson::SUCCESS || !ReadQueuedJob(object, &job)) return Malformed();
      const std::string why = AddJob(job, node, &queue);
      if (!why.empty()) queue.faults.push_back("job " + ShownId(job) + " " + why);
    }
  }
  const bool more = document.current_location().error() == simdjson::SUCCESS;
  if (!found || more) return Malformed();
  return queue;
}

Result<SlurmNode> ParseScontrolNode(std::string_view text) {
  const auto has = LineOf(text, "Gres=");
  const auto used = LineOf(text, "GresUsed=");
  if (!has || !used) return Fail("scontrol show node -d wrote no line Gres= and GresUsed=");
  auto parsed_has = ParseGres(*has);
  auto parsed_used = ParseGres(*used);
  if (!parsed_has || !parsed_used) {
    return Fail("scontrol show node -d has an unknown form of GPUs: " + SafeName(*used).substr(0, 80));
  }
  return SlurmNode{*std::move(parsed_has), *std::move(parsed_used)};
}

}  // namespace idleburn
