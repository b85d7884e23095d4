#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include "../core/companion.h"
#include "../core/embedding_cache.h"
#include "../core/pipeline.h"
#include "results.h"
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

TEST_CASE("threads that share known pictures, and push them out, get what one thread gets") {
  const ByteVector pictures[] = {sample(1), sample(3), sample(5)};
  // The thread's own pair, each picture under a digest that tells which one it is.
  const auto run = [&](size_t pair, bool with_digests) {
    const size_t image1 = pair % 3, image2 = (pair + 1) % 3;
    MatchOptions options = options_of(AccuracyMode::kFast);
    if (with_digests) {
      options.image1_sha256 = Digest{static_cast<uint8_t>(image1)};
      options.image2_sha256 = Digest{static_cast<uint8_t>(image2)};
    }
    return numbers(match(default_engine(), pictures[image1], pictures[image2], options));
  };
  std::vector<std::vector<float>> alone;
  for (size_t pair = 0; pair < 3; ++pair) alone.push_back(run(pair, false));
  EmbeddingCache& cache = embedding_cache();
  cache.set_capacity(2);
  const auto before = cache.counts();
  std::vector<int> same(kThreads, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (size_t round = 0; round < kRounds; ++round)
          same[i] += run(i + round, true) == alone[(i + round) % 3];
      });
    }
  }
  for (const int count : same) CHECK(count == kRounds);
  const auto after = cache.counts();
  CHECK(after.pictures == 2);
  CHECK(after.hits + after.misses - before.hits - before.misses == 2 * kThreads * kRounds);
  cache.set_capacity(0);
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
