// A family of detectors: the outputs of its nets, and how they are decoded into boxes. CMake adds
// every .cpp file of this folder as a family. src/engine/families.ts defines how a manifest
// describes each family.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "../../runtime/pack.h"
#include "../../types.h"

namespace facematch {

// A box in which a detector finds a face.
struct Detection {
  Box box;
  float score = 0;
  FoundBy found_by = FoundBy::kPrimary;
};

// Value of OutputShape::rows for an output with any number of rows.
constexpr size_t kAnyRows = 0;

// An output that a net must have: a matrix whose last dimension is `columns`. The rows may consist
// of several dimensions, such as a batch of 1.
struct OutputShape {
  const char* member;  // member of the manifest that names the output
  int stride;          // pixels from cell to cell; 0: the rows of all grids are in one output
  size_t rows, columns;
};

// Raw outputs of a net, in the order of outputs().
using Outputs = std::span<const std::span<float>>;

struct DetectorFamily {
  const char* name;

  // Dynamic heights and widths must be multiples of this number; 0: of the manifest's largest
  // stride.
  int stride;

  // Returns the outputs of a net with an input of that size in pixels.
  std::vector<OutputShape> (*outputs)(const DetectorSpec& spec, cv::Size input);

  // Appends detections that score at least `min_score`, with boxes in pixels of the net's input.
  // `input` may be smaller than the input of `spec`, with which the net was trained. Outputs have
  // the sizes that outputs() returns; their numbers may be NaN or infinity. Detector drops
  // impossible boxes.
  void (*decode)(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
                 std::vector<Detection>& found);
};

// Returns the family. Throws Error kInternalError with a readable message if the name is unknown.
const DetectorFamily& detector_family(const std::string& name);

// Returns the number of a grid's cells along a side of the input. The last cell may extend beyond
// the input.
inline size_t cells_along(int side, int stride) {
  return static_cast<size_t>((side + stride - 1) / stride);
}

inline size_t cells(cv::Size input, int stride) {
  return cells_along(input.width, stride) * cells_along(input.height, stride);
}

inline float sigmoid(float logit) { return 1 / (1 + std::exp(-logit)); }

}  // namespace facematch
