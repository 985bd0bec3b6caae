#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace idleburn::test {

// One section of a capture of nvidia-smi's subcommands.
struct CaptureSection {
  std::string state;    // "capabilities", "idle", "load"
  std::string name;     // "dmon (per-device monitor, incl. PCIe rx/tx)"
  std::string command;  // "nvidia-smi dmon -c 5"; empty if the section names none
  std::string text;     // the output, without the blank lines that follow it
};

// Cuts a capture into its sections. A section begins with a line of 80 '#' and a line "# STATE :: NAME", then perhaps
// "# $ COMMAND", then '#' again; output may hold lines that begin with '#', as the headers of dmon do.
inline std::vector<CaptureSection> CutCapture(std::string_view capture) {
  std::vector<std::string_view> lines;
  while (!capture.empty()) {
    const std::size_t end = capture.find('\n');
    std::string_view line = capture.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    capture.remove_prefix(end == std::string_view::npos ? capture.size() : end + 1);
  }
  const auto bar = [&](std::size_t i) { return i < lines.size() && lines[i] == std::string(80, '#'); };
  std::vector<CaptureSection> sections;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view title = i + 1 < lines.size() ? lines[i + 1] : std::string_view();
    const std::size_t colons = title.find(" :: ");
    if (bar(i) && title.substr(0, 2) == "# " && colons != std::string_view::npos) {
      CaptureSection& section = sections.emplace_back();
      section.state = title.substr(2, colons - 2);
      section.name = title.substr(colons + 4);
      i += 2;
      if (i < lines.size() && lines[i].substr(0, 4) == "# $ ") section.command = lines[i++].substr(4);
    } else if (!sections.empty()) {
      sections.back().text.append(lines[i]).append("\n");
    }
  }
  for (CaptureSection& section : sections) {
    while (section.text.size() > 1 && section.text.substr(section.text.size() - 2) == "\n\n") section.text.pop_back();
  }
  return sections;
}

// The output of the section of that state whose name begins so; empty if there is none.
inline std::string SectionText(const std::vector<CaptureSection>& sections, std::string_view state,
                               std::string_view name) {
  for (const CaptureSection& section : sections) {
    if (section.state == state && section.name.substr(0, name.size()) == name) return section.text;
  }
  return {};
}

}  // namespace idleburn::test
