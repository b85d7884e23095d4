// RetinaFace with one output, n x 16: the box of each prior, its two classes, and five points,
// which are ignored.
#include "retinaface.h"

namespace facematch::families::retinaface_joined {
namespace {

constexpr size_t kNumbers = 16;  // per prior
constexpr size_t kClasses = 4;   // offset of the classes

std::vector<OutputShape> outputs_of(const DetectorSpec& spec, cv::Size input) {
  return {{"joined", 0, retinaface::priors_of(spec, input), kNumbers}};
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const float* first = outputs[0].data();
  retinaface::decode_priors(spec, input, {first + kClasses, kNumbers}, {first, kNumbers}, min_score,
                            found);
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"retinaface_joined", 0, outputs_of, decode};

}  // namespace facematch::families::retinaface_joined
