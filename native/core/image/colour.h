// Colour spaces of images: tone curves and primaries, from an ICC profile or the chunks of a PNG.
// docs/images.md says when they are applied.
#pragma once

#include <array>
#include <cstdint>
#include <opencv2/core.hpp>
#include <optional>
#include <span>
#include <vector>

#include "../runtime/budget.h"

namespace facematch {

// Maps a stored value x, 0..1, to linear light, 0..1, by points at equal distances. Without points:
// (a x + b)^g + e for x >= d, otherwise c x + f (ICC.1:2022, section 10.18).
struct ToneCurve {
  std::vector<float> points;
  float g = 1;
  float a = 1;
  float b = 0;
  float c = 0;
  float d = 0;
  float e = 0;
  float f = 0;

  float operator()(float value) const;
};

struct ColourSpace {
  std::array<ToneCurve, 3> curves;  // red, green, blue
  // linear light of these primaries -> linear light of sRGB
  cv::Matx33f to_srgb = cv::Matx33f::eye();

  // Returns the maximum difference in brightness between this space and sRGB for the same stored
  // values, in levels of 0..255.
  float levels_from_srgb() const;
};

// Maximum levels_from_srgb() at which pixels are compared as they are stored. Display P3, Adobe
// RGB, Rec. 2020 and gamma 1.8 are below it.
constexpr float kNearSrgb = 32;

// `gamma`: value of the gAMA chunk, the exponent that maps light to the stored value.
ColourSpace gamma_space(double gamma);

// Returns the matrix to sRGB from the chromaticities of white, red, green and blue; nothing if they
// are degenerate.
std::optional<cv::Matx33f> srgb_from_primaries(const std::array<cv::Point2d, 4>& xy);

// The colour information of an image.
struct Colours {
  std::optional<ColourSpace> space;
  bool is_unsupported = false;  // a lookup table, or PQ or HLG, whose white is not the maximum
};

// Looks up code points of ITU-T H.273, as in the cICP chunk. PQ and HLG are unsupported. Both
// members are unset for other unknown code points.
Colours h273_colours(int primaries, int transfer);

// Reads an ICC profile (ICC.1:2022). Both members are unset for a damaged profile, or a profile for
// another kind of image, because browsers ignore such profiles. Profiles for grey images are read
// if `allows_grey`.
Colours read_icc_profile(std::span<const uint8_t> profile, bool allows_grey);

// Returns the space if pixels must be converted because it is not near sRGB. Throws Error
// kUnsupportedImageFormat for unsupported colours.
std::optional<ColourSpace> space_to_convert(Colours colours);

// Converts pixels to sRGB.
class ToSrgb {
 public:
  // `max_value`: maximum stored value, 255 or 65535.
  ToSrgb(const ColourSpace& space, int max_value);

  // Converts 8-bit BGR in place. Throws the error of Budget::stop().
  void convert(cv::Mat& bgr, const Budget& budget) const;

  // Converts a row of BGR or BGRA to 8 bits; `to` may begin where `from` does.
  void convert_row(const uint8_t* from, uint8_t* to, int width, int channels) const;
  void convert_row(const uint16_t* from, uint8_t* to, int width, int channels) const;

 private:
  template <typename Value>
  void convert_values(const Value* from, uint8_t* to, int width, int channels) const;

  std::array<std::vector<float>, 3> light_;  // for each stored value: red, green, blue
  cv::Matx33f matrix_;
  std::vector<uint8_t> stored_;  // sRGB value of linear light
};

}  // namespace facematch
