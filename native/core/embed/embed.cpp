#include "embed.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "../error.h"
#include "../runtime/net_input.h"

namespace facematch {
namespace {

// A chip is about as wide as the longer side of the box. With fewer source pixels per chip pixel
// than this, embeddings begin to differ from those of the full image.
constexpr float kPixelsPerChipPixel = 1.2f;

// Minimum squared length. Shorter vectors become zero, because 1 / length could overflow a float.
constexpr double kMinSquare = 1e-70;

void normalise(Embedding& vector) {
  double sum = 0;
  for (const float v : vector) sum += static_cast<double>(v) * v;
  // Without this check, NaN would reach the similarities, where every comparison with it is false.
  if (!std::isfinite(sum)) {
    throw Error(ErrorCode::kInternalError, "the embedder returned NaN or infinity");
  }
  const float scale = sum >= kMinSquare ? static_cast<float>(1 / std::sqrt(sum)) : 0.0f;
  for (float& v : vector) v *= scale;
}

}  // namespace

Embedder::Embedder(const Pack& pack)
    : spec_(pack.embedder),
      net_(pack.directory + "/" + spec_.file, spec_.input, {1, 3, spec_.size, spec_.size},
           {spec_.output}) {
  if (net_.output_size(0) != static_cast<size_t>(spec_.dimensions)) {
    throw Error(ErrorCode::kInternalError, "the embedder's output \"" + spec_.output + "\" has " +
                                               std::to_string(net_.output_size(0)) +
                                               " numbers, but the manifest says " +
                                               std::to_string(spec_.dimensions) + " dimensions");
  }
}

Similarity Embedder::align(const Landmarks& landmarks) const {
  const auto points = landmarks.points();
  return fit_similarity(points, spec_.template_points);
}

void Embedder::chip(const View& view, const Similarity& alignment, cv::Mat& out) const {
  view.crop(alignment, spec_.size, out);
}

Part Embedder::part_for(const Box& box) const {
  return {around_face(box), kPixelsPerChipPixel * static_cast<float>(spec_.size) /
                                std::max({box.width, box.height, 1.0f})};
}

Embedding Embedder::embed(const cv::Mat& chip, bool mirror) const {
  thread_local std::vector<float> input;
  input.resize(net_.input_size());
  fill_planes(chip, spec_.normalisation, input);
  Embedding embedding(net_.output_size(0));
  net_.run(input, embedding);
  normalise(embedding);
  if (!mirror) return embedding;
  mirror_planes(input, spec_.size);
  Embedding mirrored(embedding.size());
  net_.run(input, mirrored);
  normalise(mirrored);
  for (size_t i = 0; i < embedding.size(); ++i) embedding[i] += mirrored[i];
  normalise(embedding);
  return embedding;
}

}  // namespace facematch
