#include "run/served_command.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>

namespace idleburn {
namespace {

void* Map(int fd) {
  const int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, sizeof(ServedCommand), PROT_READ | PROT_WRITE, flags, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ServedCommand* ServedCommand::Make() {
  int fd = memfd_create("served-command", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, sizeof(ServedCommand)) != 0) {
    close(fd);
    fd = -1;
  }
  void* memory = Map(fd);
  ServedCommand* served = memory == nullptr ? new ServedCommand() : new (memory) ServedCommand();
  if (memory == nullptr && fd >= 0) close(fd);
  served->memory = memory == nullptr ? -1 : fd;
  served->server = getpid();
  std::snprintf(served->number.data(), served->number.size(), "%d", served->memory);
  return served;
}

ServedCommand* ServedCommand::TakeUp(const char* number) {
  int fd = -1;
  const char* const end = number + std::strlen(number);
  if (std::from_chars(number, end, fd).ptr != end) return nullptr;
  struct stat info {};
  if (fstat(fd, &info) != 0 || info.st_size != sizeof(ServedCommand)) return nullptr;
  auto* const served = static_cast<ServedCommand*>(Map(fd));
  if (served == nullptr || served->server != getpid() || served->memory != fd) return nullptr;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  served->handing_over = false;
  return served;
}

}  // namespace idleburn
