// What tools/bench_trace.sh needs: reads a trace of PyTorch's profiler and prints what it found; the same answer by
// simdjson, which holds the whole document; and a long trace that is made while it is read, for its memory.
//   bench_trace read FILE
//   bench_trace simdjson FILE
//   bench_trace generate MEGABYTES
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "os/input_file.h"
#include "profile/profile_importers.h"
#include "profile/trace_reader.h"

namespace idleburn {
namespace {

struct Answer {
  std::int64_t events = 0;
  std::size_t device_events = 0;
  std::size_t calls = 0;
  std::int64_t busy_ns = 0;
};

void Print(const Answer& a) {
  fmt::print("{} events, {} of devices, {} calls, busy {} ns\n", a.events, a.device_events, a.calls, a.busy_ns);
}

double PeakMib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

Answer AnswerOf(const Profile& profile) {
  Answer answer{profile.events_total, 0, profile.calls.size(), 0};
  for (const ProfiledDevice& device : profile.devices) {
    std::vector<Interval> busy;
    for (const DeviceEvent& event : device.events) busy.push_back({event.start_ns, event.end_ns});
    answer.device_events += device.events.size();
    answer.busy_ns += IntervalSet::UnionOf(std::move(busy)).TotalNs();
  }
  return answer;
}

Result<Profile> Read(ByteSource& in) {
  DataQuality quality;
  Result<Profile> profile = ReadKineto(in, quality);
  for (const QualityInfo& info : kQualityTable) {
    if (quality.CountOf(info.id) > 0) fmt::print("{}\n", Describe(info, quality.Get(info.id)));
  }
  return profile;
}

// The peer: the same members of the same entries, from the whole document.
Result<Answer> ReadBySimdjson(ByteSource& in) {
  std::string text;
  std::size_t size = 0;
  while (true) {
    if (text.size() - size < (std::size_t{1} << 20)) text.resize(std::max<std::size_t>(2 * text.size(), 1 << 22));
    const std::size_t got =
        TRY(in.Read(std::span(text).subspan(size, text.size() - size - simdjson::SIMDJSON_PADDING)));
    if (got == 0) break;
    size += got;
  }
  Answer answer;
  std::vector<Interval> busy;
  std::unordered_map<std::string, std::uint32_t> names;
  std::vector<std::int64_t> correlations;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  if (parser.iterate(text.data(), size, text.size()).get(document) != simdjson::SUCCESS)
    return Fail("simdjson: cannot parse");
  for (auto element : document["traceEvents"].get_array()) {
    ++answer.events;
    std::string_view phase, category, name, time, duration;
    std::int64_t correlation = -1;
    for (auto field : element.get_object()) {
      const std::string_view key = field.unescaped_key().value();
      auto value = field.value();
      if (key == "ph") phase = value.get_string().value();
      if (key == "cat") category = value.get_string().value();
      if (key == "name") name = value.get_string().value();
      if (key == "ts") time = value.raw_json_token().value();
      if (key == "dur") duration = value.raw_json_token().value();
      if (key == "args") {
        for (auto argument : value.get_object()) {
          if (argument.unescaped_key().value() == "correlation") correlation = argument.value().get_int64().value();
        }
      }
    }
    if (phase != "X") continue;
    names.try_emplace(std::string(name), static_cast<std::uint32_t>(names.size()));
    const bool device = category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
    if (category == "cuda_runtime" || category == "cuda_driver") ++answer.calls;
    if (!device) continue;
    const auto ns = [](std::string_view micros) {
      while (!micros.empty() && IsBlank(micros.back())) micros.remove_suffix(1);
      return TraceMicrosToNs(micros).value_or(TraceNs()).ns;
    };
    correlations.push_back(correlation);
    busy.push_back({ns(time), ns(time) + ns(duration)});
  }
  answer.device_events = busy.size();
  answer.busy_ns = IntervalSet::UnionOf(std::move(busy)).TotalNs();
  return answer;
}

// A trace that is written while it is read: of eight entries one is a kernel, one its launch, the others the host's.
class EndlessTrace final : public ByteSource {
 public:
  explicit EndlessTrace(std::int64_t bytes)
      : left_(bytes), pending_("{\"schemaVersion\": 1,\n  \"traceEvents\": [\n") {}
  Result<std::size_t> Read(std::span<char> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      if (at_ == pending_.size() && !Next()) break;
      const std::size_t n = std::min(out.size() - done, pending_.size() - at_);
      std::memcpy(out.data() + done, pending_.data() + at_, n);
      at_ += n;
      done += n;
    }
    return done;
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  bool Next() {
    at_ = 0;
    pending_.clear();
    if (closed_) return false;
    if (left_ <= 0) {
      pending_ = "  {\"ph\": \"i\", \"name\": \"end\"}\n]}\n";
      return closed_ = true;
    }
    for (int i = 0; i < 64; ++i) Append();
    left_ -= static_cast<std::int64_t>(pending_.size());
    return true;
  }
  void Append() {
    const std::int64_t start = 1'000'000'000 + number_ * 10;
    const std::int64_t launch = number_ / 8;
    const auto entry = [&](const char* category, const std::string& name, std::int64_t from, std::int64_t length,
                           const std::string& arguments) {
      fmt::format_to(std::back_inserter(pending_),
                     "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": 7,\n"
                     "    \"ts\": {}.{:03}, \"dur\": {},\n    \"args\": {{\n      {}\n    }}\n  }},\n",
                     category, name, *category == 'k' ? 0 : 4711, from, number_ % 1000, length, arguments);
    };
    if (number_ % 8 == 0) {
      entry("kernel", fmt::format("void at::native::vectorized_elementwise_kernel<{}>(int)", launch % 97), start, 9,
            fmt::format("\"External id\": {0}, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {0},"
                        " \"grid\": [8, 1, 1], \"block\": [512, 1, 1]",
                        launch));
    } else if (number_ % 8 == 1) {
      entry("cuda_runtime", "cudaLaunchKernel", start - 40, 5,
            fmt::format("\"External id\": {0}, \"cbid\": 211, \"correlation\": {0}", launch));
    } else if (number_ % 8 < 4) {
      entry(
          "cpu_op", fmt::format("aten::op_{}", number_ % 311), start - 45, 6,
          fmt::format("\"External id\": {}, \"Input Dims\": [[64, 128], [], [128]], \"Ev Idx\": {}", launch, number_));
    } else {
      entry("python_function", fmt::format("torch/nn/modules/module.py({}): _call_impl", number_ % 1511), start, 25,
            fmt::format("\"Python parent id\": {0}, \"Python id\": {0}, \"Ev Idx\": {0}", number_));
    }
    ++number_;
  }

  std::int64_t left_;
  std::string pending_;
  std::string name_ = "generated";
  std::size_t at_ = 0;
  std::int64_t number_ = 0;
  bool closed_ = false;
};

int Report(const Result<Answer>& answer) {
  if (!answer) return fmt::print(stderr, "{}\n", answer.error().message), 1;
  Print(*answer);
  return 0;
}

Result<Answer> ReadFile(const std::string& how, const std::string& path) {
  std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  if (how == "simdjson") return ReadBySimdjson(*in);
  return Read(*in).map([](const Profile& profile) { return AnswerOf(profile); });
}

Result<Answer> Generate(const std::string& megabytes) {
  EndlessTrace trace(std::stoll(megabytes) * 1'000'000);
  const double before = PeakMib();
  const Profile profile = TRY(Read(trace));
  std::size_t bytes = profile.calls.size() * sizeof(HostCall) + profile.host.cpu_op.parts().size() * sizeof(Interval);
  for (const ProfiledDevice& device : profile.devices) bytes += device.events.size() * sizeof(DeviceEvent);
  fmt::print("peak {:.1f} MiB, of which {:.1f} before and {:.1f} of rows; {} names\n", PeakMib(), before,
             static_cast<double>(bytes) / (1 << 20), profile.names.size());
  return AnswerOf(profile);
}

}  // namespace
}  // namespace idleburn

int main(int argc, char** argv) {
  const std::string how = argc == 3 ? argv[1] : "";
  if (how == "generate") return idleburn::Report(idleburn::Generate(argv[2]));
  if (how == "read" || how == "simdjson") return idleburn::Report(idleburn::ReadFile(how, argv[2]));
  fmt::print(stderr, "usage: bench_trace read|simdjson FILE, bench_trace generate MEGABYTES\n");
  return 2;
}
