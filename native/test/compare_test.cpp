#include "../core/compare.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support.h"

namespace facematch::testing {
namespace {

Embedding unit(float degrees) {
  const float radians = degrees * 3.14159265f / 180;
  Embedding embedding(512, 0.0f);
  embedding[3] = std::cos(radians);
  embedding[509] = std::sin(radians);
  return embedding;
}

}  // namespace

TEST_SUITE_BEGIN("compare");

TEST_CASE("the cosine is that of the angle between the vectors") {
  for (const float degrees : {0.0f, 30.0f, 60.0f, 90.0f, 135.0f, 180.0f}) {
    CAPTURE(degrees);
    CHECK(cosine(unit(0), unit(degrees)) == doctest::Approx(std::cos(degrees * 3.14159265 / 180)));
    CHECK(cosine(unit(degrees), unit(0)) == cosine(unit(0), unit(degrees)));
  }
}

TEST_CASE("rounding never takes a cosine out of -1 to 1") {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    Embedding vector(512);
    float sum = 0;
    for (float& v : vector) {
      v = random.between(-1, 1);
      sum += v * v;
    }
    Embedding opposite(512);
    for (size_t i = 0; i < vector.size(); ++i) {
      vector[i] *= 1.000001f / std::sqrt(sum);
      opposite[i] = -vector[i];
    }
    CHECK(cosine(vector, vector) <= 1);
    CHECK(cosine(vector, vector) > 0.9999f);
    CHECK(cosine(vector, opposite) >= -1);
  }
}

TEST_CASE("every face is compared with every other picture's face, best pair first") {
  const std::vector<Pair> pairs =
      compare_all({{unit(0)}, {unit(50)}}, {{unit(90)}, {unit(38)}, {unit(10)}});
  REQUIRE(pairs.size() == 6);
  CHECK(pairs[0].image1_face_index == 0);  // 10 degrees apart; the next 12
  CHECK(pairs[0].image2_face_index == 2);
  CHECK(pairs[1].image1_face_index == 1);
  CHECK(pairs[1].image2_face_index == 1);
  CHECK(pairs[5].image1_face_index == 0);
  CHECK(pairs[5].image2_face_index == 0);
  for (size_t i = 1; i < pairs.size(); ++i) {
    CHECK(pairs[i - 1].normalised_similarity >= pairs[i].normalised_similarity);
  }
}

TEST_CASE("a face without an embedding takes no part, but keeps its index") {
  const std::vector<Pair> pairs = compare_all({{}, {unit(0)}}, {{unit(0)}, {}});
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].image1_face_index == 1);
  CHECK(pairs[0].image2_face_index == 0);
}

TEST_CASE("without faces there are no pairs") {
  CHECK(compare_all({}, {{unit(0)}}).empty());
  CHECK(compare_all({{unit(0)}}, {}).empty());
  CHECK(compare_all({Comparable{}}, {Comparable{}}).empty());
}

TEST_SUITE_END();

}  // namespace facematch::testing
