// Says how much work a program has done, for `idleburn run` (docs/markers.md). C99 or C++, no library, POSIX
// (-std=gnu99, or -std=c99 with -D_POSIX_C_SOURCE=200809L).
//
//     struct idleburn work = idleburn_begin();
//     for (...) { train(batch); idleburn_step(&work, batch_size, tokens, epochs_finished); }
//     idleburn_end(&work);
//
// For `idleburn drill` also: idleburn_resumed once, idleburn_step_at in place of idleburn_step, and
// idleburn_checkpoint_begin and _end around each checkpoint.
//
// Nothing here fails: outside of `idleburn run`, or where the file cannot be written, a step costs one comparison.
// One `struct idleburn` counts for one process: after a fork the child counts anew. It is not to be used by two threads
// at once.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_MONOTONIC
#error "idleburn.h needs POSIX: compile with -std=gnu99, or with -D_POSIX_C_SOURCE=200809L"
#endif

struct idleburn {
  int file;  // -1: nobody asks
  int rank;
  long pid;  // whose counts these are
  long long steps;
  long long samples;
  long long tokens;
  long long epochs;        // finished; -1: never said
  double next;             // when the next line is due, in seconds of the monotonic clock
  double period;           // seconds between lines
  int timed;               // somebody asked for a period: lines tell their time
  long long first;         // positions of samples since the last line; -1: none
  long long last;
};

static inline double idleburn_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// `more`: fields that begin with a comma, or "".
static inline void idleburn_write(struct idleburn* work, const char* more) {
  char line[512];
  char epoch[32] = "";
  char taken[80] = "";
  char at[40] = "";
  if (work->epochs >= 0) snprintf(epoch, sizeof epoch, ",epoch=%lld", work->epochs);
  if (work->first >= 0) snprintf(taken, sizeof taken, ",first_sample=%lld,last_sample=%lld", work->first, work->last);
  if (work->timed) snprintf(at, sizeof at, ",at_ns=%lld", (long long)(idleburn_now() * 1e9));
  work->first = -1;
  const int size =
      snprintf(line, sizeof line, "step=%lld,samples=%lld,tokens=%lld%s%s%s%s,rank=%d,pid=%ld\n", work->steps,
               work->samples, work->tokens, epoch, taken, more, at, work->rank, work->pid);
  // One write of a whole line: appended at once, and kept even if this process is killed next.
  if (size > 0 && write(work->file, line, (size_t)size) != (ssize_t)size) return;
}

// -1: not there, or no number.
static inline int idleburn_number(const char* name) {
  const char* const value = getenv(name);
  return value == NULL || *value < '0' || *value > '9' ? -1 : atoi(value);
}

// From the environment of torchrun, MPI or Slurm; else from that of a launcher that names only the rank on this node,
// and perhaps how many there are on each.
static inline int idleburn_rank(void) {
  static const char* const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  const int node = idleburn_number("NODE_RANK");
  const int size = idleburn_number("LOCAL_WORLD_SIZE");
  const int local = idleburn_number("LOCAL_RANK");
  for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; ++i) {
    if (idleburn_number(ranks[i]) >= 0) return idleburn_number(ranks[i]);
  }
  return (node > 0 && size > 0 ? node * size : 0) + (local > 0 ? local : 0);
}

// Opens the file that IDLEBURN_MARKERS names.
static inline struct idleburn idleburn_begin(void) {
  struct idleburn work;
  const char* const path = getenv("IDLEBURN_MARKERS");
  memset(&work, 0, sizeof work);
  work.file = path != NULL && *path != '\0' ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  const char* const period = getenv("IDLEBURN_MARKERS_PERIOD");
  work.pid = (long)getpid();
  work.epochs = -1;
  work.first = -1;
  work.timed = period != NULL && *period != '\0';
  work.period = work.timed ? atof(period) : 0.2;
  work.rank = idleburn_rank();
  return work;
}

// A forked child begins anew: its parent goes on with its own counts.
static inline void idleburn_own(struct idleburn* work) {
  const long pid = (long)getpid();
  if (work->pid == pid) return;
  work->pid = pid;
  work->steps = work->samples = work->tokens = 0;
  work->epochs = -1;
  work->first = -1;
  work->next = 0;
}

// One step is done, with `samples` and `tokens` of its own (0 where not counted); `epochs` are finished so far (-1
// where not counted). `first`: the position of its first sample in the order in which this rank takes samples over all
// epochs, from 0 (-1 where not known). Writes at most five lines a second, or as IDLEBURN_MARKERS_PERIOD says.
static inline void idleburn_step_at(struct idleburn* work, long long samples, long long tokens, long long epochs,
                                    long long first) {
  if (work->file < 0) return;
  idleburn_own(work);
  if (first >= 0 && samples > 0) {
    // What went before does not end where this begins: it is a line of its own.
    if (work->first >= 0 && first != work->last + 1) idleburn_write(work, "");
    if (work->first < 0) work->first = first;
    work->last = first + samples - 1;
  }
  work->steps += 1;
  work->samples += samples;
  work->tokens += tokens;
  if (epochs >= 0) work->epochs = epochs;
  const double now = idleburn_now();
  if (now < work->next) return;
  work->next = now + work->period;
  idleburn_write(work, "");
}

static inline void idleburn_step(struct idleburn* work, long long samples, long long tokens, long long epochs) {
  idleburn_step_at(work, samples, tokens, epochs, -1);
}

static inline void idleburn_tell(struct idleburn* work, const char* name, long long value, long long bytes) {
  char more[120];
  char size[40] = "";
  if (work->file < 0) return;
  idleburn_own(work);
  if (bytes >= 0) snprintf(size, sizeof size, ",checkpoint_bytes=%lld", bytes);
  snprintf(more, sizeof more, ",%s=%lld%s", name, value, size);
  idleburn_write(work, more);
}

// This process goes on from the state after that step of the whole training; 0: from the start.
static inline void idleburn_resumed(struct idleburn* work, long long step) { idleburn_tell(work, "resumed", step, -1); }

// The state after that step is being written.
static inline void idleburn_checkpoint_begin(struct idleburn* work, long long step) {
  idleburn_tell(work, "checkpoint_begin", step, -1);
}

// It is whole, and so many bytes (-1 where not known).
static inline void idleburn_checkpoint_end(struct idleburn* work, long long step, long long bytes) {
  idleburn_tell(work, "checkpoint_end", step, bytes);
}

// Writes the last counts and closes the file.
static inline void idleburn_end(struct idleburn* work) {
  if (work->file < 0) return;
  idleburn_own(work);
  if (work->steps > 0) idleburn_write(work, "");
  close(work->file);
  work->file = -1;
}
