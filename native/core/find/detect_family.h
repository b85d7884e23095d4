// A family of detectors: the names of its outputs and how they are decoded into boxes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../types.h"

namespace facematch {

// A box where a detector sees a face.
struct Detection {
  Box box;
  float score = 0;
  FoundBy found_by = FoundBy::kPrimary;
};

// A member of the manifest that names one output or a list of outputs.
struct OutputMember {
  const char* name;
  size_t count = 1;
};

// Raw outputs of a net, in the order of the family's members.
using Outputs = std::span<const std::span<float>>;

struct DetectorFamily {
  const char* name;
  std::span<const OutputMember> outputs;

  // Where the file leaves height and width open, they may be any multiple of this.
  int stride;

  // Why a net with this input (pixels) and these output sizes (floats) does not belong to the
  // family; nothing when it does.
  std::optional<std::string> (*mismatch)(cv::Size input, std::span<const size_t> sizes);

  // Adds what scores at least `min_score`, with boxes in pixels of the net's input, which may be
  // smaller than `whole`, the input that the net was trained with. Outputs may be any number, also
  // NaN and infinity: Detector drops impossible boxes.
  void (*decode)(cv::Size input, cv::Size whole, Outputs outputs, float min_score,
                 std::vector<Detection>& found);
};

extern const DetectorFamily kRfb;
extern const DetectorFamily kYunet;
extern const DetectorFamily kBlazeface;

// Throws Error kInternalError with a readable message when the name is unknown.
const DetectorFamily& detector_family(const std::string& name);

}  // namespace facematch
