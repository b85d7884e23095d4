// The nets of a pack alone, each on an input as in the pipeline: a lower limit for any pipeline
// that uses them.
#pragma once

#include <string>
#include <vector>

#include "../core/engine.h"
#include "../core/image/decode.h"
#include "../core/runtime/session.h"
#include "../core/types.h"

namespace facematch::bench {

// Of a face.
constexpr float kMinScore = 0.7f;

// How often each net runs.
struct Runs {
  int detector = 1;
  int landmarks = 1;
  int embedder = 1;
};

// How often the pipeline ran each net for an image in which these faces were found.
Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode);

// One net with its input. With PReLU the time of a run depends on the input: constants run almost
// twice as fast as faces.
class BareNet {
 public:
  BareNet(const Pack& pack, const std::string& file, const std::string& input,
          const std::vector<std::string>& outputs, const cv::Mat& image,
          const Normalisation& normalisation);

  void run();

 private:
  Net net_;
  std::vector<float> input_;
  cv::Size size_;
};

struct BareNets {
  BareNet detector, landmarks, embedder;

  void run(const Runs& runs);
};

// Inputs from the best face of an image. Throws std::runtime_error when there is none.
BareNets bare_nets(const Engine& engine, const DecodedImage& image);

}  // namespace facematch::bench
