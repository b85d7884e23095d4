#include "../core/runtime/net_input.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "drawing.h"

namespace facematch::testing {
namespace {

const Normalisation kBytes = {Channels::kBgr, {}, 1};

struct Boxed {
  cv::Size size;
  std::vector<float> planes;

  float at(int channel, int x, int y, cv::Size frame) const {
    return planes[static_cast<size_t>((channel * frame.height + y) * frame.width + x)];
  }
};

Boxed boxed(const cv::Mat& image, const Normalisation& normalisation, cv::Size frame) {
  Boxed out;
  out.planes.assign(static_cast<size_t>(3 * frame.area()), -999.0f);
  out.size = size_within(image.size(), frame);
  letterbox(image, normalisation, out.size, frame, out.planes);
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("net_input");

TEST_CASE("letterbox() resizes like OpenCV, except for rounding, and fills the rest with black") {
  const cv::Size frame(32, 24);
  // Sizes include larger and smaller ones, the frame's own, wide and tall ones, and sides that
  // shrink to less than a pixel.
  const cv::Size sizes[] = {{33, 25}, {40, 40},  {250, 250}, {320, 240}, {500, 7},
                            {7, 500}, {31, 9},   {32, 24},   {16, 12},   {3, 2},
                            {1, 1},   {900, 10}, {1, 24},    {2, 1}};
  for (const cv::Size& from : sizes) {
    const cv::Mat image = grain(from.width, from.height, CV_8UC3);
    const Boxed ours = boxed(image, kBytes, frame);
    const bool shrinks = from.width > frame.width || from.height > frame.height;
    cv::Mat theirs;
    cv::resize(image, theirs, ours.size, 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
    CAPTURE(from);
    CHECK(std::max(ours.size.width * 24, ours.size.height * 32) == 32 * 24);
    float worst = 0, beside = 0;
    for (int channel = 0; channel < 3; ++channel) {
      for (int y = 0; y < frame.height; ++y) {
        for (int x = 0; x < frame.width; ++x) {
          const float value = ours.at(channel, x, y, frame);
          if (x < ours.size.width && y < ours.size.height) {
            const float expected = theirs.at<cv::Vec3b>(y, x)[channel];
            worst = std::max(worst, std::abs(value - expected));
          } else {
            beside = std::max(beside, std::abs(value));
          }
        }
      }
    }
    // Allows half a level for rounding, and more for OpenCV's bilinear weights, which are integers.
    CHECK(worst <= (shrinks ? 0.55f : 0.8f));
    CHECK(beside == 0);
  }
}

TEST_CASE("writes each channel to its plane, normalised, for any width, and grey to one plane") {
  struct Case {
    Channels channels;
    std::vector<int> plane_of;  // blue, green, red
  };
  const Case cases[] = {
      {Channels::kRgb, {2, 1, 0}}, {Channels::kBgr, {0, 1, 2}}, {Channels::kGrey, {0}}};
  for (const Case& c : cases) {
    const int count = static_cast<int>(c.plane_of.size());
    for (const int width : {1, 2, 7, 15, 16, 17, 31, 32, 33, 112, 320}) {
      const cv::Mat image = grain(width, 5, CV_8UC(count));
      std::vector<float> planes(static_cast<size_t>(count * width * 5));
      fill_planes(image, {c.channels, {127, 127, 127}, 0.0078125f}, planes);
      float worst = 0;
      for (int i = 0; i < width * 5; ++i) {
        for (int channel = 0; channel < count; ++channel) {
          const int at = c.plane_of[static_cast<size_t>(channel)] * width * 5 + i;
          const float byte = image.data[i * count + channel];
          const float expected = (byte - 127) * 0.0078125f;
          worst = std::max(worst, std::abs(planes[static_cast<size_t>(at)] - expected));
        }
      }
      CAPTURE(width);
      CHECK(worst < 1e-6f);
    }
  }
}

TEST_CASE("reads a part of a larger image by its own rows") {
  const cv::Mat part = grain(90, 40, CV_8UC3)(cv::Rect(13, 7, 41, 20));
  const cv::Size frame(32, 24);
  CHECK(boxed(part, kBytes, frame).planes == boxed(part.clone(), kBytes, frame).planes);
  std::vector<float> from_part(size_t{3} * 41 * 20), from_copy(from_part.size());
  fill_planes(part, kBytes, from_part);
  fill_planes(part.clone(), kBytes, from_copy);
  CHECK(from_part == from_copy);
}

TEST_CASE("mirrors planes to those of the mirrored image") {
  const cv::Mat image = grain(33, 9, CV_8UC3);
  cv::Mat flipped;
  cv::flip(image, flipped, 1);
  std::vector<float> planes(size_t{3} * 33 * 9), expected(planes.size());
  fill_planes(image, kBytes, planes);
  fill_planes(flipped, kBytes, expected);
  mirror_planes(planes, 33);
  CHECK(planes == expected);
}

TEST_CASE("subtracts a separate mean from each plane, in the order of the planes") {
  const cv::Mat image(4, 4, CV_8UC3, cv::Scalar(10, 20, 30));
  const cv::Size frame(6, 6);
  for (const Channels channels : {Channels::kBgr, Channels::kRgb}) {
    const Normalisation normalisation = {channels, {1, 2, 3}, 0.5f};
    std::vector<float> planes(3 * 16), boxed(3 * 36);
    fill_planes(image, normalisation, planes);
    letterbox(image, normalisation, {4, 4}, frame, boxed);
    for (int plane = 0; plane < 3; ++plane) {
      CAPTURE(plane);
      const int byte = 10 * (channels == Channels::kBgr ? plane + 1 : 3 - plane);
      const float mean = static_cast<float>(plane + 1);
      const float value = (static_cast<float>(byte) - mean) / 2;
      CHECK(planes[static_cast<size_t>(plane) * 16 + 5] == doctest::Approx(value));
      CHECK(boxed[static_cast<size_t>(plane) * 36] == doctest::Approx(value));
      // The frame is black to the right of the image and below it.
      CHECK(boxed[static_cast<size_t>(plane) * 36 + 5] == doctest::Approx(-mean / 2));
      CHECK(boxed[static_cast<size_t>(plane) * 36 + 35] == doctest::Approx(-mean / 2));
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
