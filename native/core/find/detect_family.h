// A family of detectors: the names of its outputs and how they are decoded into boxes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../runtime/pack.h"
#include "../types.h"

namespace facematch {

// A box where a detector sees a face.
struct Detection {
  Box box;
  float score = 0;
  FoundBy found_by = FoundBy::kPrimary;
};

constexpr size_t kOneForEachStride = 0;

// A member of the manifest that names one output or a list of outputs.
struct OutputMember {
  const char* name;
  size_t count = 1;    // or kOneForEachStride
  size_t columns = 0;  // the last side of such an output, where it is checked
};

// What the manifest says of the cells of a family's grids.
enum class Cells {
  kOwn,      // nothing
  kAnchors,  // `strides` and `anchors`
  kPriors,   // `strides`, `priors` and `variances`
};

// Raw outputs of a net, in the order of the family's members.
using Outputs = std::span<const std::span<float>>;

struct DetectorFamily {
  const char* name;
  std::span<const OutputMember> outputs;

  // Where the file leaves height and width open, they may be any multiple of this; of families
  // whose manifest says the strides, of the largest of them.
  int stride;

  // Why a net with this input (pixels) and these output sizes (floats) does not belong to the
  // family; nothing when it does.
  std::optional<std::string> (*mismatch)(const DetectorSpec& spec, cv::Size input,
                                         std::span<const size_t> sizes);

  // Adds what scores at least `min_score`, with boxes in pixels of the net's input, which may be
  // smaller than that of `spec`, which the net was trained with. Outputs may be any number, also
  // NaN and infinity: Detector drops impossible boxes.
  void (*decode)(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
                 std::vector<Detection>& found);

  Cells cells = Cells::kOwn;
};

extern const DetectorFamily kRfb;
extern const DetectorFamily kYunet;
extern const DetectorFamily kBlazeface;
extern const DetectorFamily kScrfd;
extern const DetectorFamily kRetinaface;

// Throws Error kInternalError with a readable message when the name is unknown.
const DetectorFamily& detector_family(const std::string& name);

// For a family whose manifest says the cells: the names of the outputs that have the shapes of its
// members. Throws Error kInternalError when one has none or several that fit.
std::vector<std::string> outputs_by_shape(const DetectorFamily& family, const DetectorSpec& spec,
                                          std::span<const std::string> names,
                                          std::span<const std::vector<int64_t>> shapes);

// Why outputs of these shapes, in the order of the members, do not belong to the family; nothing
// when they do. Of their sizes DetectorFamily::mismatch() knows more.
std::optional<std::string> misshapen(const DetectorFamily& family, const DetectorSpec& spec,
                                     std::span<const std::vector<int64_t>> shapes);

}  // namespace facematch
