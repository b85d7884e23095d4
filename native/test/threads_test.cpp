#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include "../core/companion.h"
#include "../core/pipeline.h"
#include "support.h"

namespace facematch::testing {
namespace {

constexpr size_t kThreads = 4;
constexpr int kRounds = 3;

MatchOptions options_of(AccuracyMode mode) {
  MatchOptions options;
  options.accuracy_mode = mode;
  options.min_det_score = 0.7f;
  return options;
}

// All numbers of a result but the times.
std::vector<float> numbers(const MatchResult& result) {
  std::vector<float> all;
  for (const ImageReport* image : {&result.image1, &result.image2}) {
    for (const Face& face : image->faces) {
      all.insert(all.end(),
                 {face.box.x, face.box.y, face.box.width, face.box.height, face.detection_score,
                  face.pose.yaw, face.pose.pitch, face.pose.roll, face.quality.sharpness,
                  face.quality.brightness, face.quality.face_pixels});
      for (const Point p : face.landmarks.points()) all.insert(all.end(), {p.x, p.y});
    }
  }
  for (const Pair& pair : result.pairs) all.push_back(pair.similarity);
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("threads");

// First, while nothing is loaded yet.
TEST_CASE("threads that load at the same time get the same engine") {
  std::vector<const Engine*> engines(kThreads);
  {
    std::vector<std::jthread> threads;
    for (const Engine*& engine : engines)
      threads.emplace_back([&engine] { engine = &default_engine(); });
  }
  for (const Engine* engine : engines) CHECK(engine == &default_engine());
}

TEST_CASE("two pictures on two threads give what one thread gives, bit for bit") {
  const ByteVector one = sample(1), three = sample(3);
  MatchOptions options = options_of(AccuracyMode::kBalance);
  const auto alone = numbers(match(default_engine(), one, three, options));
  options.parallel = true;
  for (int round = 0; round < kRounds; ++round) {
    CHECK(numbers(match(default_engine(), one, three, options)) == alone);
  }
}

TEST_CASE("run_both ends both before it throws, the first one's failure before the second's") {
  const auto fail = [](const char* who) { throw std::runtime_error(who); };
  for (const bool parallel : {false, true}) {
    int ended = 0;
    CHECK_THROWS_WITH(run_both(parallel, [&] { fail("first"); }, [&] { fail("second"); }), "first");
    CHECK_THROWS_WITH(run_both(parallel, [&] { ++ended; }, [&] { fail("second"); }), "second");
    CHECK(ended == 1);
    std::thread::id first, second;
    run_both(
        parallel, [&] { first = std::this_thread::get_id(); },
        [&] { second = std::this_thread::get_id(); });
    CHECK(first == std::this_thread::get_id());
    CHECK((first != second) == parallel);
  }
}

TEST_CASE("many threads on one engine get what one thread gets, bit for bit") {
  const ByteVector pictures[] = {sample(1), sample(3), sample(5)};
  struct Job {
    size_t image1, image2;
    AccuracyMode mode;
  };
  // Of different sizes and modes, so that every thread's scratch memory keeps changing its
  // contents.
  const Job jobs[kThreads] = {{0, 1, AccuracyMode::kFast},
                              {2, 0, AccuracyMode::kBalance},
                              {1, 2, AccuracyMode::kFast},
                              {1, 0, AccuracyMode::kBalance}};
  const auto run = [&](const Job& job) {
    return numbers(
        match(default_engine(), pictures[job.image1], pictures[job.image2], options_of(job.mode)));
  };
  std::vector<std::vector<float>> alone;
  for (const Job& job : jobs) alone.push_back(run(job));
  std::vector<int> same(kThreads, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < kRounds; ++round) {
          for (size_t j = 0; j < kThreads; ++j)
            same[i] += run(jobs[(i + j) % kThreads]) == alone[(i + j) % kThreads];
        }
      });
    }
  }
  for (const int count : same) CHECK(count == kRounds * static_cast<int>(kThreads));
}

TEST_CASE("failed loads and failed pictures on some threads leave the others alone") {
  const ByteVector picture = sample(3);
  const ByteVector text = {'t', 'e', 'x', 't'};
  const MatchOptions options = options_of(AccuracyMode::kFast);
  const auto expected = numbers(match(default_engine(), picture, picture, options));
  int same = 0;
  int refused = 0;
  {
    const std::jthread works([&] {
      for (int i = 0; i < 4; ++i)
        same += numbers(match(default_engine(), picture, picture, options)) == expected;
    });
    const std::jthread fails([&] {
      for (int i = 0; i < 40; ++i) {
        refused += refusal([] { load_engine("no such folder"); }).has_value();
        refused += refusal([&] { match(default_engine(), text, picture, options); }).has_value();
      }
    });
  }
  CHECK(same == 4);
  CHECK(refused == 80);
}

TEST_SUITE_END();

}  // namespace facematch::testing
