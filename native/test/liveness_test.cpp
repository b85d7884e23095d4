#include "../core/embed/liveness.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "drawing.h"
#include "tiny_net.h"

namespace facematch::testing {
namespace {

// Computes the same as generate_patches.py of Silent-Face-Anti-Spoofing.
cv::Rect reference_crop(const Box& box, cv::Size image, float wanted) {
  const auto w = static_cast<float>(image.width), h = static_cast<float>(image.height);
  const float scale = std::min({(h - 1) / box.height, (w - 1) / box.width, wanted});
  // Returns the first and the last pixel of a side, shifted into the image.
  const auto side = [&](float start, float length, float end) {
    float first = length / 2 + start - length * scale / 2;
    float last = length / 2 + start + length * scale / 2;
    if (first < 0) {
      last -= first;
      first = 0;
    }
    if (last > end) {
      first -= last - end;
      last = end;
    }
    return std::pair(static_cast<int>(first), static_cast<int>(last) + 1);
  };
  const auto [left, right] = side(box.x, box.width, w - 1);
  const auto [top, bottom] = side(box.y, box.height, h - 1);
  return {cv::Point(left, top), cv::Point(right, bottom)};
}

// Returns a net with the logits 0, gain times the mean of the crop's bytes, and 0.
TinyNet net_of(int size, float gain) {
  return {
      .shape = {1, 3, size, size},
      .outputs = {
          {.name = "logits", .numbers = {0, gain, 0}, .kind = TinyKind::kCells, .stride = size}}};
}

float live(float logit) { return std::exp(logit) / (std::exp(logit) + 2); }

constexpr float kGain = 0.01f;
constexpr int kSize = 16;

// A pack with only liveness nets, of these scales.
class LivePack {
 public:
  explicit LivePack(const std::vector<float>& scales, const TinyNet& net = net_of(kSize, kGain),
                    const char* family = "minifasnet") {
    write_file(folder_.path() / "live.onnx", net.file());
    pack_.directory = folder_.path().string();
    for (const float scale : scales) {
      pack_.liveness.push_back({.family = family,
                                .file = "live.onnx",
                                .input = "input",
                                .output = "logits",
                                .size = kSize,
                                .scale = scale});
    }
  }

  const Pack& pack() const { return pack_; }

 private:
  TemporaryFolder folder_;
  Pack pack_;
};

// Returns an image that is white where x < 100 and black where x >= 100.
cv::Mat half_white() {
  cv::Mat image(200, 300, CV_8UC3, cv::Scalar::all(0));
  image.colRange(0, 100).setTo(cv::Scalar::all(255));
  return image;
}

}  // namespace

TEST_SUITE_BEGIN("liveness");

TEST_CASE("crops like the reference code, and within the image, for any box") {
  Random random(47);
  int same = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const cv::Size image(static_cast<int>(random.below(700)) + 1,
                         static_cast<int>(random.below(700)) + 1);
    const Box box{.x = random.between(-200, 800),
                  .y = random.between(-200, 800),
                  .width = random.between(1, 500),
                  .height = random.between(1, 500)};
    const float scale = random.between(1.01f, 5);
    const cv::Rect crop = liveness_crop(box, image, scale);
    CAPTURE(round);
    CHECK((crop & cv::Rect({0, 0}, image)) == crop);
    CHECK(crop.area() > 0);
    const cv::Rect reference = reference_crop(box, image, scale);
    // Rounding may differ by one pixel.
    CHECK(std::abs(crop.x - reference.x) <= 1);
    CHECK(std::abs(crop.y - reference.y) <= 1);
    CHECK(std::abs(crop.br().x - reference.br().x) <= 1);
    CHECK(std::abs(crop.br().y - reference.br().y) <= 1);
    same += crop == reference ? 1 : 0;
  }
  CHECK(same > kRounds * 95 / 100);
}

TEST_CASE("computes the score as the softmax of the second logit, from the pixels of the crop") {
  const LivePack pack({2});
  const Liveness liveness(pack.pack());
  Image image(half_white());
  // The crops show columns 50 to 90, 150 to 190, and 79.5 to 119.5 across the border.
  const Box white{.x = 60, .y = 80, .width = 20, .height = 20};
  const Box black{.x = 160, .y = 80, .width = 20, .height = 20};
  const Box both{.x = 89.5f, .y = 80, .width = 20, .height = 20};
  CHECK(*liveness.score(image, white) == doctest::Approx(live(255 * kGain)));
  CHECK(*liveness.score(image, black) == doctest::Approx(1.0 / 3));
  CHECK(*liveness.score(image, both) == doctest::Approx(live(127.5f * kGain)).epsilon(0.05));
}

TEST_CASE(
    "reads the first of two or three logits of the family celeba_spoof as live, with a square crop "
    "in 0..1") {
  const Box tall{.x = 75, .y = 60, .width = 10, .height = 40};  // as a square at 2: 40 to 120
  Image image(half_white());
  for (const size_t classes : {2u, 3u}) {
    TinyNet net = net_of(kSize, 0);
    net.outputs[0].numbers = {1};
    net.outputs[0].numbers.resize(classes);
    const LivePack pack({2}, net, "celeba_spoof");
    const float score = *Liveness(pack.pack()).score(image, tall);
    const float logit = std::exp(0.75f);  // three quarters of the crop are white
    CHECK(score ==
          doctest::Approx(logit / (logit + static_cast<float>(classes) - 1)).epsilon(0.02));
  }
}

TEST_CASE("rejects a net with a wrong number of outputs for its family, or of an unknown family") {
  TinyNet two = net_of(kSize, kGain);
  two.outputs[0].numbers = {0, 1};
  const auto load_error = [](const TinyNet& net, const char* family) {
    const LivePack pack({2}, net, family);
    return error_of([&] { const Liveness liveness(pack.pack()); });
  };
  CHECK(load_error(two, "minifasnet")
            ->message.find("returns 2 numbers; the family minifasnet has 3") != std::string::npos);
  CHECK(load_error(two, "other")->message.find("unknown liveness family") != std::string::npos);
}

TEST_CASE("averages the scores of two nets") {
  const Box box{.x = 70, .y = 80, .width = 20, .height = 20};  // white at 2, not at 4
  Image image(half_white());
  const auto score = [&](const std::vector<float>& scales) {
    const LivePack pack(scales);
    return *Liveness(pack.pack()).score(image, box);
  };
  CHECK(score({2}) > score({4}) + 0.05f);
  CHECK(score({2, 4}) == doctest::Approx((score({2}) + score({4})) / 2));
  CHECK_FALSE(Liveness(Pack{}).score(image, box));
}

TEST_CASE("accepts boxes in pixels of the full image, at whatever scale it was decoded") {
  cv::Mat large;
  cv::resize(half_white(), large, {2400, 1600}, 0, 0, cv::INTER_NEAREST);
  const ByteVector file = encode_jpeg(large);
  const LivePack pack({2});
  const Liveness liveness(pack.pack());
  const Box white{.x = 480, .y = 640, .width = 160, .height = 160};
  const Box black{.x = 1280, .y = 640, .width = 160, .height = 160};
  Image image(file, {}, 100);
  CHECK(*liveness.score(image, white) == doctest::Approx(live(255 * kGain)).epsilon(0.01));
  CHECK(*liveness.score(image, black) == doctest::Approx(1.0 / 3).epsilon(0.01));
}

TEST_CASE("ends a cancelled call") {
  const LivePack pack({2});
  const Liveness liveness(pack.pack());
  const std::atomic<uint8_t> cancelled = 1;
  Image image(half_white(), Budget(1e9, &cancelled));
  CHECK_THROWS_AS(liveness.score(image, {.width = 20, .height = 20}), Cancelled);
}

TEST_SUITE_END();

}  // namespace facematch::testing
