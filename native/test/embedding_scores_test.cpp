#include "../core/embed/embedding_scores.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support.h"

namespace facematch::testing {
namespace {

// Returns a pack with four centres along the first four axes. Their lengths differ, because only
// the direction may matter.
Pack cohort_pack(const TemporaryFolder& folder, int highest) {
  ByteVector bytes(size_t{4} * 8, 0);
  for (size_t i = 0; i < 4; ++i) bytes[i * 8 + i] = static_cast<uint8_t>(20 * (i + 1));
  write_file(folder.path() / "cohort.i8", bytes);
  Pack pack;
  pack.directory = folder.path().string();
  pack.embedder.dimensions = 8;
  pack.cohort = CohortSpec{.file = "cohort.i8", .centres = 4, .highest = highest};
  return pack;
}

const Embedding kFace = {0.8f, 0.6f, 0, 0, 0, 0, 0, 0};

const LinearSpec kLinear = {.file = "score.i8", .scale = 0.01f, .bias = 1.5f};

}  // namespace

TEST_SUITE_BEGIN("embedding_scores");

TEST_CASE(
    "computes the cohort score as the weighted mean of the highest cosines, the same on every "
    "CPU") {
  const TemporaryFolder folder;
  // 9 exceeds the number of centres.
  for (const auto& [highest, expected] : {std::pair{1, 0.8}, {2, 0.7}, {4, 0.35}, {9, 0.35}}) {
    Pack pack = cohort_pack(folder, highest);
    CAPTURE(highest);
    const Cohort cohort(pack);
    CHECK(cohort.score(kFace) == doctest::Approx(expected));
    CHECK(cohort.score(kFace) == cohort.score(kFace, true));
    pack.cohort->weight = 0.5f;
    CHECK(Cohort(pack).score(kFace) == doctest::Approx(expected / 2));
  }
  CHECK(Cohort(Pack()).score(kFace) == 0);
}

TEST_CASE(
    "computes a linear score as the scaled sum of signed bytes times the embedding, plus the "
    "bias") {
  const TemporaryFolder folder;
  write_file(folder.path() / kLinear.file, {100, 0x81, 0, 0});  // 0x81 is -127
  Pack pack;
  pack.directory = folder.path().string();
  pack.embedder.dimensions = 4;
  const LinearScore linear(pack, kLinear);
  CHECK(*linear.score({1, 0, 0, 0}) == doctest::Approx(2.5));
  CHECK(*linear.score({0, 1, 0, 0}) == doctest::Approx(0.23));
  CHECK(*linear.score({0, 0, 0.6f, 0.8f}) == doctest::Approx(1.5));
  CHECK(*linear.score({-0.6f, 0.8f, 0, 0}) == doctest::Approx(1.5 - 0.6 - 0.8 * 1.27));
  CHECK_FALSE(LinearScore(Pack(), std::nullopt).score({1, 0, 0, 0}).has_value());
}

TEST_SUITE_END();

}  // namespace facematch::testing
