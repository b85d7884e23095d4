#include "../core/pixel_store.h"

#include <doctest/doctest.h>

#include <thread>

namespace facematch::testing {

TEST_SUITE_BEGIN("pixel_store");

TEST_CASE("memory is used again once nobody holds it, and never while somebody does") {
  cv::Mat first = picture_memory(100, 200);
  CHECK(first.rows == 100);
  CHECK(first.cols == 200);
  CHECK(first.type() == CV_8UC3);
  CHECK(first.isContinuous());
  const uint8_t* const place = first.data;
  const cv::Mat second = picture_memory(300, 200);
  CHECK(second.data != place);
  const cv::Mat third = picture_memory(10, 10);  // both are taken: this one is its own
  CHECK(third.data != place);
  CHECK(third.data != second.data);
  cv::Mat part = first(cv::Rect(3, 4, 5, 6));
  first.release();
  CHECK(picture_memory(100, 200).data != place);  // a part of it is still held
  part.release();
  CHECK(picture_memory(7, 900).data == place);
}

TEST_CASE("what an earlier picture left is no surroundings of the next one") {
  picture_memory(200, 200).setTo(cv::Scalar::all(255));
  const cv::Mat picture = picture_memory(10, 10);
  CHECK_FALSE(picture.isSubmatrix());
  cv::Size whole;
  cv::Point at;
  picture.locateROI(whole, at);
  CHECK(whole == picture.size());
  CHECK(at == cv::Point(0, 0));
  // The part of a picture is a part still: of that picture, and of nothing beyond.
  const cv::Mat part = picture(cv::Rect(2, 3, 4, 5));
  part.locateROI(whole, at);
  CHECK(whole == picture.size());
  CHECK(at == cv::Point(2, 3));
}

TEST_CASE("what is too large is not kept, and the largest that is kept fits") {
  const int side = 1024;
  cv::Mat fits = picture_memory(side, side);
  const uint8_t* const place = fits.data;
  fits.setTo(cv::Scalar::all(7));
  fits.release();
  CHECK(picture_memory(side, side).data == place);
  cv::Mat large = picture_memory(side + 1, side);
  CHECK(large.data != place);
  large.setTo(cv::Scalar::all(7));
}

TEST_CASE("each thread has its own") {
  const uint8_t* const place = picture_memory(50, 50).data;
  std::thread([&] { CHECK(picture_memory(50, 50).data != place); }).join();
}

TEST_SUITE_END();

}  // namespace facematch::testing
