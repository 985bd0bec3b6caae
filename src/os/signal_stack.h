#pragma once

namespace idleburn {

// A stack for this thread's signal handlers, so that they can run when the thread's own has overflowed. A thread that
// has one already keeps that; where no memory is to be had there is none.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = nullptr;
};

}  // namespace idleburn
