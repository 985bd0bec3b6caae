#include "cli/export_perfetto.h"

#include <memory>

#include "audit/classify_run.h"
#include "audit/read_run.h"
#include "os/folder.h"
#include "os/output_file.h"
#include "report/perfetto_output.h"
#include "report/samples_csv.h"
#include "terminal/output.h"

namespace idleburn {

Result<void> ExportPerfetto(const std::vector<std::string>& inputs, const std::string& output,
                            const ImportOptions& options, Progress& progress) {
  const Thresholds thresholds;
  const std::shared_ptr<RunInputs> run = TRY(Read(inputs, options, thresholds, &progress));
  TRY(ClassifyRun(*run));
  if (!run->trace || run->trace->devices.empty()) {
    return Fail(inputs.front() +
                ": has no GPU events of a profiler; --format perfetto writes the idle gaps of a trace");
  }
  if (output.empty() || output == "-") return WritePerfetto(run->profiles, *run->trace, Print);
  PartFile part(output + ".part");
  const std::unique_ptr<AppendFile> file = TRY(AppendFile::Create(part.path(), kNamedFile));
  TRY(WritePerfetto(run->profiles, *run->trace, [&](std::string_view text) { return file->Append(text); }));
  return part.Rename(output);
}

}  // namespace idleburn
