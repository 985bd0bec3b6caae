// Says how much work a program has done, for `idleburn run` (docs/markers.md). C99 or C++, POSIX, no library.
//
//     struct idleburn work = idleburn_begin();
//     for (...) { train(batch); idleburn_step(&work, batch_size, tokens, epochs_finished); }
//     idleburn_end(&work);
//
// Nothing here fails: outside of `idleburn run`, or where the file cannot be written, a step costs one comparison.
// One `struct idleburn` counts for one process; it is not to be used by two threads at once.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct idleburn {
  int file;  // -1: nobody asks
  int rank;
  long long steps;
  long long samples;
  long long tokens;
  long long epochs;        // finished; -1: never said
  double next;             // when the next line is due, in seconds of the monotonic clock
};

static inline double idleburn_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void idleburn_write(const struct idleburn* work) {
  char line[256];
  char epoch[32] = "";
  if (work->epochs >= 0) snprintf(epoch, sizeof epoch, ",epoch=%lld", work->epochs);
  const int size = snprintf(line, sizeof line, "step=%lld,samples=%lld,tokens=%lld%s,rank=%d,pid=%ld\n", work->steps,
                            work->samples, work->tokens, epoch, work->rank, (long)getpid());
  // One write of a whole line: appended at once, and kept even if this process is killed next.
  if (size > 0 && write(work->file, line, (size_t)size) != (ssize_t)size) return;
}

// Opens the file that IDLEBURN_MARKERS names. The rank comes from the environment of torchrun, MPI or Slurm.
static inline struct idleburn idleburn_begin(void) {
  static const char* const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  struct idleburn work;
  const char* const path = getenv("IDLEBURN_MARKERS");
  memset(&work, 0, sizeof work);
  work.file = path != NULL && *path != '\0' ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  work.epochs = -1;
  for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; ++i) {
    const char* const rank = getenv(ranks[i]);
    if (rank == NULL) continue;
    work.rank = atoi(rank);
    break;
  }
  return work;
}

// One step is done, with `samples` and `tokens` of its own (0 where not counted); `epochs` are finished so far (-1
// where not counted). Writes at most five lines a second.
static inline void idleburn_step(struct idleburn* work, long long samples, long long tokens, long long epochs) {
  if (work->file < 0) return;
  work->steps += 1;
  work->samples += samples;
  work->tokens += tokens;
  if (epochs >= 0) work->epochs = epochs;
  const double now = idleburn_now();
  if (now < work->next) return;
  work->next = now + 0.2;
  idleburn_write(work);
}

// Writes the last counts and closes the file.
static inline void idleburn_end(struct idleburn* work) {
  if (work->file < 0) return;
  idleburn_write(work);
  close(work->file);
  work->file = -1;
}
