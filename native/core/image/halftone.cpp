#include "halftone.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace facematch {
namespace {

// Side of the sampled tiles in pixels, and the distance from tile to tile.
constexpr int kTile = 96;
constexpr int kStep = kTile / 2;

// Range of periods per tile in which a screen is searched for: dots that are 12 to 2.2 pixels
// apart.
constexpr int kMinWaves = 8;
constexpr int kMaxWaves = 44;

// Minimum mean difference in grey levels between pixels that are two apart. Ordinary faces have
// less, and do not need the Fourier transform.
constexpr double kMinContrast = 23;

// Minima for a peak in the spectrum: amplitude of its wave in grey levels, ratio of its power to
// the mean power of its ring, and ratio of the perpendicular peak's power to its own. A screen
// repeats in two directions, stripes in one.
constexpr double kMinAmplitude = 20;
constexpr double kMinProminence = 50;
constexpr double kMinAcross = 0.2;

// Minimum ratio of the power of the screen's own peak to that of its overtone.
constexpr double kMinOwnPeak = 0.1;

// Distance, in waves per tile, up to which neighbours belong to a peak because of leakage.
constexpr int kPeak = 2;
constexpr int kPeakArea = (2 * kPeak + 1) * (2 * kPeak + 1);

// Standard deviation of the blur in pitches. It keeps a fiftieth of the screen's amplitude, but
// three quarters of the amplitude of a wave four pitches long.
constexpr double kBlur = 0.45;

// Rows and columns of the sample in which two tones are searched for.
constexpr int kSampleRows = 48;
constexpr int kSampleColumns = 128;

// Minimum difference of two tones in levels.
constexpr int kMinToneDifference = 64;

// Maximum number of pixels between the two tones, and minimum number of changes from one tone to
// the other, as multiples of the rarer tone's pixels. None of 21,093 photos is mistaken for a
// print (lfw-dev, web-dev, cfp-dev, ages-dev, rmfd-dev, origin-dev, london-dev, groups, animals and
// landscapes).
constexpr double kMaxBetween = 1.5;
constexpr double kMinChanges = 0.5;

// Share of the runs of one tone that are at most as long as a dot, and maximum length of a dot in
// pixels.
constexpr double kShareOfDots = 0.2;
constexpr int kMaxDot = 8;

// Distance from dot to dot in medium grey, as a multiple of the dot's size.
constexpr float kPitchOfDot = 2.7f;

class Spectrum {
 public:
  explicit Spectrum(const cv::Mat& grey) {
    static const cv::Mat window = [] {
      cv::Mat hann;
      cv::createHanningWindow(hann, {kTile, kTile}, CV_32F);
      return hann;
    }();
    cv::Mat levels;
    grey.convertTo(levels, CV_32F);
    levels -= cv::mean(levels)[0];
    cv::multiply(levels, window, levels);
    cv::dft(levels, waves_, cv::DFT_COMPLEX_OUTPUT);
  }

  // Returns the power of the wave with `wave.x` periods across and `wave.y` down the tile. A
  // negative number is a wave in the other direction.
  float power(cv::Point wave) const {
    const auto& c = waves_.at<cv::Vec2f>((wave.y + kTile) % kTile, (wave.x + kTile) % kTile);
    return c[0] * c[0] + c[1] * c[1];
  }

  cv::Point highest_near(cv::Point wave) const {
    cv::Point best = wave;
    each_near(wave, [&](cv::Point at) {
      if (power(at) > power(best)) best = at;
    });
    return best;
  }

  double power_near(cv::Point wave) const {
    double sum = 0;
    each_near(wave, [&](cv::Point at) { sum += static_cast<double>(power(at)); });
    return sum;
  }

 private:
  template <typename Visit>
  static void each_near(cv::Point wave, Visit visit) {
    for (int y = -kPeak; y <= kPeak; ++y) {
      for (int x = -kPeak; x <= kPeak; ++x) visit(wave + cv::Point(x, y));
    }
  }

  cv::Mat waves_;
};

double length(cv::Point wave) { return std::hypot(wave.x, wave.y); }

// Visits the waves of one half plane; the other one mirrors it.
template <typename Visit>
void each_wave(double min_length, double max_length, Visit visit) {
  const int max = static_cast<int>(max_length);
  for (int y = 0; y <= max; ++y) {
    for (int x = y == 0 ? 1 : -max; x <= max; ++x) {
      const cv::Point wave(x, y);
      if (length(wave) >= min_length && length(wave) <= max_length) visit(wave);
    }
  }
}

// Returns the mean power of the waves with about the frequency of a peak, without the peaks.
double power_of_ring(const Spectrum& spectrum, cv::Point peak, cv::Point across) {
  constexpr int kApart = kPeak + 1;
  const auto is_near = [](cv::Point a, cv::Point b) {
    return std::max(std::abs(a.x - b.x), std::abs(a.y - b.y)) <= kApart;
  };
  double sum = 0;
  int count = 0;
  each_wave(length(peak) - kApart, length(peak) + kApart, [&](cv::Point wave) {
    if (is_near(wave, peak) || is_near(wave, -peak)) return;
    if (is_near(wave, across) || is_near(wave, -across)) return;
    sum += static_cast<double>(spectrum.power(wave));
    ++count;
  });
  return sum / std::max(count, 1);
}

// Returns the pitch of the dots in a grey tile; 0 if there are none.
float pitch_in(const cv::Mat& grey) {
  constexpr int kApart = 2;
  const int rest = kTile - kApart;
  const double across_columns =
      cv::norm(grey.colRange(0, rest), grey.colRange(kApart, kTile), cv::NORM_L1);
  const double across_rows =
      cv::norm(grey.rowRange(0, rest), grey.rowRange(kApart, kTile), cv::NORM_L1);
  if (std::min(across_columns, across_rows) < kMinContrast * kTile * rest) return 0;
  const Spectrum spectrum(grey);
  cv::Point peak(kMinWaves, 0);
  each_wave(kMinWaves, kMaxWaves, [&](cv::Point wave) {
    if (spectrum.power(wave) > spectrum.power(peak)) peak = wave;
  });
  const cv::Point across = spectrum.highest_near({-peak.y, peak.x});
  const double power = spectrum.power_near(peak), power_across = spectrum.power_near(across);
  // The mean square of a Hann window is 9/64.
  constexpr double kWindowPower = 9.0 / 64 * kTile * kTile * kTile * kTile;
  const double amplitude = 2 * std::sqrt((power + power_across) / kWindowPower);
  const double ring = power_of_ring(spectrum, peak, across);
  const bool is_screen = amplitude >= kMinAmplitude && power_across >= kMinAcross * power &&
                         power + power_across >= 2 * kPeakArea * kMinProminence * ring;
  if (!is_screen) return 0;
  // In medium tones, an overtone may be stronger than the screen's own peak.
  const cv::Point diagonal = spectrum.highest_near((peak + across) / 2);
  const bool is_overtone =
      length(diagonal) >= kMinWaves && spectrum.power_near(diagonal) >= kMinOwnPeak * power;
  return static_cast<float>(kTile / length(is_overtone ? diagonal : peak));
}

// Returns pieces of rows from all over the image, in grey.
cv::Mat sample_of(const cv::Mat& bgr) {
  const int rows = std::min(kSampleRows, bgr.rows), columns = std::min(kSampleColumns, bgr.cols);
  cv::Mat sample(rows, columns, CV_8U);
  for (int i = 0; i < rows; ++i) {
    // The samples cross the image five times from top to bottom.
    const int x = (5 * i % rows) * (bgr.cols - columns) / rows;
    const int y = i * bgr.rows / rows;
    cv::cvtColor(bgr(cv::Rect(x, y, columns, 1)), sample.row(i), cv::COLOR_BGR2GRAY);
  }
  return sample;
}

bool is_two_toned(const cv::Mat& grey) {
  double low = 0, high = 0;
  cv::minMaxLoc(grey, &low, &high);
  if (high - low < kMinToneDifference) return false;
  const auto share_above = [&](double quarters) {
    return cv::countNonZero(grey > low + quarters / 4 * (high - low)) /
           static_cast<double>(grey.total());
  };
  const double light = share_above(3), dark = 1 - share_above(1);
  const double rarer = std::min(light, dark);
  if (1 - light - dark > kMaxBetween * rarer) return false;
  const cv::Mat tones = grey > (low + high) / 2;
  const int rest = grey.cols - 1;
  const double changes = cv::countNonZero(tones.colRange(0, rest) != tones.colRange(1, grey.cols));
  return changes >= kMinChanges * rarer * static_cast<double>(grey.total());
}

// Returns the geometric mean of the dots' sizes along rows and columns, in pixels.
float dot_size(const cv::Mat& bgr) {
  cv::Mat grey, tones;
  cv::cvtColor(bgr, grey, cv::COLOR_BGR2GRAY);
  cv::threshold(grey, tones, 0, 255, cv::THRESH_BINARY | cv::THRESH_OTSU);
  const auto size_along_rows = [](const cv::Mat& of) {
    std::array<int, kMaxDot + 1> runs{};  // by length
    int all = 0;
    for (int y = 0; y < of.rows; ++y) {
      const uint8_t* row = of.ptr(y);
      for (int x = 1, from = 0; x < of.cols; ++x) {
        if (row[x] == row[x - 1]) continue;
        ++all;
        ++runs[static_cast<size_t>(std::min(x - from, kMaxDot))];
        from = x;
      }
    }
    int size = 1;
    for (double seen = runs[1]; size < kMaxDot && seen < kShareOfDots * all; ++size) {
      seen += runs[static_cast<size_t>(size + 1)];
    }
    return size;
  };
  return std::sqrt(static_cast<float>(size_along_rows(tones) * size_along_rows(tones.t())));
}

}  // namespace

float dot_pitch(const cv::Mat& bgr) {
  if (std::min(bgr.cols, bgr.rows) < kTile) return 0;
  cv::Mat grey;
  cv::cvtColor(bgr, grey, cv::COLOR_BGR2GRAY);
  std::vector<float> pitches;
  size_t tiles = 0;
  for (int y = 0; y + kTile <= grey.rows; y += kStep) {
    for (int x = 0; x + kTile <= grey.cols; x += kStep) {
      ++tiles;
      const float pitch = pitch_in(grey(cv::Rect(x, y, kTile, kTile)));
      if (pitch > 0) pitches.push_back(pitch);
    }
  }
  if (4 * pitches.size() >= tiles) {
    const auto upper = pitches.begin() + static_cast<std::ptrdiff_t>(pitches.size() * 3 / 4);
    std::nth_element(pitches.begin(), upper, pitches.end());
    return *upper;
  }
  // Coarser dots are detected in a smaller copy.
  if (std::min(bgr.cols, bgr.rows) < 2 * kTile) return 0;
  cv::Mat half;
  cv::resize(bgr, half, {bgr.cols / 2, bgr.rows / 2}, 0, 0, cv::INTER_AREA);
  return 2 * dot_pitch(half);
}

float two_tone_pitch(const cv::Mat& bgr) {
  return is_two_toned(sample_of(bgr)) ? kPitchOfDot * dot_size(bgr) : 0;
}

cv::Mat without_dots(const cv::Mat& bgr, float pitch) {
  cv::Mat out;
  cv::GaussianBlur(bgr, out, {}, kBlur * static_cast<double>(pitch));
  return out;
}

}  // namespace facematch
