// What sets the families of detectors apart: the names of their outputs, and how these become
// boxes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "types.h"

namespace facematch {

struct Detection {
  Box box;  // pixels of the picture that was looked at
  float score = 0;
  FoundBy found_by = FoundBy::kPrimary;
};

// A member of the manifest that names one output, or a list of them.
struct OutputMember {
  const char* name;
  size_t count = 1;
};

// A net's outputs in the order of the family's members, each as the net wrote it.
using Outputs = std::span<const std::span<float>>;

struct DetectorFamily {
  const char* name;
  std::span<const OutputMember> outputs;

  // Height and width that a net of the family can be run at, where its file leaves them open: any
  // multiple of it.
  int step;

  // Why a net with this input (pixels) and outputs of these sizes (floats) is none of the family;
  // nothing when it is.
  std::optional<std::string> (*mismatch)(cv::Size input, std::span<const size_t> sizes);

  // Adds what scores at least `min_score`, with boxes in pixels of the net's input, which may be
  // smaller than the `whole` one that the net was trained for. The numbers are
  // the net's own and may be anything, NaN and infinities too: Detector drops what makes no sense.
  void (*decode)(cv::Size input, cv::Size whole, Outputs outputs, float min_score,
                 std::vector<Detection>& found);
};

extern const DetectorFamily kRfb;
extern const DetectorFamily kYunet;

// Throws Error kInternalError with a message for people when there is none of that name.
const DetectorFamily& detector_family(const std::string& name);

}  // namespace facematch
