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

TEST_CASE("letterbox resizes like OpenCV except for rounding, and is black beside the image") {
  const cv::Size frame(32, 24);
  // Larger, smaller, much larger, the size of the frame; wide, tall; thinner than a pixel of it.
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
    // Half a step for rounding, and a little for OpenCV's bilinear weights, which are integers.
    CHECK(worst <= (shrinks ? 0.55f : 0.8f));
    CHECK(beside == 0);
  }
}

TEST_CASE("channels have the order of the net, and black is normalised as well") {
  const cv::Size frame(8, 6);
  const cv::Mat image(6, 4, CV_8UC3, cv::Scalar(10, 20, 30));
  const Boxed rgb = boxed(image, {Channels::kRgb, {127, 127, 127}, 0.0078125f}, frame);
  const Boxed bgr = boxed(image, {Channels::kBgr, {127, 127, 127}, 0.0078125f}, frame);
  CHECK(rgb.size == cv::Size(4, 6));
  for (int channel = 0; channel < 3; ++channel) {
    const float value = static_cast<float>(10 * (channel + 1) - 127) * 0.0078125f;
    CHECK(bgr.at(channel, 3, 5, frame) == doctest::Approx(value));
    CHECK(rgb.at(2 - channel, 0, 0, frame) == doctest::Approx(value));
    CHECK(rgb.at(channel, 4, 0, frame) == doctest::Approx(-127 * 0.0078125f));
  }
}

TEST_CASE("a frame larger than the image needs is black beside and below it") {
  const cv::Mat image(40, 40, CV_8UC3, cv::Scalar::all(200));
  const cv::Size frame(32, 24), size(10, 12);
  std::vector<float> planes(static_cast<size_t>(3 * frame.area()), -999.0f);
  letterbox(image, kBytes, size, frame, planes);
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      const float expected = x < size.width && y < size.height ? 200.0f : 0.0f;
      REQUIRE(planes[static_cast<size_t>(y * frame.width + x)] == doctest::Approx(expected));
    }
  }
}

TEST_CASE("part of a larger image is read by its own rows") {
  const cv::Mat whole = grain(90, 40, CV_8UC3);
  const cv::Mat part = whole(cv::Rect(13, 7, 41, 20));
  const cv::Size frame(32, 24);
  CHECK(boxed(part, kBytes, frame).planes == boxed(part.clone(), kBytes, frame).planes);
}

TEST_CASE("each channel is written to its plane, normalised, for any width") {
  struct Case {
    Channels channels;
    std::array<int, 3> plane_of;  // of blue, green, red
  };
  const Case cases[] = {{Channels::kRgb, {2, 1, 0}}, {Channels::kBgr, {0, 1, 2}}};
  for (const Case& c : cases) {
    for (const int width : {1, 2, 7, 15, 16, 17, 31, 32, 33, 112, 320}) {
      const cv::Mat image = grain(width, 5, CV_8UC3);
      const Normalisation normalisation = {c.channels, {127, 127, 127}, 0.0078125f};
      std::vector<float> planes(static_cast<size_t>(3 * width * 5));
      fill_planes(image, normalisation, planes);
      float worst = 0;
      for (int y = 0; y < 5; ++y) {
        for (int x = 0; x < width; ++x) {
          for (int channel = 0; channel < 3; ++channel) {
            const int at = c.plane_of[static_cast<size_t>(channel)] * width * 5 + y * width + x;
            const float expected =
                (static_cast<float>(image.at<cv::Vec3b>(y, x)[channel]) - 127) * 0.0078125f;
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
    const cv::Mat image = grain(width, 3, CV_8UC1);
    std::vector<float> plane(static_cast<size_t>(width * 3));
    fill_planes(image, {Channels::kGrey, {10}, 0.5f}, plane);
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < width; ++x) {
        const float expected = (static_cast<float>(image.at<uint8_t>(y, x)) - 10) * 0.5f;
        REQUIRE(plane[static_cast<size_t>(y * width + x)] == doctest::Approx(expected));
      }
    }
  }
}

TEST_CASE("part of a larger image is read by its own rows") {
  const cv::Mat whole = grain(90, 40, CV_8UC3);
  const cv::Mat part = whole(cv::Rect(13, 7, 41, 20));
  std::vector<float> from_part(size_t{3} * 41 * 20), from_copy(size_t{3} * 41 * 20);
  const Normalisation normalisation = {Channels::kRgb, {127, 127, 127}, 1.0f / 128};
  fill_planes(part, normalisation, from_part);
  fill_planes(part.clone(), normalisation, from_copy);
  CHECK(from_part == from_copy);
}

TEST_CASE("mirrored planes are those of the mirrored image") {
  const cv::Mat image = grain(33, 9, CV_8UC3);
  cv::Mat flipped;
  cv::flip(image, flipped, 1);
  std::vector<float> planes(size_t{3} * 33 * 9), expected(planes.size());
  const Normalisation normalisation = {Channels::kBgr, {127, 127, 127}, 1.0f / 128};
  fill_planes(image, normalisation, planes);
  fill_planes(flipped, normalisation, expected);
  mirror_planes(planes, 33);
  CHECK(planes == expected);
}

TEST_CASE("an image or planes of other sizes or channels than the net's are refused") {
  const cv::Mat grey = grain(8, 6, CV_8UC1), colour = grain(8, 6, CV_8UC3);
  const size_t plane = size_t{8} * 6;
  struct Case {
    const char* what;
    const cv::Mat& image;
    Channels channels;
    size_t size;
    bool taken;
  };
  const Case cases[] = {
      {"three planes", colour, Channels::kRgb, 3 * plane, true},
      {"one plane", grey, Channels::kGrey, plane, true},
      {"a grey image for three planes", grey, Channels::kRgb, plane, false},
      {"a grey image for three planes of room", grey, Channels::kBgr, 3 * plane, false},
      {"a colour image for one plane", colour, Channels::kGrey, plane, false},
      {"one number short", colour, Channels::kBgr, 3 * plane - 1, false},
      {"one number more", colour, Channels::kBgr, 3 * plane + 1, false},
      {"nothing", grey, Channels::kGrey, 0, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    std::vector<float> planes(c.size);
    CHECK(refuses_with(ErrorCode::kInternalError,
                       [&] { fill_planes(c.image, {c.channels, {}, 1}, planes); }) == !c.taken);
  }
}

TEST_CASE("a letterbox of other sizes or channels than the net's is refused") {
  const cv::Mat image = grain(8, 6, CV_8UC3);
  const cv::Size frame(16, 16), size(16, 12);
  std::vector<float> planes(size_t{3} * 16 * 16), fewer(planes.size() - 1), one(size_t{16} * 16);
  const auto refused = [&](const cv::Mat& from, Channels channels, cv::Size to, auto& out) {
    return refuses_with(ErrorCode::kInternalError,
                        [&] { letterbox(from, {channels, 0, 1}, to, frame, out); });
  };
  CHECK_FALSE(refused(image, Channels::kRgb, size, planes));
  CHECK(refused(image, Channels::kGrey, size, planes));
  CHECK(refused(image, Channels::kRgb, size, fewer));
  CHECK(refused(image, Channels::kRgb, size, one));
  CHECK(refused(image, Channels::kRgb, {17, 12}, planes));
  CHECK(refused(image, Channels::kRgb, {16, 17}, planes));
  CHECK(refused(image, Channels::kRgb, {0, 12}, planes));
  CHECK(refused(grain(8, 6, CV_8UC1), Channels::kRgb, size, planes));
  CHECK(refused(grain(8, 6, CV_8UC4), Channels::kRgb, size, planes));
  CHECK(refused({}, Channels::kRgb, size, planes));
}

TEST_CASE("each plane may have a mean of its own, in the order of the planes") {
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
      // Beside the image and below it the frame is black.
      CHECK(boxed[static_cast<size_t>(plane) * 36 + 5] == doctest::Approx(-mean / 2));
      CHECK(boxed[static_cast<size_t>(plane) * 36 + 35] == doctest::Approx(-mean / 2));
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
