// Families whose manifest says strides and anchors, so that nets of several shapes are of one
// family. Outputs are ordered by grid, then by row, column and anchor; a net may have five points
// of each face as well, which are not read: the pack's landmark net finds its own.
#include <cmath>
#include <numeric>

#include "../error.h"
#include "detect_family.h"

namespace facematch {
namespace {

using Shape = std::vector<int64_t>;

// An output that a net must have.
struct Wanted {
  const OutputMember& member;
  int stride;   // 0: of all
  size_t rows;  // one for each anchor
};

size_t area(const Shape& shape) {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

std::string words(const Shape& shape) {
  std::string text;
  for (const int64_t side : shape) text += (text.empty() ? "" : "×") + std::to_string(side);
  return text;
}

std::string words(const Wanted& wanted) {
  std::string text = std::string("\"") + wanted.member.name + "\"";
  if (wanted.stride > 0) text += " for stride " + std::to_string(wanted.stride);
  return text;
}

// A cell that extends beyond the input counts.
size_t cells(cv::Size input, int stride) {
  const auto along = [&](int side) { return static_cast<size_t>((side + stride - 1) / stride); };
  return along(input.width) * along(input.height);
}

size_t anchors(const DetectorSpec& spec, size_t grid) {
  return spec.priors.empty() ? static_cast<size_t>(spec.anchors) : spec.priors[grid].size();
}

// In the order of the family's members.
std::vector<Wanted> wanted_of(const DetectorFamily& family, const DetectorSpec& spec,
                              cv::Size input) {
  std::vector<size_t> rows;
  for (size_t grid = 0; grid < spec.strides.size(); ++grid) {
    rows.push_back(cells(input, spec.strides[grid]) * anchors(spec, grid));
  }
  std::vector<Wanted> all;
  for (const OutputMember& member : family.outputs) {
    if (member.count != kOneForEachStride) {
      all.push_back({member, 0, std::accumulate(rows.begin(), rows.end(), size_t{0})});
      continue;
    }
    for (size_t grid = 0; grid < rows.size(); ++grid) {
      all.push_back({member, spec.strides[grid], rows[grid]});
    }
  }
  return all;
}

std::optional<std::string> wrong_sizes(const DetectorFamily& family, const DetectorSpec& spec,
                                       cv::Size input, std::span<const size_t> sizes) {
  const std::vector<Wanted> all = wanted_of(family, spec, input);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t expected = all[i].rows * all[i].member.columns;
    if (sizes[i] == expected) continue;
    return words(all[i]) + " has " + std::to_string(sizes[i]) + " numbers instead of " +
           std::to_string(expected);
  }
  return std::nullopt;
}

}  // namespace

// SCRFD (InsightFace): anchors are the corners of cells, some at each. For each stride scores
// n x 1, 0..1, and boxes n x 4: from the anchor to the left, the top, the right and the bottom, in
// cells. With or without a batch of 1 before.
namespace scrfd {
namespace {

constexpr OutputMember kOutputs[] = {{"scores", kOneForEachStride, 1},
                                     {"boxes", kOneForEachStride, 4}};

std::optional<std::string> mismatch(const DetectorSpec& spec, cv::Size input,
                                    std::span<const size_t> sizes) {
  const int stride = spec.strides.back();
  if (input.width % stride != 0 || input.height % stride != 0) {
    return "its width and height must be multiples of " + std::to_string(stride);
  }
  return wrong_sizes(kScrfd, spec, input, sizes);
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const size_t grids = spec.strides.size();
  const size_t each = static_cast<size_t>(spec.anchors);
  for (size_t grid = 0; grid < grids; ++grid) {
    const float stride = static_cast<float>(spec.strides[grid]);
    const size_t columns = static_cast<size_t>(input.width / spec.strides[grid]);
    const std::span<const float> scores = outputs[grid];
    const float* side = outputs[grids + grid].data();
    for (size_t i = 0; i < scores.size(); ++i, side += 4) {
      if (!(scores[i] >= min_score)) continue;
      const size_t cell = i / each;
      const float x = static_cast<float>(cell % columns), y = static_cast<float>(cell / columns);
      found.push_back({{(x - side[0]) * stride, (y - side[1]) * stride,
                        (side[0] + side[2]) * stride, (side[1] + side[3]) * stride},
                       scores[i]});
    }
  }
}

}  // namespace
}  // namespace scrfd

// RetinaFace as trained with PyTorch: an SSD with square priors in the middle of each cell. scores
// 1 x n x 2 after softmax, the second is the face's; boxes 1 x n x 4 from the prior to the box:
// centre (x, y, in sides of the prior) and logarithm of the sides.
namespace retinaface {
namespace {

constexpr OutputMember kOutputs[] = {{"scores", 1, 2}, {"boxes", 1, 4}};

std::optional<std::string> mismatch(const DetectorSpec& spec, cv::Size input,
                                    std::span<const size_t> sizes) {
  return wrong_sizes(kRetinaface, spec, input, sizes);
}

void decode(const DetectorSpec& spec, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const float* score = outputs[0].data() + 1;
  const float* t = outputs[1].data();
  const auto [of_centre, of_sides] = spec.variances;
  for (size_t grid = 0; grid < spec.strides.size(); ++grid) {
    const float stride = static_cast<float>(spec.strides[grid]);
    const size_t columns = cells({input.width, 1}, spec.strides[grid]);
    const size_t count = cells(input, spec.strides[grid]);
    for (size_t cell = 0; cell < count; ++cell) {
      const float x = (static_cast<float>(cell % columns) + 0.5f) * stride;
      const float y = (static_cast<float>(cell / columns) + 0.5f) * stride;
      for (const float prior : spec.priors[grid]) {
        if (*score >= min_score) {
          const float width = std::exp(t[2] * of_sides) * prior;
          const float height = std::exp(t[3] * of_sides) * prior;
          found.push_back({{x + t[0] * of_centre * prior - width / 2,
                            y + t[1] * of_centre * prior - height / 2, width, height},
                           *score});
        }
        score += 2;
        t += 4;
      }
    }
  }
}

}  // namespace
}  // namespace retinaface

const DetectorFamily kScrfd = {"scrfd",         scrfd::kOutputs, 0,
                               scrfd::mismatch, scrfd::decode,   Cells::kAnchors};
const DetectorFamily kRetinaface = {"retinaface",         retinaface::kOutputs, 0,
                                    retinaface::mismatch, retinaface::decode,   Cells::kPriors};

std::vector<std::string> outputs_by_shape(const DetectorFamily& family, const DetectorSpec& spec,
                                          std::span<const std::string> names,
                                          std::span<const Shape> shapes) {
  std::vector<std::string> chosen;
  for (const Wanted& wanted : wanted_of(family, spec, {spec.width, spec.height})) {
    const size_t columns = wanted.member.columns;
    size_t fitting = 0;
    std::string seen;
    for (size_t i = 0; i < names.size(); ++i) {
      seen += (i == 0 ? "\"" : ", \"") + names[i] + "\" " + words(shapes[i]);
      const bool fits = !shapes[i].empty() && shapes[i].back() == static_cast<int64_t>(columns) &&
                        area(shapes[i]) == wanted.rows * columns;
      if (!fits) continue;
      if (++fitting == 1) chosen.push_back(names[i]);
    }
    if (fitting == 1) continue;
    throw Error(ErrorCode::kInternalError,
                "the detector " + spec.file + " of the family " + family.name + " has " +
                    (fitting == 0 ? "no output" : "several outputs") + " of the shape " +
                    std::to_string(wanted.rows) + "×" + std::to_string(columns) + ", for " +
                    words(wanted) + ": name the outputs in the manifest; there are " + seen);
  }
  return chosen;
}

std::optional<std::string> misshapen(const DetectorFamily& family, const DetectorSpec& spec,
                                     std::span<const Shape> shapes) {
  if (family.cells == Cells::kOwn) return std::nullopt;
  const std::vector<Wanted> all = wanted_of(family, spec, {spec.width, spec.height});
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t columns = all[i].member.columns;
    if (!shapes[i].empty() && shapes[i].back() == static_cast<int64_t>(columns)) continue;
    return words(all[i]) + " has the shape " + words(shapes[i]) + ", whose last side should be " +
           std::to_string(columns);
  }
  return std::nullopt;
}

}  // namespace facematch
