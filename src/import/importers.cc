#include <array>

#include "import/agent_jsonl.h"
#include "import/cloudwatch.h"
#include "import/columns_csv.h"
#include "import/compute_apps_csv.h"
#include "import/dcgmi_dmon.h"
#include "import/dcgmi_stats.h"
#include "import/gcp_monitoring.h"
#include "import/importer.h"
#include "import/nvidia_smi_csv.h"
#include "import/nvidia_smi_mon.h"
#include "import/nvidia_smi_xml.h"
#include "import/parquet.h"
#include "import/prometheus_json.h"
#include "import/prometheus_metrics.h"
#include "import/recording.h"
#include "import/rocm_smi.h"
#include "import/telegraf.h"

namespace idleburn {

std::span<const Importer> Importers() {
  // name, clock, in order of time, chosen by --columns, sniff, import
  static constexpr auto kImporters = std::to_array<Importer>({
      {"recordings", ClockDomain::kMonotonic, true, false, SniffRecording, ImportRecording},
      {"Parquet", ClockDomain::kWall, true, false, SniffParquet, ImportParquet},
      {"CSV with --columns", ClockDomain::kWall, true, true, SniffColumnsCsv, ImportColumnsCsv},
      {"nvidia-smi XML", ClockDomain::kWall, true, false, SniffNvidiaSmiXml, ImportNvidiaSmiXml},
      {"nvidia-smi compute apps", ClockDomain::kWall, true, false, SniffComputeAppsCsv, ImportComputeAppsCsv},
      {"nvidia-smi CSV", ClockDomain::kWall, true, false, SniffNvidiaSmiCsv, ImportNvidiaSmiCsv},
      {"nvidia-smi dmon/pmon", ClockDomain::kWall, true, false, SniffNvidiaSmiMon, ImportNvidiaSmiMon},
      {"dcgmi dmon", ClockDomain::kWall, false, false, SniffDcgmiDmon, ImportDcgmiDmon},
      {"dcgmi stats", ClockDomain::kWall, false, false, SniffDcgmiStats, ImportDcgmiStats},
      {"agent samples", ClockDomain::kMonotonic, true, false, SniffAgentJsonl, ImportAgentJsonl},
      {"rocm-smi JSON", ClockDomain::kNone, true, false, SniffRocmSmi, ImportRocmSmi},
      {"CloudWatch JSON", ClockDomain::kWall, false, false, SniffCloudWatch, ImportCloudWatch},
      {"Google Cloud Monitoring JSON", ClockDomain::kWall, false, false, SniffGcpMonitoring, ImportGcpMonitoring},
      {"Prometheus JSON", ClockDomain::kWall, false, false, SniffPrometheusJson, ImportPrometheusJson},
      {"Prometheus text", ClockDomain::kWall, false, false, SniffPrometheus, ImportPrometheus},
      {"Telegraf line protocol", ClockDomain::kWall, false, false, SniffTelegraf, ImportTelegraf},
      {"CSV of usual columns", ClockDomain::kWall, true, false, SniffUsualColumnsCsv, ImportColumnsCsv},
  });
  return kImporters;
}

}  // namespace idleburn
