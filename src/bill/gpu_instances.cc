#include "bill/gpu_instances.h"

#include "price/catalogue.h"
#include "text/strings.h"

namespace idleburn {

GpuInstances GpuInstances::BuiltIn() {
  constexpr std::int64_t kWhole = 1'000'000;  // gpu_micros of one GPU
  GpuInstances instances;
  const Catalogue catalogue = Catalogue::BuiltIn();
  for (const CatalogueRow* row : catalogue.Rows()) {
    if (row->gpu_micros % kWhole != 0) continue;
    instances.rows_.emplace(Lower(row->instance), GpuInstance{row->gpu_micros / kWhole, row->gpu});
  }
  return instances;
}

const GpuInstance* GpuInstances::Find(std::string_view instance) const {
  if (instance.empty()) return nullptr;
  const auto found = rows_.find(Lower(instance));
  return found == rows_.end() ? nullptr : &found->second;
}

}  // namespace idleburn
