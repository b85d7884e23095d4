#include "net_input.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <vector>

namespace facematch {
namespace {

// Weights along one side: for each output pixel, its first input pixel and the weights of `count`
// input pixels. Unused weights are 0.
struct Taps {
  int count = 0;
  std::vector<int> first;
  std::vector<float> weights;  // `count` for each output pixel
};

Taps taps_for(int from, int to) {
  const double step = static_cast<double>(from) / to;
  const bool shrinks = step > 1;
  Taps taps;
  // The maximum number of pixels that an interval of length `step` can touch.
  taps.count = std::min(from, shrinks ? static_cast<int>(std::ceil(step)) + 1 : 2);
  taps.weights.assign(static_cast<size_t>(to) * static_cast<size_t>(taps.count), 0);
  for (int i = 0; i < to; ++i) {
    // For bilinear weights the interval is one pixel long, around the centre.
    const double middle = (i + 0.5) * step;
    const double begin = shrinks ? i * step : middle - 0.5;
    const double end = shrinks ? (i + 1) * step : middle + 0.5;
    const int first = std::clamp(static_cast<int>(std::floor(begin)), 0, from - taps.count);
    taps.first.push_back(first);
    float* weights = taps.weights.data() + static_cast<ptrdiff_t>(i) * taps.count;
    for (int k = static_cast<int>(std::floor(begin)); k < end; ++k) {
      const double share = (std::min(end, k + 1.0) - std::max(begin, 1.0 * k)) / (end - begin);
      // The edge pixel is repeated outside the image.
      const int at = std::clamp(k, 0, from - 1) - first;
      if (at < taps.count) weights[at] += static_cast<float>(share);
    }
  }
  return taps;
}

// sum[i] = weighted sum of the i-th bytes of the rows
void mix_rows(const cv::Mat& bgr, int first, std::span<const float> weights, std::span<float> sum) {
  for (size_t k = 0; k < weights.size(); ++k) {
    const float weight = weights[k];
    const uint8_t* row = bgr.ptr(first + static_cast<int>(k));
    if (k == 0) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(row[i]) * weight;
    } else if (weight != 0) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<float>(row[i]) * weight;
    }
  }
}

// Blue, green, red and an unused number: the width of a vector register.
using Pixel = float __attribute__((vector_size(16)));

// Reads three floats and the one after them.
Pixel pixel_at(const float* from) {
  Pixel pixel;
  std::memcpy(&pixel, from, sizeof pixel);
  return pixel;
}

// Resizes a row of three channels, plus one unused float, into a row of each plane. `kCount` is the
// number of taps, so that the compiler unrolls the inner loop, or 0 if it is known only at run
// time.
template <int kCount>
void mix_columns(std::span<const float> row, const Taps& taps, float scale, Pixel offset,
                 float* blue, float* green, float* red) {
  const int count = kCount > 0 ? kCount : taps.count;
  const float* weights = taps.weights.data();
  for (size_t x = 0; x < taps.first.size(); ++x, weights += count) {
    const float* from = row.data() + static_cast<ptrdiff_t>(taps.first[x]) * 3;
    Pixel sum = {};
    for (int k = 0; k < count; ++k, from += 3) sum += weights[k] * pixel_at(from);
    sum = sum * scale + offset;
    blue[x] = sum[0];
    green[x] = sum[1];
    red[x] = sum[2];
  }
}

// Returns the normalised values of a black pixel: blue, green, red. A grey image uses only the
// first.
std::array<float, 3> offsets_of(const Normalisation& normalisation) {
  std::array<float, 3> offsets;
  std::transform(normalisation.mean.begin(), normalisation.mean.end(), offsets.begin(),
                 [&](float mean) { return -mean * normalisation.scale; });
  if (normalisation.channels == Channels::kRgb) std::swap(offsets[0], offsets[2]);
  return offsets;
}

// Returns the planes of blue, green and red. A grey image has only the first one.
std::array<float*, 3> split(std::span<float> planes, Channels channels) {
  const size_t size = planes.size() / 3;
  float* const first = planes.data();
  if (channels == Channels::kRgb) return {first + 2 * size, first + size, first};
  return {first, first + size, first + 2 * size};
}

}  // namespace

cv::Size size_within(cv::Size image, cv::Size frame) {
  const float zoom = std::min(static_cast<float>(frame.width) / static_cast<float>(image.width),
                              static_cast<float>(frame.height) / static_cast<float>(image.height));
  return {std::clamp(cvRound(static_cast<float>(image.width) * zoom), 1, frame.width),
          std::clamp(cvRound(static_cast<float>(image.height) * zoom), 1, frame.height)};
}

void letterbox(const cv::Mat& bgr, const Normalisation& normalisation, cv::Size size,
               cv::Size frame, std::span<float> planes) {
  const Taps columns = taps_for(bgr.cols, size.width);
  const Taps rows = taps_for(bgr.rows, size.height);
  const std::array offsets = offsets_of(normalisation);
  const Pixel offset = {offsets[0], offsets[1], offsets[2]};
  const auto mix = columns.count == 2   ? mix_columns<2>
                   : columns.count == 3 ? mix_columns<3>
                                        : mix_columns<0>;
  const auto out = split(planes, normalisation.channels);
  thread_local std::vector<float> row;
  row.resize(static_cast<size_t>(bgr.cols) * 3 + 1);
  const auto sum = std::span(row).first(row.size() - 1);
  for (int y = 0; y < size.height; ++y) {
    const auto count = static_cast<size_t>(rows.count);
    const std::span weights(rows.weights);
    mix_rows(bgr, rows.first[static_cast<size_t>(y)],
             weights.subspan(static_cast<size_t>(y) * count, count), sum);
    const ptrdiff_t at = static_cast<ptrdiff_t>(y) * frame.width;
    mix(row, columns, normalisation.scale, offset, out[0] + at, out[1] + at, out[2] + at);
    for (size_t i = 0; i < out.size(); ++i) {
      std::fill(out[i] + at + size.width, out[i] + at + frame.width, offsets[i]);
    }
  }
  const ptrdiff_t below = static_cast<ptrdiff_t>(size.height) * frame.width;
  for (size_t i = 0; i < out.size(); ++i) {
    std::fill(out[i] + below, out[i] + frame.area(), offsets[i]);
  }
}

void fill_planes(const cv::Mat& image, const Normalisation& normalisation,
                 std::span<float> planes) {
  const size_t channels = normalisation.channels == Channels::kGrey ? 1 : 3;
  const std::array offsets = offsets_of(normalisation);
  const auto out = split(planes, normalisation.channels);
  const auto width = static_cast<size_t>(image.cols);
  for (int y = 0; y < image.rows; ++y) {
    const uint8_t* from = image.ptr(y);
    for (size_t channel = 0; channel < channels; ++channel) {
      float* const to = out[channel] + static_cast<size_t>(y) * width;
      for (size_t x = 0; x < width; ++x) {
        to[x] = static_cast<float>(from[x * channels + channel]) * normalisation.scale +
                offsets[channel];
      }
    }
  }
}

void mirror_planes(std::span<float> planes, int width) {
  cv::Mat rows(static_cast<int>(planes.size()) / width, width, CV_32F, planes.data());
  cv::flip(rows, rows, 1);
}

}  // namespace facematch
