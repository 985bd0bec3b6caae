#include "profile/kineto_trace.h"

#include <algorithm>
#include <string>
#include <utility>

#include "profile/json_scan.h"
#include "profile/kineto_header.h"
#include "profile/kineto_rows.h"
#include "profile/launch_processes.h"
#include "profile/profile_builder.h"
#include "profile/trace_losses.h"

namespace idleburn {
bool SniffKineto(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  const char* const first = SkipBlanks(head.data(), head.data() + head.size());
  head.remove_prefix(static_cast<std::size_t>(first - head.data()));
  if (head.empty()) return false;
  if (head.front() == '{') return has("\"traceEvents\"") || has("\"deviceProperties\"") || has("\"schemaVersion\"");
  return head.front() == '[' && has("\"ph\"");
}

Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality, TraceLimits limits) {
  ProfileBuilder builder;
  TraceReader reader(in, kKinetoHeaders, limits);
  KinetoRows rows(in.name(), builder, quality);
  while (true) {
    const TraceReader::Item item = TRY(reader.Next());
    if (item == TraceReader::Item::kEnd) break;
    if (item == TraceReader::Item::kEvent) {
      rows.Add(reader.event());
    } else {
      ReadKinetoHeader(reader.header_key(), reader.header_value(), builder);
    }
  }
  const TraceTally& tally = reader.tally();
  if (!tally.found_events) {
    return Fail(in.name() + ": holds no traceEvents; export it again with prof.export_chrome_trace()");
  }
  rows.Finish();

  Profile profile = builder.Build();
  profile.file = in.name();
  profile.kind = ProfilerKind::kPyTorch;
  profile.profiler = "PyTorch profiler";
  profile.counter = "kineto.device_activity";
  profile.events_total = tally.events;
  profile.events_missing = CountLosses(tally, in, quality);
  quality.Count(QualityId::kAmbiguousLaunch, {&in.name()}, FindLaunchProcesses(profile));
  for (const ProfiledDevice& device : profile.devices) {
    if (!LaunchedBySeveral(device)) continue;
    quality.CountNamed(QualityId::kSharedDeviceNumber, std::to_string(device.id), {&in.name()});
  }
  quality.Count(QualityId::kAmbiguousLaunch, {&in.name()}, DropReusedIds(profile));
  return profile;
}

}  // namespace idleburn
