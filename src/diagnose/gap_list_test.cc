#include "diagnose/gap_list.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "support/any_profile.h"
#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

// The gaps of a device are its idle time, each class has what the budget has, and each cause what it claims of it.
TEST(GapListTest, AddsUpToTheBudgetAndTheClaims) {
  test::ExpectProperty([] {
    const Profile profile = test::AnyProfile();
    const TraceDiagnosis diagnosis = DiagnoseProfiles({&profile, 1});
    std::map<std::size_t, std::int64_t> idle;
    std::map<std::pair<std::size_t, std::string>, std::int64_t> by_cause;
    std::map<std::size_t, std::array<std::int64_t, kIdleClasses>> by_class;
    std::int64_t last_end = INT64_MIN;
    std::size_t last_device = 0;
    VisitGaps({&profile, 1}, diagnosis, [&](std::size_t device, std::span<const GapStretch> gap) {
      if (device != last_device) last_end = INT64_MIN;
      last_device = device;
      for (const GapStretch& part : gap) {
        RC_ASSERT(part.at.start >= last_end && part.at.Ns() > 0);
        last_end = part.at.end;
        idle[device] += part.at.Ns();
        if (part.attributed) by_class[device][static_cast<std::size_t>(part.what)] += part.at.Ns();
        by_cause[{device, std::string(part.cause)}] += part.at.Ns();
      }
    });
    for (std::size_t i = 0; i < diagnosis.devices.size(); ++i) {
      const DeviceDiagnosis& d = diagnosis.devices[i];
      RC_ASSERT(idle[i] == d.Deciding().idle_ns);
      if (d.Deciding().idle_by_class) RC_ASSERT(by_class[i] == *d.Deciding().idle_by_class);
      std::map<std::string, std::int64_t> claimed;  // idle instants of each cause
      for (const ClaimedShare& c : d.claims) {
        claimed[std::string(c.cause)] += c.time.Where([](Traits t) { return !Has(t, kBusyTraits); }).TotalNs();
      }
      for (const auto& [cause, ns] : claimed) RC_ASSERT((by_cause[{i, cause}] == ns));
    }
  });
}

// A gap of 300 us in the loader, then one of 100 us before a launch: one stretch each, in order.
TEST(GapListTest, NamesTheCauseOfAGap) {
  TinyProfile tiny;
  for (std::int64_t i = 0; i < 5; ++i) tiny.Step(i, 1000 * i, 1000 * (i + 1));
  tiny.Loader(1000, 1300).Kernel(0, 1000, 0).Kernel(1300, 5000, 1300);
  const Profile profile = tiny.Build();
  const TraceDiagnosis diagnosis = DiagnoseProfiles({&profile, 1});
  std::vector<GapStretch> all;
  VisitGaps({&profile, 1}, diagnosis,
            [&](std::size_t, std::span<const GapStretch> gap) { all.insert(all.end(), gap.begin(), gap.end()); });
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].at, (Interval{1'000'000, 1'300'000}));
  EXPECT_EQ(all[0].what, IdleClass::kDataloader);
  EXPECT_EQ(all[0].cause, "loader_cpu_spare_cores");
}

}  // namespace
}  // namespace idleburn
