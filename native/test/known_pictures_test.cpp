// Matches of pictures that the embedding cache knows.
#include <doctest/doctest.h>

#include "../core/embedding_cache.h"
#include "../core/pipeline.h"
#include "drawing.h"
#include "results.h"

namespace facematch::testing {
namespace {

// Stand for the pictures' digests, which the core is handed and does not make.
constexpr Digest kOne = {1}, kThree = {3};

MatchOptions options_with(Digest image1, Digest image2) {
  MatchOptions options;
  options.accuracy_mode = AccuracyMode::kFast;
  options.min_det_score = 0.7f;
  options.image1_sha256 = image1;
  options.image2_sha256 = image2;
  return options;
}

MatchOptions without_digests(MatchOptions options) {
  options.image1_sha256.reset();
  options.image2_sha256.reset();
  return options;
}

double spent(const StageTimings& timings) {
  return timings.decode + timings.detect + timings.align + timings.embed;
}

// Empties the cache of the process, and counts from here on.
class Counting {
 public:
  explicit Counting(size_t capacity) {
    embedding_cache().set_capacity(0);
    embedding_cache().set_capacity(capacity);
    before_ = embedding_cache().counts();
  }
  ~Counting() { embedding_cache().set_capacity(0); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  uint64_t hits() const { return embedding_cache().counts().hits - before_.hits; }
  uint64_t misses() const { return embedding_cache().counts().misses - before_.misses; }
  size_t pictures() const { return embedding_cache().counts().pictures; }

 private:
  EmbeddingCache::Counts before_;
};

}  // namespace

TEST_SUITE_BEGIN("known_pictures");

TEST_CASE("a second match of the same pictures gives the same, bit for bit, and no stage runs") {
  const ByteVector one = sample(1), three = sample(3);
  for (const bool parallel : {false, true}) {
    const Counting counting(8);
    MatchOptions options = options_with(kOne, kThree);
    options.parallel = parallel;
    const auto plain = match(default_engine(), one, three, without_digests(options));
    CHECK(counting.misses() == 0);
    const auto first = match(default_engine(), one, three, options);
    CHECK(counting.misses() == 2);
    CHECK(counting.pictures() == 2);
    const auto second = match(default_engine(), one, three, options);
    CHECK(counting.hits() == 2);
    CHECK(numbers(first) == numbers(plain));
    CHECK(numbers(second) == numbers(plain));
    CHECK(spent(first.timings_ms) > 0);
    CHECK(spent(second.timings_ms) == 0);
  }
}

TEST_CASE("what is known of one picture does for the other field, and beside a new picture") {
  const ByteVector one = sample(1), three = sample(3);
  const Counting counting(8);
  match(default_engine(), one, one, options_with(kOne, kOne));
  CHECK(counting.pictures() == 1);
  const MatchOptions options = options_with(kThree, kOne);
  const auto known = match(default_engine(), three, one, options);
  CHECK(counting.hits() == 1);
  CHECK(counting.misses() == 3);  // of a picture with itself neither is known yet
  CHECK(numbers(known) == numbers(match(default_engine(), three, one, without_digests(options))));
}

TEST_CASE("a known picture serves every choice of a face") {
  const ByteVector one = sample(1), three = sample(3);
  const Counting counting(8);
  match(default_engine(), one, three, options_with(kOne, kThree));
  struct Choice {
    int image1, image2;
    bool best;
  };
  const Choice choices[] = {{2, -1, true}, {-1, 1, true}, {0, 2, false}, {-1, -1, false}};
  for (const Choice& choice : choices) {
    MatchOptions options = options_with(kOne, kThree);
    options.image1_face_index = choice.image1;
    options.image2_face_index = choice.image2;
    options.auto_pair_best = choice.best;
    const auto known = match(default_engine(), one, three, options);
    CHECK(spent(known.timings_ms) == 0);
    CHECK(numbers(known) == numbers(match(default_engine(), one, three, without_digests(options))));
  }
  MatchOptions beyond = options_with(kOne, kThree);
  beyond.image2_face_index = 3;
  const auto error = refusal([&] { match(default_engine(), one, three, beyond); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kFaceIndexOutOfRange);
  CHECK(error->image == 2);
  CHECK(error->faces_found == 3);
}

TEST_CASE("a picture is kept with all of its faces, whichever of them is compared") {
  const ByteVector one = sample(1), three = sample(3);
  const Counting counting(8);
  MatchOptions options = options_with(kOne, kThree);
  options.image1_face_index = 0;  // one of three
  match(default_engine(), one, three, options);
  CHECK(counting.pictures() == 2);
  options.image1_face_index = 2;
  CHECK(spent(match(default_engine(), one, three, options).timings_ms) == 0);
  CHECK(counting.pictures() == 2);
}

TEST_CASE("another digest, another mode or another option is a picture that is not known") {
  const ByteVector one = sample(1);
  const Counting counting(8);
  const MatchOptions options = options_with(kOne, kOne);
  match(default_engine(), one, one, options);
  CHECK(counting.pictures() == 1);
  std::vector<MatchOptions> others(4, options);
  others[0].image1_sha256 = others[0].image2_sha256 = kThree;
  others[1].accuracy_mode = AccuracyMode::kBalance;
  others[2].min_det_score = 0.71f;
  others[3].use_heuristic_fallback = false;
  size_t pictures = 1;
  for (const MatchOptions& other : others) {
    const auto result = match(default_engine(), one, one, other);
    CHECK(spent(result.timings_ms) > 0);
    CHECK(numbers(result) == numbers(match(default_engine(), one, one, without_digests(other))));
    CHECK(counting.pictures() == ++pictures);
  }
}

TEST_CASE("errors are not kept, and what came before them is no worse for it") {
  const ByteVector one = sample(1), text = {'t', 'e', 'x', 't'};
  const ByteVector empty = encode_jpeg(gradient(200, 150));
  const Counting counting(8);
  const MatchOptions options = options_with(kOne, kThree);
  for (int again = 0; again < 2; ++again) {
    const auto broken = refusal([&] { match(default_engine(), one, text, options); });
    REQUIRE(broken);
    CHECK(broken->code == ErrorCode::kUnsupportedImageFormat);
    CHECK(broken->image == 2);
    const auto faceless = refusal([&] { match(default_engine(), one, empty, options); });
    REQUIRE(faceless);
    CHECK(faceless->missing == std::array<bool, 2>{false, true});
    CHECK(counting.pictures() == 0);
  }
  match(default_engine(), one, one, options_with(kOne, kOne));
  const auto faceless = refusal([&] { match(default_engine(), one, empty, options); });
  REQUIRE(faceless);
  CHECK(faceless->missing == std::array<bool, 2>{false, true});
  CHECK(counting.pictures() == 1);
}

TEST_SUITE_END();

}  // namespace facematch::testing
