#include "../core/face_geometry.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../core/decode.h"
#include "../core/geometry.h"
#include "../core/view.h"
#include "support.h"

namespace facematch::testing {
namespace {

std::span<const Point> template_points() { return default_engine().pack.embedder.template_points; }

Landmarks from(const std::array<Point, 5>& p) {
  return {
      .right_eye = p[0], .left_eye = p[1], .nose = p[2], .mouth_right = p[3], .mouth_left = p[4]};
}

struct Face {
  Landmarks landmarks;
  Box box;
};

template <typename Change>
Landmarks changed(const Landmarks& landmarks, Change change) {
  auto points = landmarks.points();
  for (Point& point : points) point = change(point);
  return from(points);
}

bool accepts(const Face& face) { return plausible(face.landmarks, face.box, template_points()); }

// The faces of the samples, each as the check is shown it: in an upright close-up.
std::vector<Face> find_real_faces() {
  const Engine& engine = default_engine();
  std::vector<Face> faces;
  for (int number = 1; number <= 6; ++number) {
    const Image photo = decode(sample(number), {}, 0);
    for (const Detection& detection : engine.detector.detect(photo.bgr, 0.9f)) {
      const Points68 points = engine.landmarker.find(photo.bgr, detection.box, true);
      const Similarity upright = square_crop(detection.box.centre(), 2 * detection.box.height,
                                             eye_line_degrees(five_points(points)), 240);
      faces.push_back({five_points(moved(points, upright)), moved(detection.box, upright)});
    }
  }
  return faces;
}

const std::vector<Face>& real_faces() {
  static const auto faces = find_real_faces();
  return faces;
}

}  // namespace

TEST_SUITE_BEGIN("face_geometry");

TEST_CASE("the landmarks of real faces are plausible") {
  const auto& faces = real_faces();
  CHECK(faces.size() >= 18);
  for (const Face& face : faces) CHECK(accepts(face));
}

TEST_CASE("the same landmarks are not, where they have been changed so that no face has them") {
  struct Case {
    const char* what;
    Point (*change)(Point, const Box&);
  };
  const Case cases[] = {
      {"mirrored", [](Point p, const Box& b) { return Point(2 * b.centre().x - p.x, p.y); }},
      {"upside down", [](Point p, const Box& b) { return Point(p.x, 2 * b.centre().y - p.y); }},
      {"on the head", [](Point p, const Box& b) { return 2 * b.centre() - p; }},
      {"on the side",
       [](Point p, const Box& b) {
         const Point d = p - b.centre();
         return b.centre() + Point(-d.y, d.x);
       }},
      {"in one spot", [](Point, const Box& b) { return b.centre(); }},
      {"on a level line", [](Point p, const Box& b) { return Point(p.x, b.centre().y); }},
      {"on a plumb line", [](Point p, const Box& b) { return Point(b.centre().x, p.y); }},
      {"a third as large", [](Point p, const Box& b) { return b.centre() + (p - b.centre()) / 3; }},
      {"three times as large",
       [](Point p, const Box& b) { return b.centre() + 3 * (p - b.centre()); }},
      {"beside the box", [](Point p, const Box& b) { return p + Point(b.width, 0); }},
      {"below the box", [](Point p, const Box& b) { return p + Point(0, b.height); }},
      {"sheared", [](Point p, const Box& b) { return Point(p.x + (p.y - b.y), p.y); }},
      {"infinite", [](Point p, const Box&) { return p * std::numeric_limits<float>::infinity(); }},
      {"not a number", [](Point, const Box&) { return Point(std::nanf(""), std::nanf("")); }},
  };
  for (const Face& face : real_faces()) {
    for (const Case& c : cases) {
      CAPTURE(c.what);
      const auto change = [&](Point p) { return c.change(p, face.box); };
      CHECK_FALSE(accepts({changed(face.landmarks, change), face.box}));
    }
  }
}

TEST_CASE("points that swapped places are no face") {
  for (const Face& face : real_faces()) {
    const Landmarks& l = face.landmarks;
    const Box& box = face.box;
    CHECK_FALSE(accepts({{l.left_eye, l.right_eye, l.nose, l.mouth_right, l.mouth_left}, box}));
    CHECK_FALSE(accepts({{l.right_eye, l.left_eye, l.nose, l.mouth_left, l.mouth_right}, box}));
    CHECK_FALSE(accepts({{l.mouth_right, l.mouth_left, l.nose, l.right_eye, l.left_eye}, box}));
  }
}

TEST_CASE("scattered points are hardly ever a face") {
  Random random(7);
  const Box box{0, 0, 100, 120};
  const auto anywhere = [&] { return Point(random.between(0, 100), random.between(0, 120)); };
  int accepted = 0;
  for (int i = 0; i < 10'000; ++i) {
    accepted += accepts({{anywhere(), anywhere(), anywhere(), anywhere(), anywhere()}, box});
  }
  CHECK(accepted < 100);
}

TEST_CASE("an empty box, and one of no number, hold no face") {
  const Face face = real_faces().front();
  CHECK_FALSE(accepts({face.landmarks, {0, 0, 0, 0}}));
  CHECK_FALSE(accepts({face.landmarks, {std::nanf(""), 0, 100, 100}}));
  CHECK_FALSE(accepts({face.landmarks, {0, 0, std::nanf(""), std::nanf("")}}));
}

TEST_CASE("the template_error is of the shape alone: not of place, size or lean") {
  const auto known = template_points();
  const Landmarks exact = from({known[0], known[1], known[2], known[3], known[4]});
  for (const Face& face : {Face{exact, {}}, real_faces().front()}) {
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

TEST_SUITE_END();

}  // namespace facematch::testing
