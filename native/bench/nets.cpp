#include "nets.h"

#include <cmath>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "../core/runtime/net_input.h"

namespace facematch::bench {
namespace {

// Returns a function that runs the net of `spec` on the image.
std::function<void()> bare_net(const Pack& pack, const auto& spec,
                               const std::vector<std::string>& outputs, const cv::Mat& image) {
  const auto net = std::make_shared<Net>(
      pack.directory + "/" + spec.file, spec.input,
      std::vector<int64_t>{1, image.channels(), image.rows, image.cols}, outputs);
  std::vector<float> input(net->input_size());
  fill_planes(image, spec.normalisation, input);
  return [net, input, size = image.size()]() mutable { net->run(input, size.height, size.width); };
}

}  // namespace

Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode) {
  const bool balance = mode == AccuracyMode::kBalance;
  Runs runs;
  for (const Face& face : analysis.faces) {
    const bool rotated =
        std::abs(eye_line_degrees(face.landmarks)) > engine.pack.landmarks.upright_degrees;
    runs.landmarks += balance || rotated ? 2 : 1;
    runs.embedder += balance ? 2 : 1;
  }
  return runs;
}

std::function<void(const Runs&)> bare_nets(const Engine& engine, const DecodedImage& image) {
  const auto found = engine.detector.detect(image.bgr, kMinScore);
  if (found.empty()) throw std::runtime_error("no face in the image");
  const Box& box = found[0].box;
  const Pack& pack = engine.pack;
  const int size = engine.landmarker.crop_size();
  cv::Mat frame, patch, grey, chip;
  cv::resize(image.bgr, frame, engine.detector.frame_for(image.bgr.size()), 0, 0, cv::INTER_AREA);
  warp(image.bgr, square_crop(box.centre(), engine.landmarker.crop_side(box), 0, size), size,
       patch);
  cv::cvtColor(patch, grey, cv::COLOR_BGR2GRAY);
  const Points68 points = engine.landmarker.find(image.bgr, box, false);
  engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
  const auto detector = bare_net(pack, pack.detector, pack.detector.outputs, frame);
  const auto landmarks = bare_net(pack, pack.landmarks, {pack.landmarks.output}, grey);
  const auto embedder = bare_net(pack, pack.embedder, {pack.embedder.output}, chip);
  return [=](const Runs& runs) {
    detector();
    for (int i = 0; i < runs.landmarks; ++i) landmarks();
    for (int i = 0; i < runs.embedder; ++i) embedder();
  };
}

}  // namespace facematch::bench
