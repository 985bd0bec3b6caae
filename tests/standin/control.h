#pragma once

#include <cstdint>

// What a test may ask of the loaded stand-in, besides NVML. Found by dlsym as any function of it.
namespace idleburn::standin {

struct StandinCounts {
  std::int64_t calls = 0;
  std::int32_t most_inside = 0;    // calls that ran at once
  std::int32_t hanging = 0;        // calls that hang now
  std::int32_t gpm_samples = 0;    // allocated and not freed
  std::int32_t event_sets = 0;     // likewise
  std::int32_t stale_handles = 0;  // calls with a handle of an earlier initialisation
  std::int32_t uninitialised = 0;  // calls outside of Init and Shutdown
};

using LoadFunction = void(const char* script);    // "idleburn_standin_load": starts anew at t = 0
using AdvanceFunction = void(std::int64_t ns);    // "idleburn_standin_advance": moves the manual clock
using NowFunction = std::int64_t();               // "idleburn_standin_now": ns since the start
using StepWallFunction = void(std::int64_t ns);   // "idleburn_standin_step_wall": somebody sets the wall clock
using WallFunction = std::int64_t();              // "idleburn_standin_wall": ns since the Unix epoch
using ReleaseFunction = void();                   // "idleburn_standin_release": hanging calls return
using CountsFunction = void(StandinCounts* out);  // "idleburn_standin_counts"

}  // namespace idleburn::standin
