#pragma once

namespace idleburn {

// An extra stack for the signal handlers of this thread (sigaltstack). With it a handler can run after the thread's
// own stack overflowed, which the crash guard needs. Create it in the thread that it serves, and destroy it there. A
// thread that already has such a stack keeps it. If there is no memory, the thread goes on without one.
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
