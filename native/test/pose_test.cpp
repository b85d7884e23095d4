#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "../core/embed/quality.h"
#include "../core/pipeline.h"
#include "support.h"

namespace facematch::testing {
namespace {

using Vector = cv::Vec3d;  // x to the right of the picture, y down, z away from the viewer

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

// Built from the definition of the angles, not from the formula under test.
cv::Matx33d posed(const Pose& pose) {
  // Turning a face to the person's own left takes the tip of the nose to the right of the picture:
  // the front (0, 0, -1) goes towards +x, which is a negative turn about the axis that points down.
  const cv::Matx33d yaw = turn(1, -pose.yaw);
  // Looking up takes the front towards -y, a negative turn about the axis to the right.
  const cv::Matx33d pitch = turn(0, -pose.pitch);
  // Clockwise in the picture.
  const cv::Matx33d roll = turn(2, pose.roll);
  return roll * pitch * yaw;
}

}  // namespace

TEST_SUITE_BEGIN("pose");

TEST_CASE("the rotations of these tests agree with the definition of the angles") {
  const Vector front(0, 0, -1);
  const Vector crown(0, -1, 0);
  CHECK((posed({.yaw = 30}) * front)[0] > 0.4);     // their left is the right of the picture
  CHECK((posed({.pitch = 30}) * front)[1] < -0.4);  // up is towards row 0
  CHECK((posed({.roll = 30}) * crown)[0] > 0.4);    // the crown moves to the right of the picture
}

TEST_CASE("a frontal head has no angles") {
  const Pose pose = estimate_pose(photograph(cv::Matx33d::eye(), 1, {0, 0}));
  CHECK(std::abs(pose.yaw) < 0.01f);
  CHECK(std::abs(pose.pitch) < 0.01f);
  CHECK(std::abs(pose.roll) < 0.01f);
}

TEST_CASE("sign and size of every angle are recovered, alone and together, at any place and size") {
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

TEST_CASE("the mirror image of a face has the opposite yaw and roll, and the same pitch") {
  // Pairs of landmarks that are mirror images, among those that the estimate reads.
  constexpr std::pair<size_t, size_t> kMirrored[] = {{31, 35}, {32, 34}, {36, 45}, {39, 42}};
  const Pose truth = {.yaw = 25, .pitch = 10, .roll = 12};
  Points68 points = photograph(posed(truth), 2, {300, 200});
  for (Point& p : points) p.x = 600 - p.x;
  for (const auto& [right, left] : kMirrored) std::swap(points[right], points[left]);
  const Pose found = estimate_pose(points);
  CHECK(found.yaw == doctest::Approx(-truth.yaw).epsilon(0.01));
  CHECK(found.pitch == doctest::Approx(truth.pitch).epsilon(0.01));
  CHECK(found.roll == doctest::Approx(-truth.roll).epsilon(0.01));
}

TEST_CASE(
    "rotating the picture changes roll by that angle and nothing else, for any shape of face") {
  Random random(6);
  for (int round = 0; round < 20; ++round) {
    Points68 points = photograph(posed({.yaw = 20, .pitch = -10, .roll = 5}), 2, {0, 0});
    for (Point& p : points) p += Point(random.between(-8, 8), random.between(-8, 8));
    const Pose before = estimate_pose(points);
    const float degrees = random.between(-60, 60);
    const cv::Matx33d turned = turn(2, degrees);
    for (Point& p : points) {
      const Vector seen = turned * Vector(p.x, p.y, 0);
      p = {static_cast<float>(seen[0]), static_cast<float>(seen[1])};
    }
    const Pose after = estimate_pose(points);
    CHECK(after.roll - before.roll == doctest::Approx(degrees).epsilon(0.001));
    CHECK(std::abs(after.yaw - before.yaw) < 0.01f);
    CHECK(std::abs(after.pitch - before.pitch) < 0.01f);
  }
}

TEST_CASE("landmarks off by a pixel or two change the angles by a few degrees only") {
  Random random(5);
  const Pose truth = {.yaw = -30, .pitch = 12, .roll = 8};
  for (int round = 0; round < 50; ++round) {
    Points68 points = photograph(posed(truth), 1.5f, {300, 200});
    for (Point& p : points) p += Point(random.between(-1.5f, 1.5f), random.between(-1.5f, 1.5f));
    const Pose found = estimate_pose(points);
    CHECK(std::abs(found.yaw - truth.yaw) < 8);
    CHECK(std::abs(found.pitch - truth.pitch) < 8);
    CHECK(std::abs(found.roll - truth.roll) < 4);
  }
}

TEST_CASE("landmarks in one spot or on one line give finite angles") {
  Points68 spot = {};
  Points68 level = {};
  Points68 upright = {};
  for (size_t i = 0; i < spot.size(); ++i) {
    spot[i] = {50, 50};
    level[i] = {static_cast<float>(i), 50};
    upright[i] = {50, static_cast<float>(i)};
  }
  for (const Points68& points : {spot, level, upright}) {
    const Pose pose = estimate_pose(points);
    CHECK(std::isfinite(pose.yaw + pose.pitch + pose.roll));
  }
}

TEST_CASE("the poses of people in photos have the right signs") {
  // Estimated by eye; `x` and `y` are in the face.
  struct Case {
    const char* who;
    int photo;
    float x, y;
    int yaw, pitch, roll;  // sign, or 0 where it is hard to tell
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
