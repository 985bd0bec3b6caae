// `idleburn audit` of a memory snapshot of PyTorch, as a user runs it. Pickles are written by Python, and Python itself
// computes what must be read from them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/documented_keys.h"
#include "support/pickled.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// Simulates an allocator at random and writes snap2.pickle to snap5.pickle, one a protocol, and expected.json. Then it
// loads each pickle again, so what is compared is what Python reads.
constexpr const char* kSimulation = R"py(
import json, pickle, random
random.seed(7)
GIB = 1 << 30
torch = "/venv/lib/python3.11/site-packages/torch/nn/functional.py"
stacks = [[{"filename": torch, "line": 9, "name": "f"}, {"filename": "/srv/u/%s.py" % n, "line": i + 1, "name": "g"}]
          for i, n in enumerate(["train", "model", "loss"])] + [[]]
held, events = {}, []
for i in range(400):
    addr = 140000000000000 + random.randrange(30) * GIB
    base = {"addr": addr, "stream": 0, "time_us": i}
    if addr in held:
        size, frames = held.pop(addr)
        for action in ("free_requested", "free_completed"):
            events.append({**base, "action": action, "size": size, "frames": frames})
        events.append({**base, "action": "segment_free", "size": GIB, "frames": []})
    else:
        size, frames = random.randrange(1, GIB), random.choice(stacks)
        events.append({**base, "action": "segment_alloc", "size": GIB, "frames": []})
        events.append({**base, "action": "alloc", "size": size, "frames": frames})
        held[addr] = (size, frames)
events.append({"action": "oom", "device_free": 5 * GIB, "size": 60 * GIB, "stream": 0, "frames": [], "time_us": 999})
segments = [{"device": 0, "address": a, "total_size": GIB, "allocated_size": s, "active_size": s, "stream": 0,
             "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
             "blocks": [{"address": a, "size": GIB, "requested_size": s, "state": "active_allocated", "frames": f}]}
            for a, (s, f) in held.items()]
snapshot = {"segments": segments, "device_traces": [events, []],
            "allocator_settings": {"expandable_segments": False, "garbage_collection_threshold": 0.5,
                                   "PYTORCH_CUDA_ALLOC_CONF": ""}}
def site(frames):
    return next((f["filename"] + ":" + str(f["line"]) for f in frames if "/torch/" not in f["filename"]), None)
def computed(data):
    live, reserved, best, most_reserved = {}, 0, None, 0
    for e in data["device_traces"][0]:
        if e["action"] == "alloc": live[e["addr"]] = e
        if e["action"] == "free_requested": del live[e["addr"]]
        reserved += {"segment_alloc": 1, "segment_free": -1}.get(e["action"], 0) * e["size"]
        most_reserved = max(most_reserved, reserved)
        total = sum(x["size"] for x in live.values())
        if best is None or total > best["allocated"]:
            sites = {}
            for x in live.values(): sites[str(site(x["frames"]))] = sites.get(str(site(x["frames"])), 0) + x["size"]
            best = {"allocated": total, "then": reserved, "sites": sites}
    now = sum(b["requested_size"] for s in data["segments"] for b in s["blocks"])
    return {**best, "reserved": most_reserved, "now": now}
for protocol in range(2, 6):
    pickle.dump(snapshot, open("snap%d.pickle" % protocol, "wb"), protocol)
read = [computed(pickle.load(open("snap%d.pickle" % p, "rb"))) for p in range(2, 6)]
assert all(r == read[0] for r in read)
json.dump(read[0], open("expected.json", "w"))
)py";

json MemoryJson(const std::string& file) {
  const ProgramRun run = RunIdleburn("audit --format json " + file);
  EXPECT_EQ(run.code, 0) << run.err;
  return json::parse(run.out, nullptr, false);
}

class MemorySnapshotFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string without = WithoutPrograms({"python3"}); !without.empty()) GTEST_SKIP() << without;
  }
  void Python(const std::string& script) const {
    const std::string file = folder_.Write("made.py", script);
    MustRunTool("cd " + folder_.path().string() + " && python3 " + file);
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  TempFolder folder_;
};

TEST_F(MemorySnapshotFiles, FiguresAreThoseThatPythonComputes) {
  Python(kSimulation);
  const json expected = json::parse(ReadText(Path("expected.json")));
  for (const std::string protocol : {"2", "3", "4", "5"}) {
    const json document = MemoryJson(Path("snap" + protocol + ".pickle"));
    EXPECT_EQ(document["schema"], "idleburn.memory/1");
    EXPECT_EQ(document["expandable_segments"], false);
    ASSERT_EQ(document["gpus"].size(), 1U);
    const json& peak = document["gpus"][0]["peak"];
    EXPECT_EQ(peak["exact"], true);
    EXPECT_EQ(peak["allocated_bytes"], expected["allocated"]);
    EXPECT_EQ(peak["reserved_bytes"], expected["reserved"]);
    EXPECT_EQ(peak["reserved_then_bytes"], expected["then"]);
    EXPECT_EQ(document["gpus"][0]["now"]["allocated_bytes"], expected["now"]);
    ASSERT_EQ(peak["holders"].size(), expected["sites"].size());
    for (const json& holder : peak["holders"]) {
      const std::string site = holder["site"].is_null() ? "None" : holder["site"].get<std::string>();
      EXPECT_EQ(holder["bytes"], expected["sites"][site]) << site;
    }
    const json& failed = document["gpus"][0]["out_of_memory"][0];
    EXPECT_EQ(failed["asked_bytes"], 60LL << 30);
    EXPECT_EQ(failed["device_free_bytes"], 5LL << 30);
  }
  Python(
      "import pickle\nb = {'size': 8, 'state': 'active_allocated'}\n"
      "pickle.dump([{'device': 0, 'total_size': 8, 'blocks': [b]}], open('no_trace.pickle', 'wb'))\n"
      "e = {'action': 'alloc', 'addr': 1, 'size': 8, 'stream': 0, 'frames': []}\n"
      "pickle.dump({'device_traces': [[e]]}, open('no_segments.pickle', 'wb'))\n");
  std::vector<std::string> documents;
  for (const char* name : {"snap4", "no_trace", "no_segments"}) {
    documents.push_back(MemoryJson(Path(std::string(name) + ".pickle")).dump());
  }
  test::ExpectDocumented("idleburn.memory/1", documents);
  const std::string text = Unwrapped(RunIdleburn("audit " + Path("snap4.pickle")).out);
  EXPECT_EQ(text.find("GPU 0 ran out of memory once: 60 GiB asked, 5 GiB free on the device. GPU 0 peaked at "), 0U)
      << text;
}

TEST_F(MemorySnapshotFiles, APickleThatRunsACommandIsRefusedAndNothingRan) {
  Python("import os, pickle\nclass Evil:\n  def __reduce__(self): return os.system, ('touch " + Path("ran") +
         "',)\nfor p in range(2, 6): pickle.dump({'segments': [Evil()]}, open('evil%d.pickle' % p, 'wb'), p)\n");
  for (const std::string protocol : {"2", "3", "4", "5"}) {
    const ProgramRun run = RunIdleburn("audit " + Path("evil" + protocol + ".pickle"));
    EXPECT_EQ(run.code, 1);
    EXPECT_NE(run.err.find("GLOBAL at byte "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("nothing was run"), std::string::npos) << run.err;
  }
  EXPECT_FALSE(std::filesystem::exists(Path("ran")));
}

TEST_F(MemorySnapshotFiles, FilesThatLackSomethingSayWhat) {
  Python(
      "import pickle\npickle.dump({'segments': []}, open('a.pickle', 'wb'))\n"
      "pickle.dump([1, 2], open('b.pickle', 'wb'))\n"
      "b = {'size': 8, 'state': 'active_allocated'}\n"
      "pickle.dump([{'device': 0, 'total_size': 8, 'blocks': [b]}], open('c.pickle', 'wb'))\n");
  EXPECT_NE(RunIdleburn("audit " + Path("a.pickle")).out.find("holds no GPU memory"), std::string::npos);
  EXPECT_NE(RunIdleburn("audit " + Path("b.pickle")).err.find("segments[0]: has no total_size"), std::string::npos);
  const std::string bare = Unwrapped(RunIdleburn("audit " + Path("c.pickle")).out);
  EXPECT_NE(bare.find("its peak is unknown"), std::string::npos) << bare;
  EXPECT_NE(bare.find("The file has no device_traces"), std::string::npos) << bare;
}

TEST(MemorySnapshotCommand, StandsAloneAndTakesNoFlagsOfAnAudit) {
  const TempFolder folder;
  const std::string file = folder.Write("a.pickle", test::PickledSnapshot({}, {}));
  const ProgramRun two = RunIdleburn("audit " + file + " " + file);
  EXPECT_EQ(two.code, 2);
  EXPECT_NE(two.err.find("without other files"), std::string::npos) << two.err;
  const ProgramRun gate = RunIdleburn("audit --fail-on 'waste>5' " + file);
  EXPECT_EQ(gate.code, 2);
  EXPECT_NE(gate.err.find("--fail-on has no meaning for a memory snapshot"), std::string::npos) << gate.err;
}

}  // namespace
}  // namespace idleburn::testing
