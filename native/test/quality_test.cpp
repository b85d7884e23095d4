#include "../core/embed/quality.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "../core/pipeline.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

cv::Mat grey_chip(double value) { return cv::Mat(112, 112, CV_8UC3, cv::Scalar::all(value)); }

// Returns a chip with edges along both axes. They are at least 14 pixels apart, so that blurring
// does not merge them.
cv::Mat squares() {
  cv::Mat chip = grey_chip(60);
  chip(cv::Rect(30, 26, 45, 52)).setTo(cv::Scalar::all(190));
  chip(cv::Rect(44, 40, 14, 20)).setTo(cv::Scalar::all(110));
  return chip;
}

float sharpness_of(const cv::Mat& chip) { return measure_quality(chip, 100).sharpness; }

// Returns two sums along x, as defined by Crete et al. (2007): the differences between neighbours,
// and the part of these differences that blurring removes.
std::pair<double, double> sums_along_x(const cv::Mat_<double>& image) {
  double before = 0, lost = 0;
  for (int y = 0; y < image.rows; ++y) {
    const auto blurred = [&](int x) {
      double sum = 0;
      for (int k = x - 4; k <= x + 4; ++k) {
        const int last = image.cols - 1;
        sum += image(y, k < 0 ? -k : k > last ? 2 * last - k : k);
      }
      return sum / 9;
    };
    for (int x = 1; x < image.cols; ++x) {
      const double difference = std::abs(image(y, x) - image(y, x - 1));
      before += difference;
      lost += std::max(0.0, difference - std::abs(blurred(x) - blurred(x - 1)));
    }
  }
  return {before, lost};
}

using Vector = cv::Vec3d;  // x to the right of the image, y down, z away from the viewer

cv::Matx33d turn(int axis, double degrees) {
  const double c = std::cos(degrees * std::numbers::pi / 180);
  const double s = std::sin(degrees * std::numbers::pi / 180);
  const int u = (axis + 1) % 3;
  const int v = (axis + 2) % 3;
  cv::Matx33d rotation = cv::Matx33d::eye();
  rotation(u, u) = c;
  rotation(u, v) = -s;
  rotation(v, u) = s;
  rotation(v, v) = c;
  return rotation;
}

// Landmarks of the mean head under orthographic projection.
Points68 photograph(const cv::Matx33d& rotation, float scale, Point at) {
  Points68 points = {};
  for (const HeadPoint& p : kHead) {
    const Vector seen = rotation * Vector(p.x, p.y, p.z);
    points[p.landmark] =
        at + Point(static_cast<float>(seen[0]), static_cast<float>(seen[1])) * scale;
  }
  return points;
}

// Computes the rotation from the definition of the angles, not from the formula under test.
cv::Matx33d posed(const Pose& pose) {
  // If a person looks to their own left, the tip of the nose moves to the right of the image. The
  // front (0, 0, -1) moves towards +x, which is a negative turn about the axis that points down.
  const cv::Matx33d yaw = turn(1, -pose.yaw);
  // If a person looks up, the front moves towards -y: a negative turn about the axis to the right.
  const cv::Matx33d pitch = turn(0, -pose.pitch);
  // Roll is clockwise in the image.
  const cv::Matx33d roll = turn(2, pose.roll);
  return roll * pitch * yaw;
}

}  // namespace

TEST_SUITE_BEGIN("quality");

TEST_CASE(
    "measures brightness as the mean luma of the centre, and a sharpness of 0 in one colour") {
  for (const double grey : {0.0, 51.0, 102.0, 255.0}) {
    cv::Mat framed = grey_chip(255 - grey);
    framed(cv::Rect(13, 13, 86, 86)).setTo(cv::Scalar::all(grey));
    const Quality quality = measure_quality(framed, 147.5f);
    CHECK(quality.brightness == doctest::Approx(grey / 255).epsilon(0.005));
    CHECK(quality.sharpness == doctest::Approx(0));
    CHECK(quality.face_pixels == 147.5f);
  }
}

TEST_CASE(
    "computes sharpness as 1 minus the blur metric of the centre at half its size, on the blurrier "
    "axis") {
  cv::Mat soft, grey;
  cv::GaussianBlur(squares(), soft, {}, 2.5, 1.2);
  cv::cvtColor(soft, grey, cv::COLOR_BGR2GRAY);
  cv::Mat_<double> half(42, 42);
  for (int y = 0; y < half.rows; ++y) {
    for (int x = 0; x < half.cols; ++x)
      half(y, x) = cv::mean(grey(cv::Rect(14 + 2 * x, 14 + 2 * y, 2, 2)))[0];
  }
  const auto [before_x, lost_x] = sums_along_x(half);
  const cv::Mat_<double> turned(half.t());
  const auto [before_y, lost_y] = sums_along_x(turned);
  CHECK(lost_x / before_x < lost_y / before_y);
  CHECK(sharpness_of(soft) == doctest::Approx(lost_x / before_x).epsilon(0.001));
}

TEST_CASE("recovers every angle, alone and together, at any place and size") {
  for (const float yaw : {-60.0f, -20.0f, 0.0f, 35.0f}) {
    for (const float pitch : {-40.0f, 0.0f, 15.0f, 40.0f}) {
      for (const float roll : {-120.0f, -15.0f, 0.0f, 45.0f, 170.0f}) {
        for (const float scale : {0.3f, 4.0f}) {
          const Pose truth = {.yaw = yaw, .pitch = pitch, .roll = roll};
          const Pose found = estimate_pose(photograph(posed(truth), scale, {640, 360}));
          CAPTURE(yaw);
          CAPTURE(pitch);
          CAPTURE(roll);
          CHECK(std::abs(found.yaw - yaw) < 0.1f);
          CHECK(std::abs(found.pitch - pitch) < 0.1f);
          CHECK(std::abs(found.roll - roll) < 0.1f);
        }
      }
    }
  }
}

TEST_CASE("returns finite angles for landmarks in one spot or on one line") {
  for (const auto& [across, down] : {std::pair{0, 0}, {1, 0}, {0, 1}}) {
    Points68 points;
    for (int i = 0; i < 68; ++i)
      points[static_cast<size_t>(i)] = Point(cv::Point(50 + across * i, 50 + down * i));
    const Pose pose = estimate_pose(points);
    CHECK(std::isfinite(pose.yaw + pose.pitch + pose.roll));
  }
}

TEST_CASE("estimates the poses of people in photos with the correct signs") {
  // Signs are estimated by eye; `x` and `y` are a point in the face.
  struct Case {
    const char* who;
    int photo;
    float x, y;
    int yaw, pitch, roll;  // sign, or 0 if it is hard to tell
  };
  const Case cases[] = {
      {"leaning back, crown to the right", 1, 1570, 340, 0, 0, +1},
      {"looking down to the left, crown to the left", 1, 930, 540, -1, -1, -1},
      {"turned to the left", 1, 500, 450, -1, 0, 0},
      {"turned to the right", 5, 690, 520, +1, 0, 0},
      {"turned to the left, at the right rim", 5, 1500, 510, -1, 0, -1},
      {"chin up", 5, 1190, 320, 0, +1, 0},
  };
  const auto agrees = [](float degrees, int sign) {
    return sign == 0 || degrees * static_cast<float>(sign) > 5;
  };
  for (const Case& c : cases) {
    CAPTURE(c.who);
    AnalyseOptions options;
    options.min_det_score = 0.7f;
    int found = 0;
    for (const Face& face : analyse(default_engine(), sample(c.photo), options).faces) {
      const Box& box = face.box;
      if (c.x < box.x || c.x > box.x + box.width || c.y < box.y || c.y > box.y + box.height)
        continue;
      ++found;
      CHECK(agrees(face.pose.yaw, c.yaw));
      CHECK(agrees(face.pose.pitch, c.pitch));
      CHECK(agrees(face.pose.roll, c.roll));
    }
    CHECK(found == 1);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
