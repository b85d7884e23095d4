#include "../core/tensor.h"

#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>

#include "drawing.h"

namespace facematch::testing {
TEST_SUITE_BEGIN("tensor");

TEST_CASE("each channel goes to its plane, normalised, whatever the width") {
  struct Case {
    Channels channels;
    std::array<int, 3> plane_of;  // of blue, green, red
  };
  const Case cases[] = {{Channels::kRgb, {2, 1, 0}}, {Channels::kBgr, {0, 1, 2}}};
  for (const Case& c : cases) {
    for (const int width : {1, 2, 7, 15, 16, 17, 31, 32, 33, 112, 320}) {
      const cv::Mat picture = grain(width, 5, CV_8UC3);
      const Normalisation normalisation = {c.channels, 127, 0.0078125f};
      std::vector<float> planes(static_cast<size_t>(3 * width * 5));
      fill_planes(picture, normalisation, planes);
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
    const cv::Mat picture = grain(width, 3, CV_8UC1);
    std::vector<float> plane(static_cast<size_t>(width * 3));
    fill_planes(picture, {Channels::kGrey, 10, 0.5f}, plane);
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < width; ++x) {
        const float expected = (static_cast<float>(picture.at<uint8_t>(y, x)) - 10) * 0.5f;
        REQUIRE(plane[static_cast<size_t>(y * width + x)] == doctest::Approx(expected));
      }
    }
  }
}

TEST_CASE("part of a larger picture is read by its own rows") {
  const cv::Mat whole = grain(90, 40, CV_8UC3);
  const cv::Mat part = whole(cv::Rect(13, 7, 41, 20));
  std::vector<float> from_part(size_t{3} * 41 * 20), from_copy(size_t{3} * 41 * 20);
  const Normalisation normalisation = {Channels::kRgb, 127, 1.0f / 128};
  fill_planes(part, normalisation, from_part);
  fill_planes(part.clone(), normalisation, from_copy);
  CHECK(from_part == from_copy);
}

TEST_CASE("mirrored planes are those of the mirrored picture") {
  const cv::Mat picture = grain(33, 9, CV_8UC3);
  cv::Mat flipped;
  cv::flip(picture, flipped, 1);
  std::vector<float> planes(size_t{3} * 33 * 9), expected(planes.size());
  const Normalisation normalisation = {Channels::kBgr, 127, 1.0f / 128};
  fill_planes(picture, normalisation, planes);
  fill_planes(flipped, normalisation, expected);
  mirror_planes(planes, 33);
  CHECK(planes == expected);
}

TEST_SUITE_END();

}  // namespace facematch::testing
