#include "owners/slurm_owners.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

// Four GPUs of which the driver numbers /dev/nvidia2 as index 0, and the bus has yet another order.
std::vector<NodeGpu> FourGpus() {
  return {{"GPU-a", 0, "00000000:3B:00.0", 2, "", {}},
          {"GPU-b", 1, "00000000:1A:00.0", 3, "", {}},
          {"GPU-c", 2, "00000000:D8:00.0", 0, "", {}},
          {"GPU-d", 3, "00000000:5E:00.0", 1, "", {}}};
}

SlurmJob JobOf(const std::string& id, std::int64_t start, const std::string& gres) {
  SlurmJob job;
  job.id = job.raw_id = id;
  job.cluster = "c";
  job.user = "u" + id;
  job.start = Instant::FromNanos(start * kNanosPerSecond);
  job.gres = *ParseGres(gres);
  return job;
}

SlurmNode NodeOf(const std::string& has, const std::string& used) { return {*ParseGres(has), *ParseGres(used)}; }

std::string Shown(const SourceAnswer& answer) {
  std::string text;
  for (const OwnerClaim& claim : answer.claims) {
    const Holding& h = claim.holding;
    text += h.owner.job + "=" + h.uuid + " " + std::to_string(h.part) + "/" + std::to_string(h.parts) + " " +
            std::string(kOwnerProofNames[static_cast<std::size_t>(h.proof)]) + "\n";
  }
  return text;
}

TEST(SlurmOwnersTest, MapsIndexesByMinorNumberOrByBus) {
  const SlurmQueue queue{{JobOf("1", 5, "gpu:h100:2(IDX:0-1)")}, false, {}};
  const SlurmNode node = NodeOf("gpu:4", "gpu:2(IDX:0-1)");
  EXPECT_EQ(Shown(SlurmOwners().Update(queue, node, GresOrder::kMinor, FourGpus())),
            "1=GPU-c 1/1 scheduler\n1=GPU-d 1/1 scheduler\n");
  EXPECT_EQ(Shown(SlurmOwners().Update(queue, node, GresOrder::kPci, FourGpus())),
            "1=GPU-b 1/1 scheduler\n1=GPU-a 1/1 scheduler\n");
}

TEST(SlurmOwnersTest, EstimatesSharesOfAGpu) {
  const SlurmQueue queue{
      {JobOf("1", 5, "shard:3(IDX:0)"), JobOf("2", 6, "shard:1(IDX:0)"), JobOf("3", 7, "shard:4(IDX:1-2)")}, false, {}};
  const SlurmNode node = NodeOf("gpu:h100:4,shard:16", "shard:h100:3(IDX:0-2)");
  EXPECT_EQ(Shown(SlurmOwners().Update(queue, node, GresOrder::kMinor, FourGpus())),
            "1=GPU-c 3/4 estimated\n2=GPU-c 1/4 estimated\n3=GPU-d 4/8 estimated\n3=GPU-a 4/8 estimated\n");
  // Without a configured number of shares each job has an equal part.
  EXPECT_EQ(Shown(SlurmOwners().Update(queue, NodeOf("gpu:4,shard:15", ""), GresOrder::kMinor, FourGpus())),
            "1=GPU-c 1/2 estimated\n2=GPU-c 1/2 estimated\n3=GPU-d 1/1 estimated\n3=GPU-a 1/1 estimated\n");
  // The newer form tells the shares of each device.
  const SlurmQueue newer{{JobOf("4", 5, "shard:3(1/4,2/4)")}, false, {}};
  EXPECT_EQ(Shown(SlurmOwners().Update(newer, node, GresOrder::kMinor, FourGpus())),
            "4=GPU-c 1/4 estimated\n4=GPU-d 2/4 estimated\n");
}

TEST(SlurmOwnersTest, NamesGpusOfHiddenJobs) {
  const SlurmQueue queue{{JobOf("1", 5, "gpu:1(IDX:0)")}, false, {}};
  const SlurmNode node = NodeOf("gpu:4", "gpu:3(IDX:0,2-3)");
  const SourceAnswer answer = SlurmOwners().Update(queue, node, GresOrder::kMinor, FourGpus());
  EXPECT_EQ(answer.unknown, (std::vector<std::string>{"GPU-a", "GPU-b"}));
  EXPECT_TRUE(answer.complete);
  ASSERT_EQ(answer.errors.size(), 1U);
  EXPECT_NE(answer.errors[0].find("PrivateData"), std::string::npos);
  // A job in its epilog explains why the node calls a GPU used.
  const SlurmQueue completing{queue.jobs, true, {}};
  EXPECT_TRUE(SlurmOwners().Update(completing, node, GresOrder::kMinor, FourGpus()).unknown.empty());
}

TEST(SlurmOwnersTest, TellsEndsByNumberAndStart) {
  SlurmOwners owners;
  const SlurmNode node = NodeOf("gpu:4", "");
  const auto update = [&](std::vector<SlurmJob> jobs, std::vector<std::string> faults = {}) {
    return owners.Update({std::move(jobs), true, std::move(faults)}, node, GresOrder::kMinor, FourGpus());
  };
  EXPECT_TRUE(update({JobOf("1", 5, "gpu:1(IDX:0)"), JobOf("2", 5, "gpu:1(IDX:1)")}).ended.empty());
  // A job that cannot be read has not ended.
  const SourceAnswer faulty = update({JobOf("2", 5, "gpu:1(IDX:1)")}, {"job 1 has no start time"});
  EXPECT_TRUE(faulty.ended.empty());
  EXPECT_FALSE(faulty.complete);
  EXPECT_EQ(faulty.errors, std::vector<std::string>{"slurm: job 1 has no start time"});
  const SourceAnswer requeued = update({JobOf("1", 9, "gpu:1(IDX:0)"), JobOf("2", 5, "gpu:1(IDX:1)")});
  ASSERT_EQ(requeued.ended.size(), 1U);
  EXPECT_EQ(requeued.ended[0].start, Instant::FromNanos(5 * kNanosPerSecond));
  EXPECT_EQ(update({}).ended.size(), 2U);
  EXPECT_TRUE(update({}).ended.empty());
}

TEST(SlurmOwnersTest, IsIncompleteWhereADeviceIsNotFound) {
  const SlurmNode node = NodeOf("gpu:8", "");
  const auto answer = [&](const std::string& gres, const std::vector<NodeGpu>& gpus, GresOrder order) {
    return SlurmOwners().Update({{JobOf("1", 5, gres)}, false, {}}, node, order, gpus);
  };
  EXPECT_FALSE(answer("gpu:1(IDX:7)", FourGpus(), GresOrder::kMinor).complete);
  EXPECT_FALSE(answer("gpu:1", FourGpus(), GresOrder::kMinor).complete);
  // A GPU that is cut into instances, and the order of instances, are not guessed.
  std::vector<NodeGpu> cut = FourGpus();
  cut.push_back({"MIG-1", 2, "00000000:D8:00.0", {}, "GPU-c", 3});
  EXPECT_FALSE(answer("gpu:1(IDX:0)", cut, GresOrder::kMinor).complete);
  EXPECT_TRUE(answer("gpu:1(IDX:1)", cut, GresOrder::kMinor).complete);
  EXPECT_FALSE(answer("gpu:1(IDX:1)", cut, GresOrder::kPci).complete);
  const SourceAnswer lost = answer("gpu:1(IDX:7)", FourGpus(), GresOrder::kMinor);
  EXPECT_EQ(lost.errors[0], "slurm: job 1 holds device 7, which is no whole GPU here; check the order of gres.conf");
}

}  // namespace
}  // namespace idleburn
