// What `balance` could do with a face: embeddings of many pictures by every variant that was
// thought of. bench/choices.mjs builds and runs it and judges what comes out.
//   facematch_chips PACK FOLDER < NAMES > EMBEDDINGS
// Reads names of pictures, one a line; writes for each a byte (1: a face was found) and then, when
// there is one, `dimensions` floats a variant.
//   facematch_chips --variants PACK PICTURE
// Prints each variant's name, runs of the embedder, runs of the landmark net, and milliseconds from
// the found face of the picture to its embedding.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <opencv2/imgproc.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../core/decode.h"
#include "../core/embed.h"
#include "../core/engine.h"
#include "../core/landmarks.h"
#include "../test/support.h"
#include "options.h"
#include "times.h"

namespace facematch::bench {
namespace {

enum class Look { kOnePass, kTwoPasses, kMeanOfFive };
enum class Sampling { kAsIs, kCubic, kReplicatedBorder };

struct Variant {
  const char* name;
  Look look;
  std::vector<float> scales;
  bool mirror;
  Sampling sampling = Sampling::kAsIs;
};

// The first is mode fast, the second mode balance, as far as chips go.
const std::vector<Variant> kVariants = {
    {"one landmark pass, one chip (fast)", Look::kOnePass, {1}, false},
    {"second landmark pass, chip and mirror image (balance)", Look::kTwoPasses, {1}, true},
    {"one landmark pass, chip and mirror image", Look::kOnePass, {1}, true},
    {"second landmark pass, one chip", Look::kTwoPasses, {1}, false},
    {"mean of five landmark passes, chip and mirror image", Look::kMeanOfFive, {1}, true},
    {"balance, and the chip at 0.95", Look::kTwoPasses, {1, 0.95f}, true},
    {"balance, and the chip at 0.9", Look::kTwoPasses, {1, 0.9f}, true},
    {"balance, and the chip at 1.05", Look::kTwoPasses, {1, 1.05f}, true},
    {"balance, and the chip at 0.95 and 1.05", Look::kTwoPasses, {1, 0.95f, 1.05f}, true},
    {"balance, cubic interpolation", Look::kTwoPasses, {1}, true, Sampling::kCubic},
    {"balance, the picture's edge repeated outside",
     Look::kTwoPasses,
     {1},
     true,
     Sampling::kReplicatedBorder},
};

int landmark_runs(Look look) {
  return look == Look::kOnePass ? 1 : look == Look::kTwoPasses ? 2 : 6;
}

// The most central of the large faces, as `facematch eval` takes it.
const Detection& central(const std::vector<Detection>& faces, const cv::Mat& bgr) {
  const auto weight = [&](const Detection& face) {
    const Point center = face.box.center();
    const float dx = center.x / static_cast<float>(bgr.cols) - 0.5f;
    const float dy = center.y / static_cast<float>(bgr.rows) - 0.5f;
    const float middle = std::max(0.0f, 1 - 2 * std::hypot(dx, dy));
    return face.box.area() * middle * middle;
  };
  return *std::max_element(faces.begin(), faces.end(),
                           [&](const auto& a, const auto& b) { return weight(a) < weight(b); });
}

Points68 find_points(const Landmarker& landmarker, const cv::Mat& bgr, const Box& box, Look look) {
  if (look != Look::kMeanOfFive) return landmarker.find(bgr, box, look == Look::kTwoPasses);
  const float step = 0.03f * std::max(box.width, box.height);
  const Points68 first = landmarker.find(bgr, box, true);
  Points68 sum = first;
  for (const auto& [shift, grow] :
       {std::pair{0.0f, 0.93f}, {0.0f, 1.07f}, {step, 1.0f}, {-step, 1.0f}}) {
    const Point center = box.center() + Point(shift, 0);
    const Box moved{center.x - box.width * grow / 2, center.y - box.height * grow / 2,
                    box.width * grow, box.height * grow};
    const Points68 points = landmarker.find(bgr, moved, true);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += points[i];
  }
  for (Point& point : sum) point /= 5;
  return sum;
}

cv::Mat chip_of(const Embedder& embedder, const cv::Mat& bgr, const Points68& points, float scale,
                Sampling sampling) {
  Similarity t = embedder.align(five_points(points));
  const float middle = static_cast<float>(embedder.chip_size()) / 2;
  t = {t.a * scale, t.b * scale, (t.tx - middle) * scale + middle,
       (t.ty - middle) * scale + middle};
  cv::Mat chip;
  if (sampling == Sampling::kAsIs) {
    embedder.chip(bgr, t, chip);
    return chip;
  }
  const bool cubic = sampling == Sampling::kCubic;
  cv::warpAffine(bgr, chip, cv::Matx23f(t.a, -t.b, t.tx, t.b, t.a, t.ty),
                 {embedder.chip_size(), embedder.chip_size()},
                 cubic ? cv::INTER_CUBIC : cv::INTER_LINEAR,
                 cubic ? cv::BORDER_CONSTANT : cv::BORDER_REPLICATE);
  return chip;
}

// The embedding of one face by one variant, not of unit length.
Embedding embed(const Engine& engine, const cv::Mat& bgr, const Box& box, const Variant& variant) {
  const Points68 points = find_points(engine.landmarker, bgr, box, variant.look);
  Embedding sum;
  for (const float scale : variant.scales) {
    const cv::Mat chip = chip_of(engine.embedder, bgr, points, scale, variant.sampling);
    const Embedding embedding = engine.embedder.embed(chip, variant.mirror);
    sum.resize(embedding.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += embedding[i];
  }
  return sum;
}

// All variants of one picture, one after another; empty without a face.
std::vector<float> embeddings_of(const Engine& engine, const std::vector<uint8_t>& bytes) {
  const Image image = decode(bytes, {}, 0);
  const auto faces = engine.detector.detect(image.bgr, kMinScore);
  if (faces.empty()) return {};
  const Box box = central(faces, image.bgr).box;
  std::vector<float> all;
  for (const Variant& variant : kVariants) {
    const Embedding embedding = embed(engine, image.bgr, box, variant);
    all.insert(all.end(), embedding.begin(), embedding.end());
  }
  return all;
}

// What each variant costs from a found face to its embedding; the variants take turns.
void list_variants(const std::string& pack, const std::string& file) {
  const Engine& engine = load_engine(pack);
  const Image image = decode(testing::read_file(file), {}, 0);
  const auto faces = engine.detector.detect(image.bgr, kMinScore);
  if (faces.empty()) throw std::runtime_error(file + ": no face");
  Times times;
  for (int round = 0; round < 30; ++round) {
    for (const Variant& variant : kVariants) {
      times.measure(variant.name, [&] { embed(engine, image.bgr, faces[0].box, variant); });
    }
  }
  for (const Variant& variant : kVariants) {
    const size_t chips = variant.scales.size() * (variant.mirror ? 2 : 1);
    std::cout << variant.name << '\t' << chips << '\t' << landmark_runs(variant.look) << '\t'
              << times.median(variant.name) << '\n';
  }
}

void run(const std::string& pack, const std::string& folder) {
  const Engine& engine = load_engine(pack);
  std::vector<std::string> names;
  for (std::string name; std::getline(std::cin, name);) names.push_back(name);
  std::vector<std::vector<float>> rows(names.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < names.size();) {
      rows[i] = embeddings_of(engine, testing::read_file(folder + "/" + names[i]));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
  }
  for (const auto& row : rows) {
    std::fputc(row.empty() ? 0 : 1, stdout);
    std::fwrite(row.data(), sizeof(float), row.size(), stdout);
  }
}

}  // namespace
}  // namespace facematch::bench

int main(int argc, char** argv) {
  using namespace facematch::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.size() == 3 && args[0] == "--variants") {
      list_variants(args[1], args[2]);
    } else if (args.size() == 2) {
      run(args[0], args[1]);
    } else {
      std::cerr << "usage: facematch_chips PACK FOLDER < NAMES > EMBEDDINGS\n"
                << "       facematch_chips --variants PACK PICTURE\n";
      return 2;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
