#include "../core/cohort.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support.h"

namespace facematch::testing {
namespace {

// Four centres along the first four axes, of different lengths: only their direction may count.
Pack pack_in(const TemporaryFolder& folder, int highest, size_t rows = 4) {
  ByteVector bytes(rows * 8, 0);
  for (size_t i = 0; i < rows; ++i) bytes[i * 8 + i] = static_cast<uint8_t>(20 * (i + 1));
  write_file(folder.path() / "cohort.i8", bytes);
  Pack pack;
  pack.directory = folder.path().string();
  pack.embedder.dimensions = 8;
  pack.cohort = CohortSpec{.file = "cohort.i8", .centres = 4, .highest = highest};
  return pack;
}

const Embedding kFace = {0.8f, 0.6f, 0, 0, 0, 0, 0, 0};

}  // namespace

TEST_SUITE_BEGIN("cohort");

TEST_CASE("the score is the mean of the highest cosines with the centres") {
  const TemporaryFolder folder;
  CHECK(Cohort(pack_in(folder, 1)).score(kFace) == doctest::Approx(0.8));
  CHECK(Cohort(pack_in(folder, 2)).score(kFace) == doctest::Approx(0.7));
  CHECK(Cohort(pack_in(folder, 4)).score(kFace) == doctest::Approx(0.35));
}

TEST_CASE("the score weighs that mean and the spread of the cosines with all centres") {
  const TemporaryFolder folder;
  const auto score = [&](int highest, float highest_weight, float spread_weight) {
    Pack pack = pack_in(folder, highest);
    pack.cohort->highest_weight = highest_weight;
    pack.cohort->spread_weight = spread_weight;
    return Cohort(pack).score(kFace);
  };
  // Of 0.8, 0.6, 0 and 0: mean 0.35, mean square 0.25.
  const double spread = std::sqrt(0.25 - 0.35 * 0.35);
  for (const int highest : {1, 2, 4}) CHECK(score(highest, 0, 1) == doctest::Approx(spread));
  CHECK(score(2, 0.5f, 0) == doctest::Approx(0.35));
  CHECK(score(2, 0.5f, 2) == doctest::Approx(0.35 + 2 * spread));
  CHECK(score(2, 0, 0) == 0);
}

TEST_CASE("a single centre has no spread") {
  const TemporaryFolder folder;
  Pack pack = pack_in(folder, 1, 1);
  pack.cohort->centres = 1;
  pack.cohort->spread_weight = 5;
  CHECK(Cohort(pack).score(kFace) == doctest::Approx(0.8));
}

TEST_CASE("more centres than there are cannot be averaged") {
  const TemporaryFolder folder;
  CHECK(Cohort(pack_in(folder, 9)).score(kFace) == doctest::Approx(0.35));
}

TEST_CASE("stored bytes are signed") {
  const TemporaryFolder folder;
  const Pack pack = pack_in(folder, 1);
  ByteVector bytes(32, 0);
  for (size_t i = 0; i < 4; ++i) bytes[i * 8] = 0x81;  // -127
  write_file(folder.path() / "cohort.i8", bytes);
  CHECK(Cohort(pack).score(kFace) == doctest::Approx(-0.8));
}

TEST_CASE("a pack without a cohort subtracts nothing") { CHECK(Cohort(Pack()).score(kFace) == 0); }

TEST_CASE("a file of another size than the manifest's is refused") {
  const TemporaryFolder folder;
  for (const size_t rows : {size_t{3}, size_t{5}}) {
    CHECK(refuses_with(ErrorCode::kInternalError, [&] { Cohort(pack_in(folder, 1, rows)); }));
  }
  const Pack pack = pack_in(folder, 1);
  std::filesystem::remove(folder.path() / "cohort.i8");
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { Cohort{pack}; }));
}

TEST_SUITE_END();

}  // namespace facematch::testing
