#pragma once

#include <algorithm>

#include "profile/profile_builder.h"
#include "support/property.h"

namespace idleburn::test {

inline constexpr std::int64_t kCell = 10'000;

inline std::int64_t AnyCell(int to) { return kCell * *rc::gen::inRange<std::int64_t>(0, to); }

// Of up to eight events, two devices and two processes, on a grid of cells; much of it overlaps or coincides.
inline Profile AnyProfile() {
  ProfileBuilder b;
  for (const char* process : {"10", "20"}) (void)b.Process(process);
  const auto process = [] { return static_cast<std::uint16_t>(*rc::gen::weightedElement<int>({{5, 0}, {1, 1}})); };
  const int events = *rc::gen::inRange(1, 9);
  for (int i = 0; i < events; ++i) {
    DeviceEvent e;
    e.start_ns = AnyCell(40);
    e.end_ns = e.start_ns + AnyCell(6);
    e.correlation = *rc::gen::inRange<std::int64_t>(-1, 8);
    e.stream = *rc::gen::inRange(0U, 3U);
    e.process = process();
    e.op =
        *rc::gen::element(DeviceOp::kKernel, DeviceOp::kKernel, DeviceOp::kComm, DeviceOp::kMemcpy, DeviceOp::kMemset);
    if (e.op == DeviceOp::kMemcpy) e.copy = *rc::gen::element(CopyKind::kHtoD, CopyKind::kDtoH);
    b.AddDeviceEvent(*rc::gen::inRange(0, 2), e);
  }
  const int calls = *rc::gen::inRange(0, 10);
  for (int i = 0; i < calls; ++i) {
    const std::int64_t start = AnyCell(40);
    const std::int64_t end = start + AnyCell(8);
    const char* name = *rc::gen::element("cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaMalloc");
    b.AddCall(name, {start, end, *rc::gen::inRange<std::int64_t>(0, 8), b.Thread("t"), process(), CallKind::kOther});
  }
  const int ranges = *rc::gen::inRange(0, 6);
  for (int i = 0; i < ranges; ++i) {
    const std::int64_t start = AnyCell(40);
    b.AddHostRange(*rc::gen::element("aten::mm", "enumerate(DataLoader)#X.__next__"), {start, start + AnyCell(8)}, 0);
  }
  const int steps = *rc::gen::inRange(0, 3);
  for (int i = 0; i < steps; ++i) {
    const std::int64_t start = AnyCell(30);
    b.AddStep({start, start + kCell + AnyCell(20), i, 0});
  }
  return b.Build();
}

}  // namespace idleburn::test
