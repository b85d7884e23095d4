#include "../core/tensor.h"

#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "drawing.h"

namespace facematch::testing {
namespace {

cv::Mat noise(int width, int height, int type) {
  Random random(static_cast<uint32_t>(width * 1000 + height));
  cv::Mat picture(height, width, type);
  for (int y = 0; y < height; ++y) {
    for (size_t i = 0; i < static_cast<size_t>(width) * picture.elemSize(); ++i)
      picture.ptr(y)[i] = random.byte();
  }
  return picture;
}

}  // namespace

TEST_SUITE_BEGIN("tensor");

TEST_CASE("each channel goes to its plane, normalised, whatever the width") {
  struct Case {
    Channels channels;
    std::array<int, 3> plane_of;  // of blue, green, red
  };
  const Case cases[] = {{Channels::kRgb, {2, 1, 0}}, {Channels::kBgr, {0, 1, 2}}};
  for (const Case& c : cases) {
    for (const int width : {1, 2, 7, 15, 16, 17, 31, 32, 33, 112, 320}) {
      const cv::Mat picture = noise(width, 5, CV_8UC3);
      const Normalisation normalisation = {c.channels, 127, 0.0078125f};
      std::vector<float> planes(static_cast<size_t>(3 * width * 5));
      fill_planes(picture, normalisation, width, 5, planes);
      float worst = 0;
      for (int y = 0; y < 5; ++y) {
        for (int x = 0; x < width; ++x) {
          for (int channel = 0; channel < 3; ++channel) {
            const int at = c.plane_of[static_cast<size_t>(channel)] * width * 5 + y * width + x;
            const float expected =
                (static_cast<float>(picture.at<cv::Vec3b>(y, x)[channel]) - 127) * 0.0078125f;
            worst = std::max(worst, std::abs(planes[static_cast<size_t>(at)] - expected));
          }
        }
      }
      CAPTURE(width);
      CHECK(worst < 1e-6f);
    }
  }
}

TEST_CASE("grey has one plane") {
  for (const int width : {1, 63, 64, 65}) {
    const cv::Mat picture = noise(width, 3, CV_8UC1);
    std::vector<float> plane(static_cast<size_t>(width * 3));
    fill_planes(picture, {Channels::kGrey, 10, 0.5f}, width, 3, plane);
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < width; ++x) {
        const float expected = (static_cast<float>(picture.at<uint8_t>(y, x)) - 10) * 0.5f;
        REQUIRE(plane[static_cast<size_t>(y * width + x)] == doctest::Approx(expected));
      }
    }
  }
}

TEST_CASE("a smaller picture fills the top left and leaves the rest as it was") {
  const cv::Mat white(2, 3, CV_8UC3, cv::Scalar::all(255));
  std::vector<float> planes(3 * 5 * 4, -9.0f);
  fill_planes(white, {Channels::kRgb, 0, 1.0f / 255}, 5, 4, planes);
  for (size_t i = 0; i < planes.size(); ++i) {
    const bool inside = i % 20 % 5 < 3 && i % 20 / 5 < 2;
    CAPTURE(i);
    CHECK(planes[i] == doctest::Approx(inside ? 1.0f : -9.0f));
  }
}

TEST_CASE("part of a larger picture is read by its own rows") {
  const cv::Mat whole = noise(90, 40, CV_8UC3);
  const cv::Mat part = whole(cv::Rect(13, 7, 41, 20));
  std::vector<float> from_part(size_t{3} * 41 * 20), from_copy(size_t{3} * 41 * 20);
  const Normalisation normalisation = {Channels::kRgb, 127, 1.0f / 128};
  fill_planes(part, normalisation, 41, 20, from_part);
  fill_planes(part.clone(), normalisation, 41, 20, from_copy);
  CHECK(from_part == from_copy);
}

TEST_CASE("mirrored planes are those of the mirrored picture") {
  const cv::Mat picture = noise(33, 9, CV_8UC3);
  cv::Mat flipped;
  cv::flip(picture, flipped, 1);
  std::vector<float> planes(size_t{3} * 33 * 9), expected(planes.size());
  const Normalisation normalisation = {Channels::kBgr, 127, 1.0f / 128};
  fill_planes(picture, normalisation, 33, 9, planes);
  fill_planes(flipped, normalisation, 33, 9, expected);
  mirror_planes(planes, 33);
  CHECK(planes == expected);
}

TEST_SUITE_END();

}  // namespace facematch::testing
