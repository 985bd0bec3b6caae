// Any table of contracts, and prices as they are stated for GPUs: what is read has a name, GPUs, a price and a term.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "price/contract.h"
#include "price/stated_price.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const idleburn::GpuIdentity gpu{"GPU-5f3ad1c2-0000-1111-2222-333344445555", "node03.example.org",
                                  "NVIDIA A100-SXM4-80GB"};
  idleburn::StringSource in(text, "contracts.csv");
  if (const auto contracts = idleburn::ReadContracts(in)) {
    for (const idleburn::Contract& c : *contracts) {
      CHECK(!c.name.empty() && !c.applies_to.empty() && c.per_gpu_hour >= idleburn::Money());
      CHECK(!c.from || !c.until || *c.from < *c.until);
      CHECK(!c.committed || (c.gpus && *c.gpus > 0));
      CHECK(Describe(c).find(c.name) != std::string::npos);
      for (const idleburn::GpuSelector& gpus : c.applies_to) CHECK(gpus.Closeness(gpu) >= 0);
    }
  }
  if (const auto prices = idleburn::ParseStatedPrices(text)) {
    for (const idleburn::StatedPrice& price : *prices) {
      CHECK(!price.price.empty());
      CHECK(price.gpus.all() == (price.gpus.Closeness({}) > 0));
    }
  }
  return 0;
}
