#pragma once

#include "support/source_tree.h"

namespace idleburn::testing {

// A page of the documents is short, and so are its sentences: fewer than 150 lines, and at most 30 words a sentence.
// Tables, blocks and headings hold no sentences. A span of code counts as one word.
inline constexpr std::size_t kPageLines = 150;
inline constexpr std::size_t kSentenceWords = 30;

// The README and every Markdown file below docs/.
bool IsPage(const SourceFile& file);

// Pages that are too long, and sentences that are.
Faults PageFaults(const SourceTree& tree);

}  // namespace idleburn::testing
