#include "../core/image/image.h"

#include <doctest/doctest.h>

#include <array>
#include <initializer_list>

#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

// Uses up CPU time until the budget is spent.
void spend(const Budget& budget) {
  volatile double sum = 0;
  while (!budget.spent()) sum = sum + 1;
}

// The area of each image below.
const Box kAll{0, 0, 1600, 1200};

}  // namespace

TEST_SUITE_BEGIN("image");

TEST_CASE("decodes a JPEG no finer than requested, and never coarser again") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Image image(file, kAnySize, 200);
  CHECK(image.width() == 1600);
  CHECK(image.height() == 1200);
  image.shrink_whole(400);
  CHECK(image.decode_part({kAll, 0.2f}).longer_side() == 400);
  image.shrink_whole(401);
  CHECK(image.decode_part({kAll, 0.4f}).longer_side() == 800);
  image.shrink_whole(200);
  CHECK(image.decode_part({kAll, 0.4f}).longer_side() == 800);
  CHECK(image.decode_part({kAll, 0.5f}).longer_side() == 800);
  CHECK(image.decode_part({kAll, 0.6f}).longer_side() == 1600);
  // The file has no more pixels.
  CHECK(image.decode_part({kAll, 8}).longer_side() == 1600);
  CHECK(image.shrink_whole(100'000).longer_side() == 1600);
  // An existing level does not change.
  CHECK(image.shrink_whole(400).longer_side() == 400);
  CHECK(image.shrink_whole(400).scale() == doctest::Approx(400.0 / 1600));
}

TEST_CASE("whole() returns the same pixels, whatever was decoded before") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Image image(file, kAnySize, 200);
  const View before = image.whole();
  CHECK(before.longer_side() == 400);
  image.decode_part({{10, 10, 100, 100}, 1});
  image.shrink_whole(800);
  image.decode_part({kAll, 1});
  CHECK(image.whole().bgr.data == before.bgr.data);
  CHECK(image.whole().scale() == before.scale());
}

TEST_CASE("crops the same area with enough pixels, in whatever order parts are decoded") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  struct Wanted {
    Point centre;
    float side;
  };
  const Wanted wanted[] = {{{200, 300}, 100}, {{800, 600}, 1000}, {{1400, 900}, 200}};
  constexpr int kSize = 100;
  const auto crops = [&](std::initializer_list<size_t> order) {
    Image image(file, kAnySize, 200);
    std::array<cv::Mat, 3> found;
    for (const size_t i : order) {
      const Similarity crop = square_crop(wanted[i].centre, wanted[i].side, 0, kSize);
      const Part part = part_of(crop, kSize);
      const View view = image.decode_part(part);
      CHECK(view.scale() >= part.scale * 0.999f);
      view.crop(crop, kSize, found[i], Outside::kMean);
    }
    return found;
  };
  const auto first = crops({0, 1, 2});
  for (const auto& other : {crops({2, 1, 0}), crops({1, 0, 2}), crops({0, 2, 1})}) {
    for (size_t i = 0; i < first.size(); ++i) CHECK(largest_difference(first[i], other[i]) <= 4);
  }
}

TEST_CASE("decodes the whole image after three passes for parts") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Image image(file, kAnySize, 200);
  for (const float y : {0.0f, 300.0f, 600.0f}) {
    CHECK(image.decode_part({{0, y, 100, 100}, 1}).longer_side() < 200);
  }
  CHECK(image.decode_part({{0, 900, 100, 100}, 1}).longer_side() == 1600);
}

TEST_CASE("crops from the smallest copy with at least twice the pixels") {
  Image image(cv::Mat(1200, 1600, CV_8UC3, cv::Scalar::all(100)));
  CHECK(image.decode_part({kAll, 0.1f}).longer_side() == 1600);
  image.shrink_whole(400);
  CHECK(image.decode_part({kAll, 0.125f}).longer_side() == 400);
  CHECK(image.decode_part({kAll, 0.126f}).longer_side() == 1600);
}

TEST_CASE("makes all copies of a huge image from one of 1600 pixels") {
  // An image of less than 3200 pixels is not huge and keeps its pixels.
  CHECK(Image(cv::Mat(20, 3199, CV_8UC3)).whole().longer_side() == 3199);
  Image image(cv::Mat(2400, 3200, CV_8UC3, cv::Scalar::all(100)));
  const View base = image.whole();
  CHECK(base.longer_side() == 1600);
  CHECK(image.shrink_whole(1600).bgr.data == base.bgr.data);
  CHECK(image.shrink_whole(480).scale() == doctest::Approx(480.0 / 3200));
  // A detector that needs more than 1600 pixels gets all of them.
  CHECK(Image(encode_jpeg(gradient(3200, 20)), kAnySize, 1601).whole().longer_side() == 3200);
}

TEST_CASE("shows twice the box in a close-up, from whichever copy it is cropped") {
  Image image(cv::Mat(2400, 3200, CV_8UC3, cv::Scalar::all(100)));
  image.shrink_whole(480);
  for (const float roll : {0.0f, 90.0f, -30.0f}) {
    for (const float side : {40.0f, 400.0f, 3000.0f}) {
      const Box box{1000, 900, side * 0.8f, side};
      const View view = closeup(image, box, roll, 240);
      CHECK(view.bgr.size() == cv::Size(240, 240));
      CHECK(view.to_image.scale() == doctest::Approx(2 * side / 240));
      CHECK(view.roll() == doctest::Approx(roll));
      CHECK(cv::norm(view.to_image.apply({120, 120}) - box.centre()) < 0.01 * side);
    }
  }
}

TEST_CASE(
    "keeps and reports the coarse copy when the budget is spent before a finer one is decoded") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  const Budget little(30);
  Image image(file, kAnySize, 200, little);
  CHECK_FALSE(image.timed_out());
  spend(little);
  image.decode_part({{10, 10, 100, 100}, 1});
  CHECK(image.timed_out());
  CHECK(image.shrink_whole(1600).longer_side() == 400);
  CHECK(image.decode_part({kAll, 1}).longer_side() == 400);
}

TEST_CASE("ends the call when a finer decoding or a coarser copy is cancelled") {
  std::atomic<uint8_t> cancelled = 0;
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Image image(file, kAnySize, 200, Budget(1e9, &cancelled));
  cancelled = 1;
  CHECK_THROWS_AS(image.decode_part({kAll, 1}), Cancelled);
  Image huge(cv::Mat(2400, 3200, CV_8UC3), Budget(1e9, &cancelled));
  CHECK_THROWS_AS(huge.whole(), Cancelled);
}

TEST_SUITE_END();

}  // namespace facematch::testing
