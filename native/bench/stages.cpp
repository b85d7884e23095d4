// Times of each stage for one image, compared with the runs of the nets alone. Everything runs
// interleaved on one thread, so that other load on the machine slows all alike. Times are medians
// of the thread's CPU time.
//   facematch_stages [--image FILE] [--mode fast|balance] [--pack DIR] [--beside DIR]
//     [--rounds N]
// --beside compares detection with that of the pack in that directory. Prints JSON.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "../core/embed/quality.h"
#include "../core/image/decode.h"
#include "../core/pipeline.h"
#include "../test/drawing.h"
#include "nets.h"
#include "program.h"

namespace facematch::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWarmUpRounds = 10;

// 250 x 250 pixels with one upright face of about 100, as in Labeled Faces in the Wild.
testing::ByteVector draw_image(const Engine& engine) {
  const auto photo = decode(testing::sample(3), {}, 0);
  for (const Detection& detection : engine.detector.detect(photo.bgr, kMinScore)) {
    const Points68 points = engine.landmarker.find(photo.bgr, detection.box, false);
    if (std::abs(eye_line_degrees(five_points(points))) > 3) continue;
    cv::Mat small;
    warp(photo.bgr, square_crop(detection.box.centre(), detection.box.width * 2.5f, 0, 250), 250,
         small);
    return testing::encode_jpeg(small, {.quality = 90, .luma = {2, 2}});
  }
  throw std::runtime_error("no upright face in the sample");
}

const std::vector<std::string> kStages = {"decode", "detect", "landmarks", "chip", "embed"};
const std::vector<std::string> kNets = {"detector", "landmarks", "embedder"};

Json measure(const Options& arguments) {
  const auto pack = arguments.text("--pack", testing::default_pack());
  const Engine& engine = load_engine(testing::read_pack(pack));
  const Engine* beside = arguments.has("--beside")
                             ? &load_engine(testing::read_pack(arguments.text("--beside", "")))
                             : nullptr;
  const auto file = arguments.text("--image", "");
  const auto bytes = file.empty() ? draw_image(engine) : testing::read_file(file);
  const int rounds = static_cast<int>(arguments.positive("--rounds", 200));
  const bool balance = arguments.mode() == AccuracyMode::kBalance;
  AnalyseOptions options;
  options.accuracy_mode = arguments.mode();
  options.min_det_score = kMinScore;

  auto image = decode(bytes, options.limits, 0);
  BareNets nets = bare_nets(engine, image);
  const Box box = engine.detector.detect(image.bgr, kMinScore).at(0).box;
  Points68 points = engine.landmarker.find(image.bgr, box, balance);
  cv::Mat chip;
  engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
  Analysis analysis;
  analysis.faces.emplace_back().landmarks = five_points(points);
  const Runs runs = runs_for(engine, analysis, options.accuracy_mode);

  auto embedding = engine.embedder.embed(chip, balance);

  Times times;
  const auto detect_with = [&](const Engine* with, const char* name) {
    if (with == nullptr) return;
    times.measure(name, [&] { with->detector.detect(image.bgr, kMinScore); });
  };
  for (int round = -kWarmUpRounds; round < rounds; ++round) {
    if (round == 0) times.clear();
    times.measure("net detector", [&] { nets.detector.run(); });
    times.measure("net landmarks", [&] { nets.landmarks.run(); });
    times.measure("net embedder", [&] { nets.embedder.run(); });
    times.measure("decode", [&] { image = decode(bytes, options.limits, 0); });
    // Alternating: the first one runs on cold caches.
    if (round % 2 != 0) detect_with(beside, "detect beside");
    detect_with(&engine, "detect");
    if (round % 2 == 0) detect_with(beside, "detect beside");
    times.measure("landmarks", [&] { points = engine.landmarker.find(image.bgr, box, balance); });
    times.measure("chip", [&] {
      engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
    });
    times.measure("embed", [&] { embedding = engine.embedder.embed(chip, balance); });
    times.measure("cohort and human", [&] {
      engine.cohort.score(embedding);
      engine.human.score(embedding);
    });
    times.measure("pose and quality", [&] {
      estimate_pose(points);
      measure_quality(chip, 1);
    });
    times.measure("pipeline", [&] { analyse(engine, bytes, options); });
    // Again, for the noise: how far two medians of the same work differ.
    times.measure("again detector", [&] { nets.detector.run(); });
    times.measure("again landmarks", [&] { nets.landmarks.run(); });
    times.measure("again embedder", [&] { nets.embedder.run(); });
  }

  const auto sum_of_nets = [&](const std::string& prefix) {
    return runs.detector * times.median(prefix + " detector") +
           runs.landmarks * times.median(prefix + " landmarks") +
           runs.embedder * times.median(prefix + " embedder");
  };
  Json stages, bare_runs;
  double sum = 0;
  for (const auto& stage : kStages) {
    stages[stage] = times.median(stage);
    sum += times.median(stage);
  }
  for (const char* own : {"cohort and human", "pose and quality"}) stages[own] = times.median(own);
  for (const auto& net : kNets) bare_runs[net] = times.median("net " + net);
  const double net_sum = sum_of_nets("net");
  Json result = {
      {"pack", std::filesystem::path(pack).filename().string()},
      {"image", {{"width", image.width}, {"height", image.height}, {"bytes", bytes.size()}}},
      {"mode", arguments.text("--mode", "fast")},
      {"rounds", rounds},
      {"runs",
       {{"detector", runs.detector}, {"landmarks", runs.landmarks}, {"embedder", runs.embedder}}},
      {"stages_ms", stages},
      {"nets_ms", bare_runs},
      {"stages_over_nets", sum / net_sum},
      {"pipeline_over_nets", times.median("pipeline") / net_sum},
      {"noise", sum_of_nets("again") / net_sum}};
  if (beside != nullptr) {
    result["detect_over_beside"] = times.median("detect") / times.median("detect beside");
  }
  return result;
}

}  // namespace
}  // namespace facematch::bench

int main(int count, char** words) {
  using namespace facematch::bench;
  return run(count, words, {"--image", "--mode", "--pack", "--beside", "--rounds"}, measure);
}
