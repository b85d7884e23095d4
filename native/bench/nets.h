// The nets of a pack by themselves, each on an input that the pipeline would give it:
// what no pipeline around them can be faster than.
#pragma once

#include <string>
#include <vector>

#include "../core/engine.h"
#include "../core/session.h"
#include "../core/types.h"

namespace facematch::bench {

// How often each net runs.
struct Runs {
  int detector = 1;
  int landmarks = 1;
  int embedder = 1;
};

// How often they ran for the faces of one picture, none of which was left out of the comparison.
Runs runs_for(const Engine& engine, const Analysis& analysis, AccuracyMode mode);

// One net with its input. PReLU makes the time of a run depend on the input: constants look almost
// twice as fast as faces.
class BareNet {
 public:
  BareNet(const Pack& pack, const std::string& file, const std::string& input,
          const std::vector<std::string>& outputs, const cv::Mat& picture,
          const Normalisation& normalisation, int width, int height);

  void run();

 private:
  Net net_;
  std::vector<float> input_;
  std::vector<std::vector<float>> outputs_;
};

struct BareNets {
  BareNet detector, landmarks, embedder;

  // Inputs out of `bgr`, which has a face at `box` with that chip.
  BareNets(const Engine& engine, const cv::Mat& bgr, const Box& box, const cv::Mat& chip);

  void run(const Runs& runs);
};

// Out of the best face of a picture. Throws std::runtime_error when it has none.
BareNets bare_nets(const Engine& engine, const Image& image);

}  // namespace facematch::bench
