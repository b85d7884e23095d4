// What each stage of one picture costs beside the bare runs of the nets, all on one thread and
// interleaved, so that a busy machine slows both alike. Times are CPU times of the thread, in
// medians.
//   facematch_stages [--picture FILE] [--mode fast|balance] [--pack DIR] [--beside DIR]
//     [--rounds N] [--warm-up N] [--json]
// --beside tells how much longer detecting takes than with the pack of that directory.
// Under callgrind each piece of work of each round becomes a profile of its own,
// once it is warm.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "../core/decode.h"
#include "../core/pipeline.h"
#include "../core/quality.h"
#include "../test/drawing.h"
#include "nets.h"
#include "options.h"
#include "times.h"

namespace facematch::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWarmUpRounds = 10;

// 250 x 250 pixels around one upright face of some 100, as in Labeled Faces in the Wild.
testing::ByteVector draw_picture(const Engine& engine) {
  const Image photo = decode(testing::sample(3), {}, 0);
  for (const Detection& detection : engine.detector.detect(photo.bgr, kMinScore)) {
    const Points68 points = engine.landmarker.find(photo.bgr, detection.box, false);
    if (std::abs(eye_line_degrees(five_points(points))) > 3) continue;
    cv::Mat small;
    warp(photo.bgr, square_crop(detection.box.centre(), detection.box.width * 2.5f, 0, 250), 250,
         small);
    return testing::encode_jpeg(small, {.quality = 90, .subsample = true});
  }
  throw std::runtime_error("no upright face in the sample");
}

const std::vector<std::string> kStages = {"decode", "detect", "landmarks", "chip", "embed"};
const std::vector<std::string> kNets = {"detector", "landmarks", "embedder"};

Json measure(const Options& arguments) {
  const auto pack = arguments.text("--pack", testing::default_pack());
  const Engine& engine = load_engine(pack);
  const Engine* beside =
      arguments.has("--beside") ? &load_engine(arguments.text("--beside", "")) : nullptr;
  const auto picture = arguments.text("--picture", "");
  const auto bytes = picture.empty() ? draw_picture(engine) : testing::read_file(picture);
  const int rounds = static_cast<int>(arguments.positive("--rounds", 200));
  const int warm_up = static_cast<int>(arguments.positive("--warm-up", 10));
  const bool balance = arguments.mode() == AccuracyMode::kBalance;
  AnalyseOptions options;
  options.accuracy_mode = arguments.mode();
  options.min_det_score = kMinScore;

  Image image = decode(bytes, options.limits, 0);
  BareNets nets = bare_nets(engine, image);
  const Box box = engine.detector.detect(image.bgr, kMinScore).at(0).box;
  Points68 points = engine.landmarker.find(image.bgr, box, balance);
  cv::Mat chip;
  engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
  Face face;
  face.landmarks = five_points(points);
  const Runs runs = runs_for(engine, {.faces = {face}}, options.accuracy_mode);

  auto embedding = engine.embedder.embed(chip, balance);

  Times times;
  const auto detect_with = [&](const Engine* with, const char* name) {
    if (with == nullptr) return;
    times.measure(name, [&] { with->detector.detect(image.bgr, kMinScore); });
  };
  for (int round = -warm_up; round < rounds; ++round) {
    if (round == 0) times.begin();
    times.measure("net detector", [&] { nets.detector.run(); });
    times.measure("net landmarks", [&] { nets.landmarks.run(); });
    times.measure("net embedder", [&] { nets.embedder.run(); });
    times.measure("decode", [&] { image = decode(bytes, options.limits, 0); });
    // In turns: whoever is first finds the caches full of something else.
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
    // The same once more: how far two medians of one thing lie apart.
    times.measure("again detector", [&] { nets.detector.run(); });
    times.measure("again landmarks", [&] { nets.landmarks.run(); });
    times.measure("again embedder", [&] { nets.embedder.run(); });
  }

  const auto sum_of_nets = [&](const std::string& prefix) {
    return runs.detector * times.median(prefix + " detector") +
           runs.landmarks * times.median(prefix + " landmarks") +
           runs.embedder * times.median(prefix + " embedder");
  };
  Json stages, bare_runs, counted;
  double sum = 0;
  const auto count = [&](const std::string& name) {
    if (!times.counted()) return;
    counted[name] = {{"instructions", times.instructions(name)}, {"cycles", times.cycles(name)}};
  };
  for (const auto& stage : kStages) {
    stages[stage] = times.median(stage);
    sum += times.median(stage);
    count(stage);
  }
  for (const char* own : {"cohort and human", "pose and quality"}) stages[own] = times.median(own);
  for (const auto& net : kNets) {
    bare_runs[net] = times.median("net " + net);
    count("net " + net);
  }
  count("pipeline");
  const double net_sum = sum_of_nets("net");
  Json result = {
      {"pack", std::filesystem::path(pack).filename().string()},
      {"picture", {{"width", image.width}, {"height", image.height}, {"bytes", bytes.size()}}},
      {"mode", arguments.text("--mode", "fast")},
      {"rounds", rounds},
      {"runs",
       {{"detector", runs.detector}, {"landmarks", runs.landmarks}, {"embedder", runs.embedder}}},
      {"stages_ms", stages},
      {"nets_ms", bare_runs},
      {"counted", counted},
      {"stages_over_nets", sum / net_sum},
      {"pipeline_over_nets", times.median("pipeline") / net_sum},
      {"noise", sum_of_nets("again") / net_sum}};
  if (beside != nullptr) {
    result["detect_over_beside"] = times.median("detect") / times.median("detect beside");
  }
  return result;
}

void print(const Json& result) {
  for (const char* group : {"stages_ms", "nets_ms"}) {
    std::printf("%s\n", group);
    for (const auto& [name, value] : result[group].items()) {
      std::printf("  %-18s %8.3f\n", name.c_str(), value.get<double>());
    }
  }
  for (const auto& [name, value] : result["counted"].items()) {
    std::printf("  %-18s %8.2f M instructions, %8.2f M cycles\n", name.c_str(),
                value["instructions"].get<double>() / 1e6, value["cycles"].get<double>() / 1e6);
  }
  std::printf(
      "stages / nets %.3f, whole pipeline / nets %.3f (noise: nets / nets %.3f; %d rounds, %s)\n",
      result["stages_over_nets"].get<double>(), result["pipeline_over_nets"].get<double>(),
      result["noise"].get<double>(), result["rounds"].get<int>(),
      result["mode"].get<std::string>().c_str());
  if (const auto ratio = result.find("detect_over_beside"); ratio != result.end()) {
    std::printf("detect / detect of the other pack %.2f\n", ratio->get<double>());
  }
}

}  // namespace
}  // namespace facematch::bench

int main(int count, char** words) {
  try {
    const facematch::bench::Options arguments(
        count, words, {"--picture", "--mode", "--pack", "--beside", "--rounds", "--warm-up"},
        {"--json"});
    const auto result = facematch::bench::measure(arguments);
    if (arguments.has("--json")) {
      std::cout << result.dump(2) << '\n';
    } else {
      facematch::bench::print(result);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
