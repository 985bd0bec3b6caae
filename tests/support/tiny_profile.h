#pragma once

#include <string>
#include <string_view>

#include "profile/profile_builder.h"

namespace idleburn::test {

// A profile written by hand, in microseconds. One process and one launching thread ("main") unless said otherwise.
class TinyProfile {
 public:
  static constexpr std::int64_t kUs = 1000;

  // Device work and the call that launched it, which starts at `launched` and takes `call` us.
  TinyProfile& Kernel(std::int64_t start, std::int64_t end, std::int64_t launched, std::int64_t call = 5,
                      std::string_view name = "gemm") {
    return Work("cudaLaunchKernel", Event(start, end, DeviceOp::kKernel, name), launched, call);
  }
  TinyProfile& Comm(std::int64_t start, std::int64_t end, std::int64_t launched) {
    return Work("cudaLaunchKernelExC", Event(start, end, DeviceOp::kKernel, "ncclDevKernel_AllReduce"), launched, 5);
  }
  TinyProfile& Copy(CopyKind kind, MemoryKind from, std::int64_t bytes, std::int64_t start, std::int64_t end,
                    std::int64_t launched, std::int64_t call = 5) {
    DeviceEvent event = Event(start, end, DeviceOp::kMemcpy, "Memcpy");
    event.copy = kind;
    event.from = from;
    event.bytes = bytes;
    return Work("cudaMemcpyAsync", event, launched, call);
  }
  // Device work whose launch is not in the file.
  TinyProfile& Orphan(std::int64_t start, std::int64_t end) {
    builder_.AddDeviceEvent(device_, Event(start, end, DeviceOp::kKernel, "gemm"));
    return *this;
  }
  // Kernels of one graph launch: the first of `length` us at `start`, the next ones `gap` us after each other.
  TinyProfile& Graph(std::int64_t start, std::int64_t length, std::int64_t gap, int kernels, std::int64_t launched) {
    Call("cudaGraphLaunch", launched, launched + 5);
    for (int i = 0; i < kernels; ++i, start += length + gap) {
      DeviceEvent event = Event(start, start + length, DeviceOp::kKernel, "gemm");
      event.correlation = correlation_;
      builder_.AddDeviceEvent(device_, event);
    }
    return *this;
  }
  // Gets a correlation id of its own.
  TinyProfile& Call(std::string_view name, std::int64_t start, std::int64_t end, std::string_view thread = "main") {
    HostCall call;
    call.start_ns = start * kUs;
    call.end_ns = end * kUs;
    call.correlation = ++correlation_;
    call.thread = builder_.Thread(thread);
    call.process = process_;
    builder_.AddCall(name, call);
    return *this;
  }
  TinyProfile& Op(std::string_view name, std::int64_t start, std::int64_t end) {
    builder_.AddHostRange(name, {start * kUs, end * kUs}, builder_.Thread("main"));
    return *this;
  }
  TinyProfile& Loader(std::int64_t start, std::int64_t end) {
    return Op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, end);
  }
  TinyProfile& Frame(std::string_view name, std::int64_t start, std::int64_t end, std::string_view thread = "main") {
    builder_.AddPythonFrame(name, {start * kUs, end * kUs}, builder_.Thread(thread));
    return *this;
  }
  TinyProfile& Step(std::int64_t number, std::int64_t start, std::int64_t end) {
    builder_.AddStep({start * kUs, end * kUs, number, process_});
    return *this;
  }
  // What follows is of that device or process.
  TinyProfile& OnDevice(std::int64_t id) {
    device_ = id;
    return *this;
  }
  TinyProfile& InProcess(std::string_view name) {
    process_ = builder_.Process(name);
    return *this;
  }
  ProfileBuilder& builder() { return builder_; }
  Profile Build() {
    builder_.header().file = "tiny.json";
    builder_.header().counter = "kineto.device_activity";
    return builder_.Build();
  }

 private:
  DeviceEvent Event(std::int64_t start, std::int64_t end, DeviceOp op, std::string_view name) {
    DeviceEvent event;
    event.start_ns = start * kUs;
    event.end_ns = end * kUs;
    event.op = op;
    event.name = builder_.Intern(name);
    event.process = process_;
    return event;
  }
  TinyProfile& Work(std::string_view call, DeviceEvent event, std::int64_t launched, std::int64_t length) {
    Call(call, launched, launched + length);
    event.correlation = correlation_;
    builder_.AddDeviceEvent(device_, event);
    return *this;
  }

  ProfileBuilder builder_;
  std::int64_t correlation_ = 0;
  std::int64_t device_ = 0;
  std::uint16_t process_ = 0;
};

}  // namespace idleburn::test
