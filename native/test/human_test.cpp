#include "../core/human.h"

#include <doctest/doctest.h>

#include "support.h"

namespace facematch::testing {
namespace {

const ByteVector kWeights = {100, 0x81, 0, 0};  // 0x81 is -127

Pack pack_in(const TemporaryFolder& folder, const ByteVector& weights = kWeights) {
  write_file(folder.path() / "human.i8", weights);
  Pack pack;
  pack.directory = folder.path().string();
  pack.embedder.dimensions = 4;
  pack.human = HumanSpec{.file = "human.i8", .scale = 0.01f, .bias = 1.5f, .bar = -1};
  return pack;
}

}  // namespace

TEST_SUITE_BEGIN("human");

TEST_CASE("the score is the scaled sum of signed bytes times the embedding, and the bias") {
  const TemporaryFolder folder;
  const HumanCheck check(pack_in(folder));
  CHECK(*check.score({1, 0, 0, 0}) == doctest::Approx(2.5));
  CHECK(*check.score({0, 1, 0, 0}) == doctest::Approx(0.23));
  CHECK(*check.score({0, 0, 0.6f, 0.8f}) == doctest::Approx(1.5));
  CHECK(*check.score({-0.6f, 0.8f, 0, 0}) == doctest::Approx(1.5 - 0.6 - 0.8 * 1.27));
}

TEST_CASE("a score at the bar passes, one below it does not") {
  const TemporaryFolder folder;
  const HumanCheck check(pack_in(folder));
  CHECK(check.passes(-0.9f));
  CHECK(check.passes(-1));
  CHECK_FALSE(check.passes(-1.001f));
}

TEST_CASE("a pack without a check scores nothing and passes everything") {
  const HumanCheck check{Pack()};
  CHECK_FALSE(check.score({1, 0, 0, 0}).has_value());
  CHECK(check.passes(-1e30f));
}

TEST_CASE("a file of another size than the embedding's is refused") {
  const TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{3}, size_t{5}}) {
    const Pack pack = pack_in(folder, ByteVector(size, 1));
    CHECK(refuses_with(ErrorCode::kInternalError, [&] { HumanCheck{pack}; }));
  }
  const Pack pack = pack_in(folder);
  std::filesystem::remove(folder.path() / "human.i8");
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { HumanCheck{pack}; }));
}

TEST_SUITE_END();

}  // namespace facematch::testing
