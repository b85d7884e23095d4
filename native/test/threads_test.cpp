#include <doctest/doctest.h>

#include <thread>

#include "../core/pipeline.h"
#include "support.h"

namespace facematch::testing {
namespace {

constexpr size_t kThreads = 4;
constexpr int kRounds = 3;

}  // namespace

TEST_SUITE_BEGIN("threads");

// This test must run first, while nothing is loaded.
TEST_CASE("returns the same engine to threads that load it at the same time") {
  std::vector<const Engine*> engines(kThreads);
  {
    std::vector<std::jthread> threads;
    for (const Engine*& engine : engines)
      threads.emplace_back([&engine] { engine = &default_engine(); });
  }
  for (const Engine* engine : engines) CHECK(engine == &default_engine());
}

TEST_CASE("returns the same results to many threads on one engine as to one, bit for bit") {
  // Different sizes and modes change the contents of every thread's scratch memory.
  struct Job {
    ByteVector image;
    AccuracyMode mode;
  };
  const Job jobs[kThreads] = {{sample(1), AccuracyMode::kFast},
                              {sample(3), AccuracyMode::kBalance},
                              {sample(5), AccuracyMode::kFast},
                              {sample(1), AccuracyMode::kBalance}};
  const auto run = [](const Job& job) {
    return numbers(analyse(default_engine(), job.image, options_of(job.mode)));
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

TEST_SUITE_END();

}  // namespace facematch::testing
