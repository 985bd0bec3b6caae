#include "report/focus_files.h"

#include "os/folder.h"
#include "os/output_file.h"
#include "report/samples_csv.h"
#include "terminal/output.h"

namespace idleburn {

Result<FocusExportFacts> WriteFocus(const std::string& output, ReportFormat format,
                                    const std::function<Result<FocusExportFacts>(const WriteText&)>& table) {
  const bool parquet = format == ReportFormat::kParquet;
  if (output.empty() || output == "-") {
    if (parquet) return FailUsage("bill export: Parquet needs a file; give -o FILE");
    return table(Print);
  }
  PartFile part(output + ".csv.part");
  FocusExportFacts facts;
  {
    const std::unique_ptr<AppendFile> file = TRY(AppendFile::Create(part.path(), kNamedFile));
    facts = TRY(table([&](std::string_view text) { return file->Append(text); }));
  }
  if (!parquet) {
    TRY(part.Rename(output));
    return facts;
  }
  std::vector<CsvColumn> columns;
  for (const FocusExportColumn& column : FocusExportColumns()) columns.push_back({column.name, column.sql_type});
  TRY(WriteParquet(part.path(), columns, "*", output));
  return facts;
}

}  // namespace idleburn
