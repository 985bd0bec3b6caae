#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/served_command.h"

namespace idleburn {

// A crash of ours (a fault, abort, std::terminate) must not change a command's exit code, nor end the command by taking
// its output away. After one, memory and locks are not to be trusted and other threads may hang on them. So this
// process starts the program anew, which the kernel does in one step: the threads and the memory are gone; children,
// signals that wait, and the descriptors of `served` stay. The new image serves the command to its end, unmeasured.
// What is written to the command's readers stays whole: no byte is read that is not written before.
//
// Nothing helps where the kernel cannot end a thread of ours, as one that hangs in a driver: then the process waits for
// it, as it would to end. A crash of the new image ends it as ever.
//
// From here to the end of the process, and from when `served` has a command; until then a crash is one as ever. Threads
// whose stack may overflow need a SignalStack. Once in a process.
void SurviveCrashes(ServedCommand* served);

// The exit code, if these words of ours are those of a program that was started anew; to be asked first of all.
std::optional<int> ServeAfterCrash(const std::vector<std::string>& words);

}  // namespace idleburn
