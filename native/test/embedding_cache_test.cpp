#include "../core/embedding_cache.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "support.h"

namespace facematch::testing {
namespace {

EmbeddingKey key_of(uint8_t number) { return {.sha256 = {number}, .pack = "pack", .options = {}}; }

// The width tells which one it is.
EmbeddingCache::Kept picture_of(int width) {
  EmbeddedPicture picture;
  picture.report.width = width;
  picture.embedded = {{.embedding = {1, 0}, .cohort_score = 0.5f}};
  return std::make_shared<const EmbeddedPicture>(picture);
}

struct Filled {
  EmbeddingCache cache;
  Filled(size_t capacity, std::initializer_list<uint8_t> numbers) {
    cache.set_capacity(capacity);
    for (const uint8_t number : numbers) cache.put(key_of(number), picture_of(number));
  }
  // Those of 1..9 that are kept.
  std::vector<int> kept() {
    std::vector<int> found;
    for (uint8_t number = 1; number <= 9; ++number) {
      if (cache.find(key_of(number))) found.push_back(number);
    }
    return found;
  }
};

}  // namespace

TEST_SUITE_BEGIN("embedding_cache");

TEST_CASE("nothing is kept until there is a capacity") {
  EmbeddingCache cache;
  cache.put(key_of(1), picture_of(1));
  CHECK(cache.find(key_of(1)) == nullptr);
  CHECK(cache.counts().pictures == 0);
}

TEST_CASE("what was put is found, as the very same object") {
  EmbeddingCache cache;
  cache.set_capacity(1);
  const auto picture = picture_of(7);
  cache.put(key_of(1), picture);
  CHECK(cache.find(key_of(1)) == picture);
  CHECK(cache.find(key_of(2)) == nullptr);
}

TEST_CASE("at the bound all are kept, one past it the one that was put first goes") {
  CHECK(Filled(3, {1, 2, 3}).kept() == std::vector<int>{1, 2, 3});
  CHECK(Filled(3, {1, 2, 3, 4}).kept() == std::vector<int>{2, 3, 4});
  CHECK(Filled(1, {1, 2, 3, 4}).kept() == std::vector<int>{4});
}

TEST_CASE("to be found and to be put again count as a use, so that others go first") {
  Filled found(3, {1, 2, 3});
  CHECK(found.cache.find(key_of(1)));
  found.cache.put(key_of(4), picture_of(4));
  CHECK(found.kept() == std::vector<int>{1, 3, 4});

  Filled again(3, {1, 2, 3, 1, 4});
  CHECK(again.kept() == std::vector<int>{1, 3, 4});
}

TEST_CASE("to be looked for in vain pushes nothing out") {
  Filled filled(2, {1, 2});
  for (uint8_t number = 3; number < 100; ++number) CHECK(!filled.cache.find(key_of(number)));
  CHECK(filled.kept() == std::vector<int>{1, 2});
}

TEST_CASE("the later of two under one key takes the place of the earlier") {
  Filled filled(2, {1, 2});
  filled.cache.put(key_of(1), picture_of(100));
  REQUIRE(filled.cache.find(key_of(1)));
  CHECK(filled.cache.find(key_of(1))->report.width == 100);
  CHECK(filled.cache.counts().pictures == 2);
}

TEST_CASE("a lower capacity drops the least recently used at once, 0 drops all") {
  Filled filled(4, {1, 2, 3, 4});
  CHECK(filled.cache.find(key_of(1)));
  filled.cache.set_capacity(2);
  CHECK(filled.cache.counts().pictures == 2);
  CHECK(filled.kept() == std::vector<int>{1, 4});
  filled.cache.set_capacity(0);
  CHECK(filled.cache.counts().pictures == 0);
  filled.cache.set_capacity(2);
  CHECK(filled.kept().empty());
}

TEST_CASE("what was found stays whole after it has been pushed out") {
  Filled filled(1, {1});
  const auto found = filled.cache.find(key_of(1));
  filled.cache.put(key_of(2), picture_of(2));
  CHECK(filled.cache.find(key_of(1)) == nullptr);
  REQUIRE(found);
  CHECK(found->report.width == 1);
  CHECK(found->embedded[0].embedding == Embedding{1, 0});
}

TEST_CASE("each look counts as a hit or a miss") {
  Filled filled(2, {1, 2});
  for (const uint8_t number : {1, 2, 1, 3}) filled.cache.find(key_of(number));
  CHECK(filled.cache.counts().hits == 3);
  CHECK(filled.cache.counts().misses == 1);
}

TEST_CASE("a key differs by every bit of the digest, by the pack and by every option") {
  const EmbeddingKey key = key_of(1);
  std::vector<EmbeddingKey> others;
  for (size_t bit = 0; bit < 8 * key.sha256.size(); ++bit) {
    others.push_back(key);
    others.back().sha256[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
  }
  const auto other = [&](auto change) {
    others.push_back(key);
    change(others.back());
  };
  other([](EmbeddingKey& one) { one.pack = "packs"; });
  other([](EmbeddingKey& one) { one.options.limits.max_pixels -= 1; });
  other([](EmbeddingKey& one) { one.options.limits.min_side += 1; });
  other([](EmbeddingKey& one) { one.options.accuracy_mode = AccuracyMode::kFast; });
  other([](EmbeddingKey& one) { one.options.min_det_score = 1e-7f; });
  other([](EmbeddingKey& one) { one.options.use_heuristic_fallback = false; });
  EmbeddingCache cache;
  cache.set_capacity(others.size() + 1);
  cache.put(key, picture_of(1));
  for (const EmbeddingKey& one : others) CHECK(cache.find(one) == nullptr);
  for (const EmbeddingKey& one : others) cache.put(one, picture_of(2));
  CHECK(cache.counts().pictures == others.size() + 1);
  CHECK(cache.find(key)->report.width == 1);
}

TEST_SUITE_END();

// ThreadSanitizer runs this suite.
TEST_SUITE_BEGIN("threads");

TEST_CASE(
    "many threads that look and put in one cache find what belongs to the key, within the bound") {
  constexpr size_t kThreads = 4, kLooks = 20'000, kCapacity = 8, kPictures = 16;
  EmbeddingCache cache;
  cache.set_capacity(kCapacity);
  std::vector<size_t> wrong(kThreads, 0), found(kThreads, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        Random random(static_cast<uint32_t>(thread));
        for (size_t look = 0; look < kLooks; ++look) {
          const auto number = static_cast<uint8_t>(random.below(kPictures));
          const auto picture = cache.find(key_of(number));
          found[thread] += picture != nullptr;
          wrong[thread] += picture && picture->report.width != number;
          wrong[thread] += cache.counts().pictures > kCapacity;
          if (!picture) cache.put(key_of(number), picture_of(number));
          // Someone changes the bound now and then, though the server sets it but once.
          if (look % 1000 == 0) cache.set_capacity(kCapacity - random.below(2));
        }
      });
    }
  }
  CHECK(wrong == std::vector<size_t>(kThreads, 0));
  size_t hits = 0;
  for (const size_t count : found) hits += count;
  CHECK(hits > 0);
  CHECK(cache.counts().hits == hits);
  CHECK(cache.counts().misses == kThreads * kLooks - hits);
}

TEST_SUITE_END();

}  // namespace facematch::testing
