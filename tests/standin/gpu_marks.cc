#include "standin/gpu_marks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace idleburn::standin {

std::int64_t MonotonicNow() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

MarkFile* MapMarks(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (ftruncate(fd, sizeof(MarkFile)) == 0) {
    mapped = mmap(nullptr, sizeof(MarkFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const file = static_cast<MarkFile*>(mapped);
  file->magic = MarkFile::kMagic;
  return file;
}

Marker::Marker(MarkFile* file, int device) : slot_(nullptr) {
  for (MarkSlot& slot : file->slots) {
    std::int32_t free = 0;
    if (!slot.pid.compare_exchange_strong(free, getpid())) continue;
    slot.device = device;
    slot_ = &slot;
    return;
  }
  std::abort();
}

Marker::~Marker() {
  End();
  Release();
}

void Marker::Hold(std::uint64_t bytes) {
  slot_->memory = bytes;
  slot_->context = 1;
}

void Marker::Release() {
  slot_->context = 0;
  slot_->memory = 0;
}

std::int64_t Marker::Begin(const Kernel& kernel) {
  End();
  const std::uint64_t number = slot_->count.load() + 1;
  Mark& mark = slot_->marks[(number - 1) % MarkSlot::kMarks];
  mark.sequence.store(0, std::memory_order_release);
  const std::int64_t start = MonotonicNow();
  mark.start = start;
  mark.end.store(0);
  mark.sm = kernel.sm;
  mark.dram = kernel.dram;
  mark.power = kernel.power;
  mark.pcie = kernel.pcie;
  mark.tensor = kernel.tensor;
  mark.sequence.store(number, std::memory_order_release);
  slot_->count.store(number, std::memory_order_release);
  return start;
}

std::int64_t Marker::End() {
  const std::uint64_t number = slot_->count.load();
  if (number == 0) return 0;
  Mark& mark = slot_->marks[(number - 1) % MarkSlot::kMarks];
  if (mark.end.load() == 0) mark.end.store(MonotonicNow(), std::memory_order_release);
  return mark.end.load();
}

}  // namespace idleburn::standin
