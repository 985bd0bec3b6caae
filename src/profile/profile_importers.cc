#include "profile/profile_importers.h"

#include <algorithm>
#include <array>
#include <string>

namespace idleburn {
namespace {

// Reports that only their own program reads, with what to do instead. The text follows the name of the file.
struct ClosedFormat {
  std::string_view ending;
  std::string_view what;
};
constexpr auto kClosedFormats = std::to_array<ClosedFormat>({
    {".nsys-rep", "is a report of Nsight Systems; export it first: nsys export --type sqlite REPORT.nsys-rep"},
    {".qdrep", "is a report of Nsight Systems; export it first: nsys export --type sqlite REPORT.qdrep"},
    {".qdstrm",
     "is a recording of Nsight Systems that is not finished; convert it with QdstrmImporter, then "
     "nsys export --type sqlite REPORT.nsys-rep"},
    {".ncu-rep",
     "is a report of Nsight Compute about single kernels; record the run with nsys profile, then "
     "nsys export --type sqlite REPORT.nsys-rep"},
});

}  // namespace

std::span<const ProfileImporter> ProfileImporters() {
  // name, sniff, read
  static constexpr auto kImporters = std::to_array<ProfileImporter>({
      {"Nsight Systems SQLite", SniffNsys, ReadNsys},
      {"rocprofv3 JSON", SniffRocprof, ReadRocprof},
      {"TensorFlow and JAX trace.json", SniffXlaTrace, ReadXlaTrace},
      {"PyTorch profiler trace", SniffKineto, ReadKineto},
      {"TensorFlow and JAX xplane.pb", SniffXplane, ReadXplane},
  });
  return kImporters;
}

Result<const ProfileImporter*> FindProfileImporter(std::string_view name, std::string_view head) {
  const std::span<const ProfileImporter> importers = ProfileImporters();
  const auto found = std::find_if(importers.begin(), importers.end(),
                                  [head](const ProfileImporter& importer) { return importer.sniff(head); });
  if (found != importers.end()) return &*found;
  for (const ClosedFormat& format : kClosedFormats) {
    if (name.size() < format.ending.size()) continue;
    if (name.substr(name.size() - format.ending.size()) != format.ending) continue;
    return Fail(std::string(name) + ": " + std::string(format.what));
  }
  return nullptr;
}

}  // namespace idleburn
