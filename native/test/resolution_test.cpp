#include "../core/find/resolution.h"

#include <doctest/doctest.h>

#include <array>

namespace facematch::testing {
namespace {

Pack pack_of(int width, int height, int chip) {
  Pack pack;
  pack.detector.width = width;
  pack.detector.height = height;
  pack.embedder.size = chip;
  return pack;
}

// 4000 x 3000, decoded at 1/8.
Image eighth() {
  Image image;
  image.bgr = cv::Mat(375, 500, CV_8UC3);
  image.width = 4000;
  image.height = 3000;
  image.scale = 0.125f;
  return image;
}

std::vector<Detection> faces_of(std::initializer_list<float> sides) {
  std::vector<Detection> faces;
  for (const float side : sides) {
    Detection face;
    face.box = {10, 10, side * 0.8f, side};
    faces.push_back(face);
  }
  return faces;
}

}  // namespace

TEST_SUITE_BEGIN("resolution");

TEST_CASE("the detector gets more pixels than the longer side of its frame") {
  CHECK(side_for_detector(pack_of(320, 240, 112)) == 480);
  CHECK(side_for_detector(pack_of(240, 640, 112)) == 960);
}

TEST_CASE("a large face needs no finer copy") {
  CHECK(side_for_faces(pack_of(320, 240, 100), eighth(), faces_of({120})) == 500);
  CHECK(side_for_faces(pack_of(320, 240, 100), eighth(), faces_of({400})) == 500);
  CHECK(side_for_faces(pack_of(320, 240, 100), eighth(), {}) == 500);
}

TEST_CASE("a small face needs a finer copy, and the smallest decides") {
  CHECK(side_for_faces(pack_of(320, 240, 100), eighth(), faces_of({60})) == 1000);
  CHECK(side_for_faces(pack_of(320, 240, 100), eighth(), faces_of({300, 30, 60})) == 2000);
}

TEST_CASE("no face needs more pixels than the full picture has") {
  for (const float side : std::array{10.0f, 1.0f, 0.0f}) {
    CHECK(side_for_faces(pack_of(320, 240, 100), eighth(), faces_of({side})) == 4000);
  }
}

TEST_CASE("a candidate's box and points are scaled together") {
  Candidate candidate;
  candidate.detection.box = {1, 2, 3, 4};
  candidate.detection.score = 0.5f;
  candidate.points.fill({5, 6});
  candidate.instability = 0.25f;
  const Candidate twice = scaled(candidate, 2);
  CHECK(twice.detection.box.x == 2);
  CHECK(twice.detection.box.y == 4);
  CHECK(twice.detection.box.width == 6);
  CHECK(twice.detection.box.height == 8);
  CHECK(twice.detection.score == 0.5f);
  CHECK(twice.points.back() == Point(10, 12));
  CHECK(twice.instability == 0.25f);
}

TEST_SUITE_END();

}  // namespace facematch::testing
