// What each stage of one picture costs beside the bare runs of the nets, all on one thread and
// interleaved, so that a busy machine slows both alike. Times are CPU times of the thread, in
// medians.
//   facematch_stages [--picture FILE] [--mode fast|balance] [--rounds N] [--json]
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "../core/decode.h"
#include "../core/pipeline.h"
#include "../core/quality.h"
#include "../core/tensor.h"
#include "../test/drawing.h"
#include "times.h"

namespace facematch::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr float kMinScore = 0.7f;
constexpr int kWarmUpRounds = 10;

struct Arguments {
  std::string picture;
  AccuracyMode mode = AccuracyMode::kFast;
  int rounds = 200;
  bool json = false;
};

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string {
      if (++i == count) throw std::invalid_argument(word + " needs a value");
      return words[i];
    };
    if (word == "--picture") {
      arguments.picture = value();
    } else if (word == "--mode") {
      const std::string mode = value();
      if (mode != "fast" && mode != "balance") throw std::invalid_argument("no such mode: " + mode);
      arguments.mode = mode == "fast" ? AccuracyMode::kFast : AccuracyMode::kBalance;
    } else if (word == "--rounds") {
      arguments.rounds = std::stoi(value());
      if (arguments.rounds < 1) throw std::invalid_argument("--rounds must be at least 1");
    } else if (word == "--json") {
      arguments.json = true;
    } else {
      throw std::invalid_argument("unknown argument: " + word);
    }
  }
  return arguments;
}

// 250 x 250 pixels around one upright face of some 100, as in Labeled Faces in the Wild.
testing::ByteVector draw_picture(const Engine& engine) {
  const Image photo = decode(testing::sample(3), {}, 0);
  for (const Detection& detection : engine.detector.detect(photo.bgr, kMinScore)) {
    const Points68 points = engine.landmarker.find(photo.bgr, detection.box, false);
    if (std::abs(eye_line_degrees(five_points(points))) > 3) continue;
    cv::Mat small;
    warp(photo.bgr, square_crop(detection.box.center(), detection.box.width * 2.5f, 0, 250), 250,
         small);
    return testing::encode_jpeg(small, {.quality = 90, .subsample = true});
  }
  throw std::runtime_error("no upright face in the sample");
}

// A net by itself, on the input that the pipeline would give it.
struct Bare {
  Net net;
  std::vector<float> input;
  std::vector<std::vector<float>> outputs;

  void run() {
    if (outputs.size() == 1) net.run(input, {outputs[0]});
    if (outputs.size() == 2) net.run(input, {outputs[0], outputs[1]});
  }
};

Bare bare(const Pack& pack, const std::string& file, const std::string& input,
          const std::vector<std::string>& outputs, const cv::Mat& picture,
          const Normalisation& normalisation, int width, int height) {
  const int channels = normalisation.channels == Channels::kGrey ? 1 : 3;
  Bare bare{.net = Net(pack.directory + "/" + file, input, {1, channels, height, width}, outputs),
            .input = {},
            .outputs = {}};
  bare.input.resize(bare.net.input_size());
  fill_planes(picture, normalisation, width, height, bare.input);
  for (size_t i = 0; i < outputs.size(); ++i) bare.outputs.emplace_back(bare.net.output_size(i));
  return bare;
}

struct Nets {
  Bare detector, landmarks, embedder;
};

Nets load_nets(const Engine& engine, const cv::Mat& bgr, const Box& box, const cv::Mat& chip) {
  const DetectorSpec& d = engine.pack.detector;
  const LandmarksSpec& l = engine.pack.landmarks;
  const EmbedderSpec& e = engine.pack.embedder;
  cv::Mat small, patch, grey;
  cv::resize(bgr, small, {d.width, d.height}, 0, 0, cv::INTER_AREA);
  warp(bgr, square_crop(box.center(), std::max(box.width, box.height) * l.crop, 0, l.size), l.size,
       patch);
  cv::cvtColor(patch, grey, cv::COLOR_BGR2GRAY);
  return {bare(engine.pack, d.file, d.input, {d.scores, d.boxes}, small, d.normalisation, d.width,
               d.height),
          bare(engine.pack, l.file, l.input, {l.output}, grey, l.normalisation, l.size, l.size),
          bare(engine.pack, e.file, e.input, {e.output}, chip, e.normalisation, e.size, e.size)};
}

Json measure(const Arguments& arguments) {
  const Engine& engine = testing::default_engine();
  const auto bytes =
      arguments.picture.empty() ? draw_picture(engine) : testing::read_file(arguments.picture);
  const bool balance = arguments.mode == AccuracyMode::kBalance;
  DetectOptions options;
  options.accuracy_mode = arguments.mode;
  options.min_det_score = kMinScore;

  Image image = decode(bytes, options.limits, 0);
  std::vector<Detection> detections = engine.detector.detect(image.bgr, kMinScore);
  if (detections.empty()) throw std::runtime_error("no face in the picture");
  detections.resize(1);
  const Box box = detections[0].box;
  Points68 points = engine.landmarker.find(image.bgr, box, balance);
  const bool leans =
      std::abs(eye_line_degrees(five_points(points))) > engine.pack.landmarks.upright_degrees;
  cv::Mat chip;
  engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
  Nets nets = load_nets(engine, image.bgr, box, chip);

  Times times;
  for (int round = -kWarmUpRounds; round < arguments.rounds; ++round) {
    if (round == 0) times.forget();
    times.measure("net detector", [&] { nets.detector.run(); });
    times.measure("net landmarks", [&] { nets.landmarks.run(); });
    times.measure("net embedder", [&] { nets.embedder.run(); });
    times.measure("decode", [&] { image = decode(bytes, options.limits, 0); });
    times.measure("detect", [&] { engine.detector.detect(image.bgr, kMinScore); });
    times.measure("landmarks", [&] { points = engine.landmarker.find(image.bgr, box, balance); });
    times.measure("chip", [&] {
      engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
    });
    times.measure("embed", [&] { engine.embedder.embed(chip, balance); });
    times.measure("pose and quality", [&] {
      estimate_pose(points);
      measure_quality(chip, 1);
    });
    times.measure("pipeline", [&] { detect(engine, bytes, options, true); });
    // The same once more: how far two medians of one thing lie apart.
    times.measure("again detector", [&] { nets.detector.run(); });
    times.measure("again landmarks", [&] { nets.landmarks.run(); });
    times.measure("again embedder", [&] { nets.embedder.run(); });
  }

  const int landmark_runs = balance || leans ? 2 : 1;
  const int embedder_runs = balance ? 2 : 1;
  const auto sum_of_nets = [&](const std::string& prefix) {
    return times.median(prefix + " detector") +
           landmark_runs * times.median(prefix + " landmarks") +
           embedder_runs * times.median(prefix + " embedder");
  };
  Json stages, bare_runs;
  double sum = 0;
  for (const char* stage : {"decode", "detect", "landmarks", "chip", "embed"}) {
    stages[stage] = times.median(stage);
    sum += times.median(stage);
  }
  stages["pose and quality"] = times.median("pose and quality");
  for (const char* net : {"detector", "landmarks", "embedder"}) {
    bare_runs[net] = times.median(std::string("net ") + net);
  }
  const double net_sum = sum_of_nets("net");
  return {{"picture", {{"width", image.width}, {"height", image.height}, {"bytes", bytes.size()}}},
          {"mode", balance ? "balance" : "fast"},
          {"rounds", arguments.rounds},
          {"runs", {{"detector", 1}, {"landmarks", landmark_runs}, {"embedder", embedder_runs}}},
          {"stages_ms", stages},
          {"nets_ms", bare_runs},
          {"stages_over_nets", sum / net_sum},
          {"pipeline_over_nets", times.median("pipeline") / net_sum},
          {"noise", sum_of_nets("again") / net_sum}};
}

void print(const Json& result) {
  for (const char* group : {"stages_ms", "nets_ms"}) {
    std::printf("%s\n", group);
    for (const auto& [name, value] : result[group].items()) {
      std::printf("  %-18s %8.3f\n", name.c_str(), value.get<double>());
    }
  }
  std::printf(
      "stages / nets %.3f, whole pipeline / nets %.3f (noise: nets / nets %.3f; %d rounds, %s)\n",
      result["stages_over_nets"].get<double>(), result["pipeline_over_nets"].get<double>(),
      result["noise"].get<double>(), result["rounds"].get<int>(),
      result["mode"].get<std::string>().c_str());
}

}  // namespace
}  // namespace facematch::bench

int main(int count, char** words) {
  try {
    const auto arguments = facematch::bench::parse(count, words);
    const auto result = facematch::bench::measure(arguments);
    if (arguments.json) {
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
