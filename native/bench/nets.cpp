#include "nets.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "../core/runtime/net_input.h"

namespace facematch::bench {

Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode) {
  const bool balance = mode == AccuracyMode::kBalance;
  Runs runs{.detector = 1, .landmarks = 0, .embedder = 0};
  for (const Face& face : analysis.faces) {
    const bool rotated =
        std::abs(eye_line_degrees(face.landmarks)) > engine.pack.landmarks.upright_degrees;
    runs.landmarks += balance || rotated ? 2 : 1;
    runs.embedder += balance ? 2 : 1;
  }
  return runs;
}

BareNet::BareNet(const Pack& pack, const std::string& file, const std::string& input,
                 const std::vector<std::string>& outputs, const cv::Mat& image,
                 const Normalisation& normalisation)
    : net_(pack.directory + "/" + file, input,
           {1, normalisation.channels == Channels::kGrey ? 1 : 3, image.rows, image.cols}, outputs),
      input_(net_.input_size()),
      size_(image.size()) {
  fill_planes(image, normalisation, input_);
}

void BareNet::run() { net_.run(input_, size_.height, size_.width); }

namespace {

BareNet bare_detector(const Engine& engine, const cv::Mat& bgr) {
  const DetectorSpec& spec = engine.pack.detector;
  const cv::Size frame = engine.detector.frame_for(bgr.size());
  cv::Mat small;
  cv::resize(bgr, small, frame, 0, 0, cv::INTER_AREA);
  return {engine.pack, spec.file, spec.input, spec.outputs, small, spec.normalisation};
}

BareNet bare_landmarks(const Pack& pack, const cv::Mat& bgr, const Box& box) {
  const LandmarksSpec& spec = pack.landmarks;
  const float side = std::max(box.width, box.height) * spec.crop;
  cv::Mat patch, grey;
  warp(bgr, square_crop(box.centre(), side, 0, spec.size), spec.size, patch);
  cv::cvtColor(patch, grey, cv::COLOR_BGR2GRAY);
  return {pack, spec.file, spec.input, {spec.output}, grey, spec.normalisation};
}

BareNet bare_embedder(const Pack& pack, const cv::Mat& chip) {
  const EmbedderSpec& spec = pack.embedder;
  return {pack, spec.file, spec.input, {spec.output}, chip, spec.normalisation};
}

}  // namespace

void BareNets::run(const Runs& runs) {
  for (int i = 0; i < runs.detector; ++i) detector.run();
  for (int i = 0; i < runs.landmarks; ++i) landmarks.run();
  for (int i = 0; i < runs.embedder; ++i) embedder.run();
}

BareNets bare_nets(const Engine& engine, const DecodedImage& image) {
  const auto found = engine.detector.detect(image.bgr, kMinScore);
  if (found.empty()) throw std::runtime_error("no face in the image");
  const Box& box = found[0].box;
  const Points68 points = engine.landmarker.find(image.bgr, box, false);
  cv::Mat chip;
  engine.embedder.chip(image.bgr, engine.embedder.align(five_points(points)), chip);
  return {bare_detector(engine, image.bgr), bare_landmarks(engine.pack, image.bgr, box),
          bare_embedder(engine.pack, chip)};
}

}  // namespace facematch::bench
