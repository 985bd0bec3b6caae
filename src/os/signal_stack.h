#pragma once

namespace idleburn {

// An extra stack for the signal handlers of this thread (sigaltstack). With it a handler can run after the thread's own
// stack overflowed, which the crash guard needs. A thread that has such a stack keeps it. Without memory there is none,
// and the thread goes on without.
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
