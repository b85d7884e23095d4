#include "../core/embed/liveness.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "drawing.h"
#include "tiny_net.h"

namespace facematch::testing {
namespace {

// As generate_patches.py of Silent-Face-Anti-Spoofing has it, line by line.
cv::Rect reference_crop(const Box& box, cv::Size image, float wanted) {
  const auto w = static_cast<float>(image.width), h = static_cast<float>(image.height);
  const float scale = std::min((h - 1) / box.height, std::min((w - 1) / box.width, wanted));
  const float new_width = box.width * scale, new_height = box.height * scale;
  const float centre_x = box.width / 2 + box.x, centre_y = box.height / 2 + box.y;
  float left = centre_x - new_width / 2, top = centre_y - new_height / 2;
  float right = centre_x + new_width / 2, bottom = centre_y + new_height / 2;
  if (left < 0) {
    right -= left;
    left = 0;
  }
  if (top < 0) {
    bottom -= top;
    top = 0;
  }
  if (right > w - 1) {
    left -= right - w + 1;
    right = w - 1;
  }
  if (bottom > h - 1) {
    top -= bottom - h + 1;
    bottom = h - 1;
  }
  return {cv::Point(static_cast<int>(left), static_cast<int>(top)),
          cv::Point(static_cast<int>(right) + 1, static_cast<int>(bottom) + 1)};
}

// Its logits are 0, gain times the mean of its crop's bytes, and 0.
TinyNet net_of(int size, float gain) {
  return {
      .shape = {1, 3, size, size},
      .outputs = {
          {.name = "logits", .numbers = {0, gain, 0}, .kind = TinyKind::kCells, .stride = size}}};
}

float live(float logit) { return std::exp(logit) / (std::exp(logit) + 2); }

constexpr float kGain = 0.01f;
constexpr int kSize = 16;

// A pack with nothing but liveness nets of these scales.
class LivePack {
 public:
  explicit LivePack(const std::vector<float>& scales, const TinyNet& net = net_of(kSize, kGain)) {
    write_file(folder_.path() / "live.onnx", net.file());
    pack_.directory = folder_.path().string();
    for (const float scale : scales) {
      pack_.liveness.push_back({.file = "live.onnx",
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

// White where x < 100, black elsewhere.
cv::Mat half_white() {
  cv::Mat image(200, 300, CV_8UC3, cv::Scalar::all(0));
  image.colRange(0, 100).setTo(cv::Scalar::all(255));
  return image;
}

}  // namespace

TEST_SUITE_BEGIN("liveness");

TEST_CASE("a crop is the box enlarged by the scale around its centre") {
  CHECK(liveness_crop({.x = 100, .y = 80, .width = 20, .height = 30}, {400, 400}, 2) ==
        cv::Rect(90, 65, 41, 61));
}

TEST_CASE("a crop at an edge is shifted into the image, not cut") {
  const cv::Size image(400, 300);
  const Box corner{.x = -10, .y = -5, .width = 40, .height = 40};
  CHECK(liveness_crop(corner, image, 2) == cv::Rect(0, 0, 81, 81));
  const Box other{.x = 370, .y = 280, .width = 40, .height = 40};
  CHECK(liveness_crop(other, image, 2) == cv::Rect(319, 219, 81, 81));
}

TEST_CASE("a crop is as large as the image allows, and keeps the shape of the box") {
  // 99 / 60 rather than 4.
  CHECK(liveness_crop({.x = 100, .y = 20, .width = 40, .height = 60}, {300, 100}, 4) ==
        cv::Rect(87, 0, 67, 100));
}

TEST_CASE("crops are those of the reference code, and inside the image, for any box") {
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
    // A side may fall on either side of a whole pixel.
    CHECK(std::abs(crop.x - reference.x) <= 1);
    CHECK(std::abs(crop.y - reference.y) <= 1);
    CHECK(std::abs(crop.br().x - reference.br().x) <= 1);
    CHECK(std::abs(crop.br().y - reference.br().y) <= 1);
    same += crop == reference ? 1 : 0;
  }
  CHECK(same > kRounds * 95 / 100);
}

TEST_CASE("the score is the softmax of the second logit, of what the crop shows") {
  const LivePack pack({2});
  const Liveness liveness(pack.pack());
  Image image(half_white());
  // Columns 60 to 100 and 150 to 190; then one whose middle is the border.
  const Box white{.x = 60, .y = 80, .width = 20, .height = 20};
  const Box black{.x = 160, .y = 80, .width = 20, .height = 20};
  const Box both{.x = 89.5f, .y = 80, .width = 20, .height = 20};
  CHECK(*liveness.score(image, white) == doctest::Approx(live(255 * kGain)));
  CHECK(*liveness.score(image, black) == doctest::Approx(1.0 / 3));
  CHECK(*liveness.score(image, both) == doctest::Approx(live(127.5f * kGain)).epsilon(0.05));
}

TEST_CASE("the score of two nets is the mean of theirs") {
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

TEST_CASE("boxes are in pixels of the full image, at whatever scale it was decoded") {
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

TEST_CASE("a cancelled call ends") {
  const LivePack pack({2});
  const Liveness liveness(pack.pack());
  const std::atomic<uint8_t> cancelled = 1;
  Image image(half_white(), Budget(1e9, &cancelled));
  CHECK(refuses_with(ErrorCode::kImageTooComplex,
                     [&] { liveness.score(image, {.width = 20, .height = 20}); }));
}

TEST_CASE("a net of another shape is refused when it is loaded") {
  const LivePack two(
      {2}, {.shape = {1, 3, kSize, kSize}, .outputs = {{.name = "logits", .numbers = {0, 1}}}});
  const auto error = refusal([&] { Liveness{two.pack()}; });
  REQUIRE(error);
  CHECK(error->message.find("live.onnx answers with 2 numbers instead of three") !=
        std::string::npos);
  CHECK(refusal([&] { Liveness{LivePack({2}, net_of(2 * kSize, kGain)).pack()}; }));
}

TEST_SUITE_END();

}  // namespace facematch::testing
