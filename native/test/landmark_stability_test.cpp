#include "../core/landmark_stability.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "../core/decode.h"
#include "../core/view.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

struct Instability {
  float quick, thorough;
};

Instability instabilities(const cv::Mat& bgr, const Box& box) {
  const Landmarker& landmarker = default_engine().landmarker;
  const Points68 points = landmarker.find(bgr, box, true);
  return {instability(landmarker, bgr, box, points, quick_perturbations()),
          instability(landmarker, bgr, box, points, thorough_perturbations())};
}

// An upright face of a sample in the middle of a square, three times as large as itself.
cv::Mat portrait(int number) {
  const Engine& engine = default_engine();
  const Image photo = decode(sample(number), {}, 0);
  const Box box = engine.detector.detect(photo.bgr, 0.9f).front().box;
  return cut({.bgr = photo.bgr, .to_picture = {}}, box.centre(), 3 * box.height, 0, 300).bgr;
}

constexpr Box kMiddle{105, 100, 90, 100};

// Nearly all upright faces instability less than the first, nearly all else more than the second.
constexpr float kLimit = 0.023f;
constexpr float kLeastElsewhere = 0.02f;

}  // namespace

TEST_SUITE_BEGIN("landmark_stability");

TEST_CASE("landmarks of a face hold still, whichever way up it is, when they know the way") {
  for (const int number : {1, 2, 3, 5}) {
    CAPTURE(number);
    const View upright{.bgr = portrait(number), .to_picture = {}};
    for (int quarters = 0; quarters < 4; ++quarters) {
      const View view = rotated(upright, quarters);
      const Box box = moved(kMiddle, view.to_picture.inverse());
      const Landmarker& landmarker = default_engine().landmarker;
      const Points68 points =
          landmarker.find(view.bgr, box, true, 90 * static_cast<float>(quarters));
      CHECK(instability(landmarker, view.bgr, box, points, thorough_perturbations()) < kLimit);
    }
  }
}

TEST_CASE("landmarks of a face that lies on its side or on its head do not") {
  for (const int number : {1, 2, 3, 5}) {
    CAPTURE(number);
    const View upright{.bgr = portrait(number), .to_picture = {}};
    const Instability before = instabilities(upright.bgr, kMiddle);
    for (int quarters = 1; quarters < 4; ++quarters) {
      CAPTURE(quarters);
      const View view = rotated(upright, quarters);
      const Instability after = instabilities(view.bgr, moved(kMiddle, view.to_picture.inverse()));
      CHECK(after.thorough > kLeastElsewhere);
      CHECK(after.thorough > before.thorough);
      CHECK(after.quick > before.quick);
    }
  }
}

TEST_CASE("landmarks of no face do not hold still") {
  cv::Mat noise(300, 300, CV_8UC3);
  Random random(3);
  for (int y = 0; y < noise.rows; ++y) {
    for (int x = 0; x < noise.cols; ++x) {
      noise.at<cv::Vec3b>(y, x) = {random.byte(), random.byte(), random.byte()};
    }
  }
  const cv::Mat grey(300, 300, CV_8UC3, cv::Scalar::all(128));
  for (const cv::Mat& picture : {noise, grey, gradient(300, 300)}) {
    CHECK(instabilities(picture, kMiddle).thorough > kLimit);
  }
}

TEST_CASE("a face in the mirror is seen in the same places") {
  const Landmarker& landmarker = default_engine().landmarker;
  const cv::Mat picture = portrait(1);
  cv::Mat mirror;
  cv::flip(picture, mirror, 1);
  const Similarity crop =
      square_crop(kMiddle.centre(), landmarker.crop_side(kMiddle), 0, landmarker.crop_size());
  const Points68 seen = landmarker.predict(picture, crop, true);
  const Points68 direct = landmarker.predict(mirror, crop);
  for (size_t i = 0; i < seen.size(); ++i) {
    // The middle of the picture lies a pixel's half beside that of the crop.
    CHECK(std::abs(300 - direct[i].x - seen[i].x) < 2);
    CHECK(std::abs(direct[i].y - seen[i].y) < 2);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
