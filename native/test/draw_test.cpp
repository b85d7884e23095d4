#include "../core/image/draw.h"

#include <doctest/doctest.h>

#include <limits>

#include "../core/image/decode.h"
#include "drawing.h"

namespace facematch::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
cv::Mat grey_image(int width, int height) { return {height, width, CV_8UC3, cv::Scalar::all(128)}; }

Face face_at(const Box& box, FoundBy found_by = FoundBy::kPrimary) {
  const auto at = [&](float x, float y) {
    return Point(box.x + x * box.width, box.y + y * box.height);
  };
  Face face;
  face.box = box;
  face.landmarks = {at(0.3f, 0.4f), at(0.7f, 0.4f), at(0.5f, 0.6f), at(0.35f, 0.8f),
                    at(0.65f, 0.8f)};
  face.detection_score = 0.98f;
  face.found_by = found_by;
  return face;
}

// Bounding box of the pixels that are no longer grey.
cv::Rect drawn_area(const cv::Mat& bgr) {
  cv::Rect area;
  for (int y = 0; y < bgr.rows; ++y) {
    for (int x = 0; x < bgr.cols; ++x) {
      if (bgr.at<cv::Vec3b>(y, x) != cv::Vec3b::all(128)) area |= cv::Rect(x, y, 1, 1);
    }
  }
  return area;
}

// Pixels of a box's line in a row across its left side.
int coloured_pixels(const cv::Mat& bgr, int y, int from, int to) {
  int count = 0;
  for (int x = from; x < to; ++x) {
    const auto& pixel = bgr.at<cv::Vec3b>(y, x);
    if (pixel != cv::Vec3b::all(128) && pixel != cv::Vec3b::all(0)) ++count;
  }
  return count;
}

}  // namespace

TEST_SUITE_BEGIN("draw");

TEST_CASE("a box is drawn around the face, and pixels away from box and label stay") {
  cv::Mat image = grey_image(400, 300);
  draw_faces({face_at({150, 120, 80, 100})}, image);
  for (const cv::Point side : {cv::Point(150, 200), cv::Point(230, 200), cv::Point(200, 220)}) {
    CAPTURE(side.x);
    CHECK(image.at<cv::Vec3b>(side) != cv::Vec3b::all(128));
    CHECK(image.at<cv::Vec3b>(side) != cv::Vec3b::all(0));
  }
  const cv::Rect area = drawn_area(image);
  CHECK(area.x >= 148);
  CHECK(area.br().y <= 223);
  CHECK(area.y >= 120 - 30);
  CHECK(area.br().x <= 150 + 160);
}

TEST_CASE("no face leaves the picture as it was") {
  cv::Mat image = grey_image(40, 30);
  draw_faces({}, image);
  CHECK(drawn_area(image).empty());
}

TEST_CASE("each landmark is marked") {
  cv::Mat image = grey_image(400, 300);
  const Face face = face_at({100, 80, 150, 180});
  draw_faces({face}, image);
  for (const Point& point : face.landmarks.points()) {
    CHECK(image.at<cv::Vec3b>(cv::Point(point)) != cv::Vec3b::all(128));
  }
}

TEST_CASE("lines grow with the picture") {
  cv::Mat small = grey_image(1280, 960);
  cv::Mat large = grey_image(5120, 3840);
  draw_faces({face_at({200, 200, 200, 200})}, small);
  draw_faces({face_at({800, 800, 800, 800})}, large);
  const int thin = coloured_pixels(small, 300, 190, 210);
  const int wide = coloured_pixels(large, 1200, 760, 840);
  CHECK(thin >= 2);
  // OpenCV draws lines of even width one pixel wider.
  CHECK(wide >= 3 * (thin - 1));
  CHECK(wide <= 5 * thin);
}

TEST_CASE("the colour of the box shows how the face was found") {
  std::vector<cv::Vec3b> colours;
  for (const FoundBy found_by : {FoundBy::kPrimary, FoundBy::kTiled, FoundBy::kRotated,
                                 FoundBy::kPadded, FoundBy::kEnhanced}) {
    cv::Mat image = grey_image(300, 300);
    draw_faces({face_at({100, 100, 100, 100}, found_by)}, image);
    colours.push_back(image.at<cv::Vec3b>(180, 100));
    for (size_t i = 0; i + 1 < colours.size(); ++i) CHECK(colours[i] != colours.back());
  }
}

TEST_CASE("a label stays inside the picture for any position of the face") {
  for (const Box& box :
       {Box{0, 0, 60, 60}, Box{340, 0, 60, 60}, Box{340, 240, 60, 60}, Box{0, 0, 400, 300}}) {
    cv::Mat image = grey_image(400, 300);
    draw_faces({face_at(box)}, image);
    int letters = 0;
    for (const auto& pixel : cv::Mat_<cv::Vec3b>(image)) {
      // Letters are white with grey edges; no colour of a box is this bright in all channels.
      if (pixel[0] > 150 && pixel[1] > 150 && pixel[2] > 150) ++letters;
    }
    CAPTURE(box.x);
    CAPTURE(box.y);
    CHECK(letters > 20);
  }
}

TEST_CASE("coordinates outside the picture or not a number are cut off") {
  for (const Box& box :
       {Box{-50, -50, 100, 100}, Box{1e30f, -1e30f, 1e30f, 1e30f},
        Box{kNothing, kNothing, kNothing, kNothing}, Box{-kInfinity, 3, kInfinity, kInfinity},
        Box{5, 5, -3, -3}, Box{0, 0, 0, 0}}) {
    for (const int side : {1, 16, 200}) {
      cv::Mat image = grey_image(side, side);
      Face face = face_at(box);
      face.detection_score = box.x;
      draw_faces(std::vector<Face>(20, face), image);
      CHECK(image.size() == cv::Size(side, side));
    }
  }
}

TEST_CASE("a written PNG is read back unchanged") {
  for (const cv::Size size : {cv::Size(1, 1), cv::Size(1, 300), cv::Size(301, 7)}) {
    const cv::Mat picture = gradient(size.width, size.height);
    const Image read = decode(write_png(picture), kAnySize, 0);
    CHECK(read.format == Format::kPng);
    CHECK(largest_difference(read.bgr, picture) == 0);
  }
}

TEST_CASE("a PNG of a part of a picture contains only that part") {
  const cv::Mat part = gradient(100, 80)(cv::Rect(10, 20, 33, 44));
  CHECK(largest_difference(decode(write_png(part), kAnySize, 0).bgr, part) == 0);
}

TEST_CASE("noise, which cannot be compressed, is written too") {
  Random random(5);
  cv::Mat noise(211, 199, CV_8UC3);
  for (auto& pixel : cv::Mat_<cv::Vec3b>(noise)) {
    pixel = {random.byte(), random.byte(), random.byte()};
  }
  CHECK(largest_difference(decode(write_png(noise), kAnySize, 0).bgr, noise) == 0);
}

TEST_SUITE_END();

}  // namespace facematch::testing
