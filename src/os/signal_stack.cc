#include "os/signal_stack.h"

#include <sys/mman.h>

#include <csignal>
#include <cstddef>

namespace idleburn {
namespace {

constexpr std::size_t kSize = 64 * 1024;  // the registers of the largest processors take 11 KiB of it

}  // namespace

// Memory of its own from the kernel, apart from the heap, which may be what is broken when the stack is used.
SignalStack::SignalStack() {
  stack_t before{};
  if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kSize;
  if (sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    munmap(memory, kSize);
  }
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, kSize);
}

}  // namespace idleburn
