#include "../core/runtime/budget.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "../core/find/detection_passes.h"
#include "../core/image/decode.h"
#include "../core/pipeline.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

const Budget kSpent(0);

// Returns a progressive JPEG whose first scan is repeated. This is valid, and each scan costs a
// pass over the whole image.
ByteVector many_scans(int count) {
  const ByteVector file = encode_jpeg(gradient(400, 300), {.progressive = true});
  constexpr uint8_t kScan[] = {0xFF, 0xDA}, kTable[] = {0xFF, 0xC4};
  const auto start = std::search(file.begin(), file.end(), std::begin(kScan), std::end(kScan));
  const auto end = std::search(start, file.end(), std::begin(kTable), std::end(kTable));
  REQUIRE(end < file.end());
  ByteVector bomb(file.begin(), end);
  for (int i = 0; i < count; ++i) bomb.insert(bomb.end(), start, end);
  bomb.insert(bomb.end(), end, file.end());
  return bomb;
}

// Returns a PNG of 1000 x 10 black pixels (by its header) with 100 MB of image data.
ByteVector endless_png() {
  ByteVector file =
      encode_png(ByteVector(size_t{1000} * 100'000),
                 {.width = 1000, .height = 100'000, .colour_type = PNG_COLOR_TYPE_GRAY});
  png_save_uint_32(&file[20], 10);
  repair_png_checksums(file);
  return file;
}

}  // namespace

TEST_SUITE_BEGIN("budget");

TEST_CASE("is spent after its CPU time, and has no limit by default") {
  CHECK_FALSE(Budget().spent());
  CHECK(kSpent.spent());
  CHECK_FALSE(Budget(1e9).spent());
  const Budget little(2);
  volatile double sum = 0;
  while (!little.spent()) sum = sum + 1;
  CHECK(little.spent());
}

TEST_CASE("does not count the time that it waits for another thread") {
  const Budget waiting(20);
  std::thread([] {
    const Budget busy(50);
    while (!busy.spent()) {
    }
  }).join();
  CHECK_FALSE(waiting.spent());
}

TEST_CASE("ends decoding when the budget is spent, in each format") {
  const cv::Mat drawn = gradient(400, 300);
  const ByteVector files[] = {
      encode_jpeg(drawn), encode_jpeg(drawn, {.progressive = true}),
      encode_png(drawn),  encode_png(drawn, {.interlaced = true}),
      encode_webp(drawn), encode_webp(drawn, {.lossless = false}),
  };
  for (const ByteVector& file : files) {
    CHECK(decode(file, kAnySize, 0, Budget(1e9)).width == 400);
    CHECK(fails_with(ErrorCode::kImageTooComplex, [&] { decode(file, kAnySize, 0, kSpent); }));
  }
}

TEST_CASE("rejects a file with endless data while it is read") {
  CHECK(decode(many_scans(100), kAnySize, 0).width == 400);
  CHECK(decode(endless_png(), kAnySize, 0).height == 10);
  for (const ByteVector& file : {many_scans(5000), endless_png()}) {
    const Budget little(20);
    CHECK(fails_with(ErrorCode::kImageTooComplex, [&] { decode(file, kAnySize, 0, little); }));
  }
}

TEST_CASE("checks the budget before it touches memory for all rows") {
  ByteVector file = encode_png(
      ByteVector(400),
      {.width = 10, .height = 10, .colour_type = PNG_COLOR_TYPE_RGB_ALPHA, .interlaced = true});
  file[18] = file[22] = 8000 >> 8;  // width and height in IHDR
  file[19] = file[23] = 8000 & 0xFF;
  repair_png_checksums(file);
  const auto peak_memory = [] {  // KiB
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before = peak_memory();
  CHECK(fails_with(ErrorCode::kImageTooComplex, [&] { decode(file, {}, 0, kSpent); }));
  CHECK(peak_memory() - before <
        200'000);  // all rows would need 250,000; AddressSanitizer itself needs an eighth
}

TEST_CASE("reads a JPEG with 200,000 metadata blocks in one pass") {
  ByteVector file = encode_jpeg(gradient(40, 30));
  const ByteVector block = {0xFF, 0xE1, 0, 4, 0, 0};
  ByteVector blocks;
  for (int i = 0; i < 200'000; ++i) blocks.insert(blocks.end(), block.begin(), block.end());
  file.insert(file.begin() + 2, blocks.begin(), blocks.end());
  CHECK(decode(file, kAnySize, 0, Budget(5000)).width == 40);
}

TEST_CASE("ends the search when the budget is spent") {
  AnalyseOptions options;
  options.min_det_score = 0.7f;
  const cv::Mat photo = decode(sample(1), {}, 0).bgr;
  const auto found = default_engine().detector.detect(photo, options.min_det_score);
  REQUIRE_FALSE(found.empty());
  Image out_of_time(photo, kSpent);
  Finder finder(default_engine(), out_of_time, options);
  CHECK_FALSE(finder.is_incomplete());
  CHECK_FALSE(finder.confirm(found.front(), false));
  CHECK(finder.is_incomplete());
  CHECK(finder.coverage().timed_out);
  for (const DetectionPass pass : detection_passes(true)) {
    std::vector<FoundFace> faces;
    StageTimings timings;
    run_pass(pass, finder, faces, timings);
    CHECK(faces.empty());
  }
  CHECK(finder.detector_runs() == 0);
  Image unlimited(photo, Budget(1e9));
  Finder second(default_engine(), unlimited, options);
  CHECK(second.confirm(found.front(), false));
  CHECK_FALSE(second.is_incomplete());
}

TEST_CASE("reports no timeout without a limit, and throws if decoding exceeds the limit") {
  AnalyseOptions options;
  options.min_det_score = 0.7f;
  CHECK_FALSE(analyse(default_engine(), sample(1), options).coverage.timed_out);
  options.image_timeout_ms = 1e-6;
  CHECK(fails_with(ErrorCode::kImageTooComplex,
                   [&] { analyse(default_engine(), sample(1), options); }));
}

TEST_CASE("reports a timeout if only decoding ends within the limit") {
  const ByteVector file = encode_jpeg(gradient(400, 300));
  AnalyseOptions options;
  options.min_det_score = 0.7f;
  options.use_heuristic_fallback = true;
  // The lowest limit that is enough for decoding is much too low for all detection passes.
  std::optional<Analysis> analysis;
  for (options.image_timeout_ms = 0.01; !analysis; options.image_timeout_ms *= 1.5) {
    const auto error = error_of([&] { analysis = analyse(default_engine(), file, options); });
    REQUIRE((!error || error->code == ErrorCode::kImageTooComplex));
  }
  CHECK(analysis->coverage.timed_out);
  CHECK(analysis->width == 400);
}

TEST_SUITE_END();

}  // namespace facematch::testing
