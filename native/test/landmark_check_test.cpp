#include "../core/find/landmark_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <opencv2/imgproc.hpp>

#include "../core/image/decode.h"
#include "../core/image/view.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

std::span<const Point> template_points() { return default_engine().pack.embedder.template_points; }

Landmarks from(const std::array<Point, 5>& p) {
  return {
      .right_eye = p[0], .left_eye = p[1], .nose = p[2], .mouth_right = p[3], .mouth_left = p[4]};
}

struct FaceInBox {
  Landmarks landmarks;
  Box box;
};

template <typename Change>
Landmarks changed(const Landmarks& landmarks, Change change) {
  auto points = landmarks.points();
  for (Point& point : points) point = change(point);
  return from(points);
}

bool accepts(const FaceInBox& face) {
  return plausible(face.landmarks, face.box, template_points());
}

// Returns the faces of the samples, each in an upright close-up.
std::vector<FaceInBox> find_real_faces() {
  const Engine& engine = default_engine();
  std::vector<FaceInBox> faces;
  for (int number = 1; number <= 6; ++number) {
    const auto photo = decode(sample(number), {}, 0);
    for (const Detection& detection : engine.detector.detect(photo.bgr, 0.9f)) {
      const Points68 points = engine.landmarker.find(photo.bgr, detection.box, true);
      const Similarity upright = square_crop(detection.box.centre(), 2 * detection.box.height,
                                             eye_line_degrees(five_points(points)), 240);
      faces.push_back({five_points(moved(points, upright)), moved(detection.box, upright)});
    }
  }
  return faces;
}

const std::vector<FaceInBox>& real_faces() {
  static const auto faces = find_real_faces();
  return faces;
}

struct Instability {
  float quick, thorough;
};

Instability instabilities(const cv::Mat& bgr, const Box& box) {
  const Landmarker& landmarker = default_engine().landmarker;
  const Points68 points = landmarker.find(bgr, box, true);
  return {instability(landmarker, bgr, box, points, quick_perturbations()),
          instability(landmarker, bgr, box, points, thorough_perturbations())};
}

// Box of the face in upright_face().
constexpr Box kMiddle{105, 100, 90, 100};

cv::Mat upright_face(int number) { return portrait(number, 300, 3); }

// The instability of nearly all upright faces is below kLimit, that of nearly everything else above
// kMinElsewhere.
constexpr float kLimit = 0.023f;
constexpr float kMinElsewhere = 0.02f;

}  // namespace

TEST_SUITE_BEGIN("landmark_check");

TEST_CASE("accepts the landmarks of real faces") {
  const auto& faces = real_faces();
  CHECK(faces.size() >= 18);
  for (const FaceInBox& face : faces) CHECK(accepts(face));
}

TEST_CASE("rejects landmarks that no face can have") {
  struct Case {
    const char* what;
    Point (*change)(Point, const Box&);
  };
  const Case cases[] = {
      {"mirrored", [](Point p, const Box& b) { return Point(2 * b.centre().x - p.x, p.y); }},
      {"upside down", [](Point p, const Box& b) { return Point(p.x, 2 * b.centre().y - p.y); }},
      {"rotated by 180 degrees", [](Point p, const Box& b) { return 2 * b.centre() - p; }},
      {"rotated by 90 degrees",
       [](Point p, const Box& b) {
         const Point d = p - b.centre();
         return b.centre() + Point(-d.y, d.x);
       }},
      {"in one spot", [](Point, const Box& b) { return b.centre(); }},
      {"on a horizontal line", [](Point p, const Box& b) { return Point(p.x, b.centre().y); }},
      {"on a vertical line", [](Point p, const Box& b) { return Point(b.centre().x, p.y); }},
      {"a third as large", [](Point p, const Box& b) { return b.centre() + (p - b.centre()) / 3; }},
      {"three times as large",
       [](Point p, const Box& b) { return b.centre() + 3 * (p - b.centre()); }},
      {"beside the box", [](Point p, const Box& b) { return p + Point(b.width, 0); }},
      {"below the box", [](Point p, const Box& b) { return p + Point(0, b.height); }},
      {"sheared", [](Point p, const Box& b) { return Point(p.x + (p.y - b.y), p.y); }},
      {"infinite", [](Point p, const Box&) { return p * std::numeric_limits<float>::infinity(); }},
      {"not a number", [](Point, const Box&) { return Point(std::nanf(""), std::nanf("")); }},
  };
  for (const FaceInBox& face : real_faces()) {
    for (const Case& c : cases) {
      CAPTURE(c.what);
      const auto change = [&](Point p) { return c.change(p, face.box); };
      CHECK_FALSE(accepts({changed(face.landmarks, change), face.box}));
    }
  }
}

TEST_CASE("rejects swapped points, and any points in an empty box") {
  for (const auto& [l, box] : real_faces()) {
    CHECK_FALSE(accepts({{l.left_eye, l.right_eye, l.nose, l.mouth_right, l.mouth_left}, box}));
    CHECK_FALSE(accepts({{l.right_eye, l.left_eye, l.nose, l.mouth_left, l.mouth_right}, box}));
    CHECK_FALSE(accepts({{l.mouth_right, l.mouth_left, l.nose, l.right_eye, l.left_eye}, box}));
    const float nan = std::nanf("");
    for (const Box& none : {Box{0, 0, 0, 0}, Box{nan, 0, 100, 100}, Box{0, 0, nan, nan}})
      CHECK_FALSE(accepts({l, none}));
  }
}

TEST_CASE("template_error() depends on the shape alone, not on position, size or roll") {
  const auto known = template_points();
  const Landmarks exact = from({known[0], known[1], known[2], known[3], known[4]});
  for (const FaceInBox& face : {FaceInBox{exact, {}}, real_faces().front()}) {
    const float here = template_error(face.landmarks, known);
    for (const float degrees : {0.0f, 90.0f, -140.0f}) {
      const Similarity transform = square_crop({300, -20}, 70, degrees, 224);
      const Landmarks there = changed(face.landmarks, [&](Point p) { return transform.apply(p); });
      CHECK(template_error(there, known) == doctest::Approx(here).epsilon(0.001));
    }
  }
  CHECK(template_error(exact, known) < 1e-5f);
  const Landmarks mirrored = changed(exact, [](Point p) { return Point(-p.x, p.y); });
  CHECK(template_error(mirrored, known) > 0.3f);
}

TEST_CASE(
    "measures stable landmarks on a rotated face if the rotation is known, otherwise unstable "
    "ones") {
  const Landmarker& landmarker = default_engine().landmarker;
  for (const int number : {1, 2, 3, 5}) {
    CAPTURE(number);
    const View upright(upright_face(number));
    const Instability before = instabilities(upright.bgr, kMiddle);
    for (int quarters = 0; quarters < 4; ++quarters) {
      CAPTURE(quarters);
      const View view = rotated(upright, quarters);
      const Box box = moved(kMiddle, view.to_image.inverse());
      const auto known = landmarker.find(view.bgr, box, true, 90 * static_cast<float>(quarters));
      CHECK(instability(landmarker, view.bgr, box, known, thorough_perturbations()) < kLimit);
      if (quarters == 0) continue;
      const Instability after = instabilities(view.bgr, box);
      CHECK(after.thorough > kMinElsewhere);
      CHECK(after.thorough > before.thorough);
      CHECK(after.quick > before.quick);
    }
  }
}

TEST_CASE("measures unstable landmarks where there is no face") {
  const cv::Mat grey(300, 300, CV_8UC3, cv::Scalar::all(128));
  for (const cv::Mat& image : {grain(300, 300, CV_8UC3), grey, gradient(300, 300)}) {
    CHECK(instabilities(image, kMiddle).thorough > kLimit);
  }
}

TEST_CASE("converts a mirrored prediction back to the original's positions") {
  const Landmarker& landmarker = default_engine().landmarker;
  const cv::Mat image = upright_face(1);
  cv::Mat mirror;
  cv::flip(image, mirror, 1);
  const Similarity crop =
      square_crop(kMiddle.centre(), landmarker.crop_side(kMiddle), 0, landmarker.crop_size());
  const Points68 seen = landmarker.predict(image, crop, true);
  const Points68 direct = landmarker.predict(mirror, crop);
  for (size_t i = 0; i < seen.size(); ++i) {
    // The centres of the image and of the crop are half a pixel apart.
    CHECK(std::abs(300 - direct[i].x - seen[i].x) < 2);
    CHECK(std::abs(direct[i].y - seen[i].y) < 2);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
