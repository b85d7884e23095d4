#include "../core/image/picture.h"

#include <doctest/doctest.h>

#include <thread>

#include "../core/pipeline.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

// Uses up CPU time until the budget is spent.
void spend(const Budget& budget) {
  volatile double sum = 0;
  while (!budget.spent()) sum = sum + 1;
}

}  // namespace

TEST_SUITE_BEGIN("picture");

TEST_CASE("a JPEG is decoded no finer than it is asked for, and never coarser again") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Picture picture(file, kAnySize, 200);
  CHECK(picture.width() == 1600);
  CHECK(picture.height() == 1200);
  CHECK(picture.at_least(200).longer_side() == 200);
  CHECK(picture.at_least(201).longer_side() == 400);
  CHECK(picture.at_least(200).longer_side() == 400);
  picture.refine(0.5f);
  CHECK(picture.at_least(1).longer_side() == 800);
  CHECK(picture.for_crops(0.6f).longer_side() == 1600);
  // Nothing has more.
  CHECK(picture.for_crops(8).longer_side() == 1600);
  CHECK(picture.at_least(100'000).longer_side() == 1600);
}

TEST_CASE("a level has the side that was asked for and is made once") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Picture picture(file, kAnySize, 200);
  const View& level = picture.level(300);
  CHECK(level.longer_side() == 300);
  CHECK(level.scale() == doctest::Approx(300.0 / 1600));
  const uint8_t* pixels = level.bgr.data;
  picture.refine(1);
  CHECK(picture.level(300).bgr.data == pixels);
}

TEST_CASE("a crop is cut from the smallest level that has twice its pixels") {
  Picture picture(cv::Mat(1200, 1600, CV_8UC3, cv::Scalar::all(100)));
  CHECK(picture.for_crops(0.1f).longer_side() == 1600);
  picture.level(400);
  CHECK(picture.for_crops(0.125f).longer_side() == 400);
  CHECK(picture.for_crops(0.126f).longer_side() == 1600);
}

TEST_CASE("a huge picture is read once: all levels come from one of 1600 pixels") {
  // Above that the pixels stay as they are.
  CHECK(Picture(cv::Mat(20, 3199, CV_8UC3)).at_least(480).longer_side() == 3199);
  Picture picture(cv::Mat(2400, 3200, CV_8UC3, cv::Scalar::all(100)));
  const View& base = picture.at_least(480);
  CHECK(base.longer_side() == 1600);
  CHECK(picture.at_least(1600).bgr.data == base.bgr.data);
  CHECK(picture.level(1600).bgr.data == base.bgr.data);
  CHECK(picture.at_least(1601).longer_side() == 3200);
  CHECK(picture.level(480).scale() == doctest::Approx(480.0 / 3200));
}

TEST_CASE("a close-up shows twice the box, whichever copy it was cut from") {
  Picture picture(cv::Mat(2400, 3200, CV_8UC3, cv::Scalar::all(100)));
  picture.level(480);
  for (const float roll : {0.0f, 90.0f, -30.0f}) {
    for (const float side : {40.0f, 400.0f, 3000.0f}) {
      const Box box{1000, 900, side * 0.8f, side};
      const View view = picture.closeup(box, roll, 240);
      CHECK(view.bgr.size() == cv::Size(240, 240));
      CHECK(view.to_picture.scale() == doctest::Approx(2 * side / 240));
      CHECK(view.roll() == doctest::Approx(roll));
      CHECK(cv::norm(view.to_picture.apply({120, 120}) - box.centre()) < 0.01 * side);
    }
  }
}

TEST_CASE("pictures of any shape have pixels at every level") {
  for (const cv::Size size : {cv::Size(1, 1), cv::Size(1, 4000), cv::Size(40000, 1)}) {
    Picture picture(cv::Mat(size, CV_8UC3, cv::Scalar::all(128)));
    const View& detail = picture.level(1600);
    CHECK_FALSE(detail.bgr.empty());
    for (int quarters = 0; quarters < 4; ++quarters) {
      CHECK_FALSE(padded(rotated(picture.level(480), quarters), 0.3f).bgr.empty());
    }
    for (const View& tile : tiles(detail, 5)) CHECK_FALSE(tile.bgr.empty());
    CHECK_FALSE(picture.closeup({-5, -5, 20, 20}, 45, 64).bgr.empty());
  }
}

TEST_CASE("when the time is used up, a finer decoding keeps the coarse copy and says so") {
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  const Budget little(30);
  Picture picture(file, kAnySize, 200, little);
  CHECK_FALSE(picture.was_cut_short());
  spend(little);
  picture.refine(1);
  CHECK(picture.was_cut_short());
  CHECK(picture.at_least(1600).longer_side() == 200);
  CHECK(picture.for_crops(1).longer_side() == 200);
}

TEST_CASE("a cancelled finer decoding ends the call") {
  std::atomic<uint8_t> cancelled = 0;
  const ByteVector file = encode_jpeg(gradient(1600, 1200));
  Picture picture(file, kAnySize, 200, Budget(1e9, &cancelled));
  cancelled = 1;
  CHECK(refuses_with(ErrorCode::kImageTooComplex, [&] { picture.refine(1); }));
}

TEST_CASE("a face is found at the same place in a JPEG of any width") {
  // Their eighths are no whole numbers of pixels, or are.
  const cv::Mat face = portrait(1, 300);
  for (const int width : {793, 800, 801, 807}) {
    CAPTURE(width);
    cv::Mat tall(4000, width, CV_8UC3, cv::Scalar::all(128));
    face.copyTo(tall(cv::Rect(350, 3500, 300, 300)));
    const Analysis cut = analyse(default_engine(), encode_jpeg(tall), options_of());
    const Analysis whole = analyse(default_engine(), encode_png(tall), options_of());
    REQUIRE(cut.faces.size() == 1);
    REQUIRE(whole.faces.size() == 1);
    const Box& seen = cut.faces[0].box;
    CHECK(cv::norm(seen.centre() - whole.faces[0].box.centre()) < 0.05 * seen.height);
    const Embedding& a = cut.faces[0].embedding;
    CHECK(cv::Mat(a).dot(cv::Mat(whole.faces[0].embedding)) > 0.98);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
