#include "measure/live_gpus.h"

#include <gtest/gtest.h>

#include <map>

namespace idleburn {

namespace {

using Variables = std::map<std::string, std::string>;

class VisibleGpusTest : public ::testing::Test {
 protected:
  // Boards are entered as the driver lists them, which need not be the order of the bus.
  void Board(GpuMaker maker, const std::string& uuid, const std::string& bus_id, const std::string& name) {
    DeviceKey key;
    key.uuid = uuid;
    key.bus_id = bus_id;
    key.name = name;
    key.index = static_cast<int>(devices_.size());
    gpus_.push_back({devices_.Enter(key), maker, {uuid}});
  }
  void Instance(const std::string& board, const std::string& id, const std::string& uuid) {
    DeviceKey key;
    key.uuid = board;
    key.mig = MigInstance{id, "1g.10gb", 1};
    gpus_.push_back({devices_.Enter(key), GpuMaker::kNvidia, {uuid}});
  }
  // What the last board shows to a process, by HideWhatIsNotShown alone.
  [[nodiscard]] HiddenGpus NotShown(const std::optional<std::string>& given, bool in_container) const {
    const VariableLookup lookup = [&](std::string_view name) -> std::optional<std::string> {
      return name == "NVIDIA_VISIBLE_DEVICES" ? given : std::nullopt;
    };
    HiddenGpus hidden;
    HideWhatIsNotShown(lookup, in_container, gpus_, devices_, &hidden);
    return hidden;
  }
  void FourAlike() {
    for (const char* n : {"0", "1", "2", "3"})
      Board(GpuMaker::kNvidia, kUuid + n, std::string("00000000:0") + n, "H100");
  }
  // "0,3" of those that can be seen; "?" in front where that cannot be told.
  [[nodiscard]] std::string Seen(const Variables& variables) const {
    const VariableLookup lookup = [&](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(std::string(name));
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    const HiddenGpus hidden = GpusHiddenBy(lookup, gpus_, devices_);
    EXPECT_EQ(hidden.devices.empty(), hidden.because.empty());
    std::string seen = hidden.doubt.empty() ? "" : "?";
    for (const MeasuredGpu& gpu : gpus_) {
      const bool is_hidden = std::count(hidden.devices.begin(), hidden.devices.end(), gpu.device) != 0;
      if (!is_hidden) seen += (seen.empty() || seen == "?" ? "" : ",") + std::to_string(gpu.device);
    }
    return seen;
  }
  [[nodiscard]] std::string Cuda(const std::string& value) const { return Seen({{"CUDA_VISIBLE_DEVICES", value}}); }

  const std::string kUuid = "GPU-5d0ca1e5-0000-4000-8000-00000000100";
  DeviceTable devices_;
  std::vector<MeasuredGpu> gpus_;
};

TEST_F(VisibleGpusTest, IndicesAreThoseOfCuda) {
  FourAlike();
  const std::pair<const char*, const char*> cases[] = {
      {"2", "2"},     {"3,1", "1,3"},     {" 1 , 2 ", "1,2"}, {"0,1,2,3", "0,1,2,3"}, {"", ""},
      {"-1", ""},     {"NoDevFiles", ""}, {"none", ""},       {"1,-1,2", "1"},        {"0,9,1", "0"},
      {"1,x,2", "1"}, {"1,1", ""},        {"2nd,+3", "2,3"},  {"1,,2", "1"},          {"99999999999999999999", ""},
  };
  for (const auto& [value, seen] : cases) EXPECT_EQ(Cuda(value), seen) << value;
  EXPECT_EQ(Seen({}), "0,1,2,3");
}

TEST_F(VisibleGpusTest, UuidsMayBeCutAsLongAsTheyAreOne) {
  FourAlike();
  EXPECT_EQ(Cuda(kUuid + "2"), "2");
  EXPECT_EQ(Cuda(kUuid + "3," + kUuid + "0"), "0,3");
  EXPECT_EQ(Cuda(kUuid), "");  // four begin so
  EXPECT_EQ(Cuda("GPU-ffff"), "");
  EXPECT_EQ(Cuda(kUuid + "1,GPU-ffff," + kUuid + "2"), "1");
  EXPECT_EQ(Cuda(kUuid + "1," + kUuid + "1"), "");
}

TEST_F(VisibleGpusTest, IndicesCountTheBusAndNotTheDriversList) {
  Board(GpuMaker::kNvidia, kUuid + "0", "00000000:C1:00.0", "H100");
  Board(GpuMaker::kNvidia, kUuid + "1", "00000000:41:00.0", "H100");
  EXPECT_EQ(Cuda("0"), "1");
  EXPECT_EQ(Cuda("1"), "0");
}

// Fastest first: which of two models that is, is CUDA's own affair.
TEST_F(VisibleGpusTest, AmongSeveralModelsIndicesNeedTheOrderOfTheBus) {
  Board(GpuMaker::kNvidia, kUuid + "0", "00000000:01:00.0", "A2");
  Board(GpuMaker::kNvidia, kUuid + "1", "00000000:02:00.0", "H100");
  EXPECT_EQ(Cuda("0"), "?0,1");
  EXPECT_EQ(Seen({{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}}), "?0,1");
  EXPECT_EQ(Seen({{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}), "0");
  EXPECT_EQ(Cuda("1,0"), "0,1");  // both, in whatever order
  EXPECT_EQ(Cuda("-1"), "");
  EXPECT_EQ(Cuda(kUuid + "1"), "1");
}

TEST_F(VisibleGpusTest, AMigInstanceIsSeenAlone) {
  Board(GpuMaker::kNvidia, kUuid + "0", "00000000:01:00.0", "H100");
  Board(GpuMaker::kNvidia, kUuid + "1", "00000000:02:00.0", "H100");
  Instance(kUuid + "1", "7", "MIG-aaaa0007");
  Instance(kUuid + "1", "9", "MIG-aaaa0009");
  EXPECT_EQ(Cuda("MIG-aaaa0009"), "3");
  EXPECT_EQ(Cuda("MIG-GPU-" + kUuid.substr(4) + "1/7/0"), "2");
  EXPECT_EQ(Cuda(kUuid + "0"), "0");
  EXPECT_EQ(Cuda(kUuid + "1"), "1,2,3");  // the board, and so its instances
  EXPECT_EQ(Cuda("MIG-bbbb"), "?0,1,2,3");
  EXPECT_EQ(Cuda("1"), "?0,1,2,3");
  EXPECT_EQ(Cuda(""), "");
}

// A GPU instance is one device by the names of all its compute instances.
TEST_F(VisibleGpusTest, AnyComputeInstanceNamesItsGpuInstance) {
  Board(GpuMaker::kNvidia, kUuid + "0", "00000000:01:00.0", "H100");
  Instance(kUuid + "0", "1", "MIG-aaaa0001");
  Instance(kUuid + "0", "2", "MIG-aaaa0002");
  gpus_[1].uuids.push_back("MIG-cccc0001");
  EXPECT_EQ(Cuda("MIG-aaaa0001"), "1");
  EXPECT_EQ(Cuda("MIG-cccc0001"), "1");
  EXPECT_EQ(Cuda("MIG-aaaa0001,MIG-cccc0001"), "1");
  EXPECT_EQ(Cuda("MIG-cccc0001,MIG-aaaa0002"), "1,2");
  EXPECT_EQ(Cuda("MIG-cccc0001,MIG-cccc0001"), "");  // one name twice hides all
  EXPECT_EQ(Cuda("MIG-dddd"), "?0,1,2");
}

// What of a board is not shown here is nobody's here; what is free on a board that is shown whole is its owner's.
TEST_F(VisibleGpusTest, ThePartOfABoardThatIsNotShownIsHidden) {
  Board(GpuMaker::kNvidia, kUuid + "0", "00000000:01:00.0", "H100");
  Board(GpuMaker::kNvidia, kUuid + "1", "00000000:02:00.0", "H100");
  Instance(kUuid + "1", "7", "MIG-aaaa0007");
  const std::vector<DeviceId> board = {gpus_[1].device};
  EXPECT_TRUE(NotShown(std::nullopt, false).devices.empty());
  EXPECT_EQ(NotShown(std::nullopt, true).devices, board);
  EXPECT_EQ(NotShown("MIG-aaaa0007", true).devices, board);
  EXPECT_EQ(NotShown("void", true).because, "the container: 1 of 7 compute slices are visible here");
  EXPECT_TRUE(NotShown("all", true).devices.empty());
  gpus_[1].in_part = true;  // whoever asks: the driver said so
  EXPECT_EQ(NotShown("all", false).devices, board);
  EXPECT_EQ(NotShown("all", false).because, "the driver: 1 of 7 compute slices are visible here");
  HiddenGpus unasked;
  HideWhatIsNotShown(nullptr, true, gpus_, devices_, &unasked);
  EXPECT_EQ(unasked.devices, board);
  gpus_[1].in_part = false;
  unasked = {};
  HideWhatIsNotShown(nullptr, true, gpus_, devices_, &unasked);
  EXPECT_TRUE(unasked.devices.empty());
  HiddenGpus twice = NotShown("void", true);
  HideWhatIsNotShown([](std::string_view) { return std::nullopt; }, true, gpus_, devices_, &twice);
  EXPECT_EQ(twice.devices, board);
  for (int i = 0; i < 6; ++i) Instance(kUuid + "1", std::to_string(8 + i), "MIG-aaaa000" + std::to_string(8 + i));
  EXPECT_TRUE(NotShown("void", true).devices.empty());  // all seven
}

TEST_F(VisibleGpusTest, RocmIsCertainOnlyByUuidAndOfAllOrNone) {
  for (const char* n : {"a", "b", "c"}) {
    Board(GpuMaker::kAmd, std::string("GPU-79ccd55167a2124") + n, std::string("0000:0") + n + ":00.0", "MI300X");
  }
  EXPECT_EQ(Seen({{"ROCR_VISIBLE_DEVICES", "GPU-79ccd55167a2124b"}}), "1");
  EXPECT_EQ(
      Seen({{"ROCR_VISIBLE_DEVICES", "GPU-79ccd55167a2124b,GPU-79ccd55167a2124c"}, {"HIP_VISIBLE_DEVICES", "0,1"}}),
      "1,2");
  EXPECT_EQ(Seen({{"HIP_VISIBLE_DEVICES", "-1"}}), "");
  EXPECT_EQ(Seen({{"HIP_VISIBLE_DEVICES", "2,1,0"}}), "0,1,2");
  EXPECT_EQ(Seen({{"HIP_VISIBLE_DEVICES", "1"}}), "?0,1,2");
  EXPECT_EQ(Cuda("1"), "?0,1,2");  // HIP heeds it too
  EXPECT_EQ(Seen({{"HIP_VISIBLE_DEVICES", "0,1,2"}, {"CUDA_VISIBLE_DEVICES", "1"}}), "0,1,2");
}

TEST_F(VisibleGpusTest, ARecordingTellsItToOthers) {
  FourAlike();
  Instance(kUuid + "3", "7", "MIG-aaaa0007");
  HiddenGpus hidden;
  hidden.devices = {1, 4};
  hidden.because = "CUDA_VISIBLE_DEVICES=0,2,3";
  hidden.doubt = "why not";
  std::map<std::string, std::string> facts;
  for (const RunFact& fact : hidden.Facts(devices_)) facts[fact.key] = fact.value;
  DeviceTable others;  // entered in another order
  for (const DeviceId id : {3U, 4U, 1U, 0U}) {
    const Device& d = devices_[id];
    others.Enter({d.uuid, d.bus_id, d.index, d.host, d.name, d.mig});
  }
  const HiddenGpus back = HiddenGpus::From(facts, others);
  ASSERT_EQ(back.devices.size(), 2U);
  EXPECT_TRUE(others[back.devices[0]].mig);
  EXPECT_EQ(others[back.devices[1]].uuid, devices_[1].uuid);
  EXPECT_EQ(back.because, hidden.because);
  EXPECT_EQ(back.doubt, hidden.doubt);
  EXPECT_TRUE(HiddenGpus::From({}, devices_).devices.empty());
}

}  // namespace

}  // namespace idleburn
