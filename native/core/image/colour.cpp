#include "colour.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "../error.h"

namespace facematch {
namespace {

using std::string_view_literals::operator""sv;

// IEC 61966-2-1.
const ToneCurve kSrgbCurve = {
    .points = {}, .g = 2.4f, .a = 1 / 1.055f, .b = 0.055f / 1.055f, .c = 1 / 12.92f, .d = 0.04045f};

float srgb_of(float light) {
  return light <= 0.0031308f ? 12.92f * light : 1.055f * std::pow(light, 1 / 2.4f) - 0.055f;
}

float brightness_of(const cv::Vec3f& light) {
  const auto within = [](float value) { return std::clamp(value, 0.0f, 1.0f); };
  return 255 * srgb_of(0.2126f * within(light[0]) + 0.7152f * within(light[1]) +
                       0.0722f * within(light[2]));
}

// Returns the matrix from linear light of these primaries to XYZ.
std::optional<cv::Matx33d> xyz_from_primaries(const std::array<cv::Point2d, 4>& xy) {
  const auto xyz = [](cv::Point2d of) {
    return cv::Vec3d(of.x / of.y, 1, (1 - of.x - of.y) / of.y);
  };
  if (std::any_of(xy.begin(), xy.end(), [](cv::Point2d of) { return !(of.y > 0); })) return {};
  const cv::Vec3d white = xyz(xy[0]), red = xyz(xy[1]), green = xyz(xy[2]), blue = xyz(xy[3]);
  const cv::Matx33d columns(red[0], green[0], blue[0], red[1], green[1], blue[1], red[2], green[2],
                            blue[2]);
  if (std::abs(cv::determinant(columns)) < 1e-9) return {};
  const cv::Vec3d share = columns.inv() * white;
  return columns * cv::Matx33d::diag(share);
}

// White, red, green, blue of ITU-R BT.709, which sRGB uses.
constexpr std::array<std::array<double, 2>, 4> kSrgbPrimaries = {
    {{0.3127, 0.329}, {0.64, 0.33}, {0.3, 0.6}, {0.15, 0.06}}};

// Returns the matrix from XYZ with the ICC's white, D50, to linear light of sRGB.
cv::Matx33f srgb_from_d50() {
  const cv::Matx33d to_d50(0.43607, 0.38515, 0.14307, 0.22249, 0.71687, 0.06061, 0.01392, 0.09708,
                           0.71410);
  return to_d50.inv();
}

bool is_finite(const cv::Matx33f& matrix) {
  return std::all_of(matrix.val, matrix.val + 9,
                     [](float value) { return std::isfinite(value) && std::abs(value) < 1e6f; });
}

uint32_t big_endian(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

// Reads a number of type s15Fixed16.
float fixed(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<float>(static_cast<int32_t>(big_endian(bytes, at, 4))) / 65536;
}

// Returns the tag of that name; empty if it is missing or not inside the profile.
std::span<const uint8_t> tag_of(std::span<const uint8_t> profile, std::string_view name) {
  // Limit on the number of tags; profiles have a few dozen.
  constexpr uint32_t kMaxTags = 200;
  const uint32_t count = std::min(big_endian(profile, 128, 4), kMaxTags);
  for (size_t at = 132, end = at + size_t{12} * count; at < end && at + 12 <= profile.size();
       at += 12) {
    if (!std::equal(name.begin(), name.end(), &profile[at])) continue;
    const size_t from = big_endian(profile, at + 4, 4), length = big_endian(profile, at + 8, 4);
    if (from > profile.size() || length > profile.size() - from) return {};
    return profile.subspan(from, length);
  }
  return {};
}

bool has_type(std::span<const uint8_t> tag, std::string_view type, size_t bytes) {
  return tag.size() >= bytes && std::equal(type.begin(), type.end(), tag.begin());
}

// ICC.1:2022, section 10.6.
std::optional<ToneCurve> read_points(std::span<const uint8_t> tag) {
  ToneCurve curve;
  const size_t count = big_endian(tag, 8, 4);
  if (count > (tag.size() - 12) / 2) return {};
  if (count == 1) curve.g = static_cast<float>(big_endian(tag, 12, 2)) / 256;
  if (count < 2) return curve;
  for (size_t i = 0; i < count; ++i) {
    curve.points.push_back(static_cast<float>(big_endian(tag, 12 + 2 * i, 2)) / 65535);
  }
  return curve;
}

// ICC.1:2022, section 10.18.
std::optional<ToneCurve> read_function(std::span<const uint8_t> tag) {
  constexpr std::array<size_t, 5> kParameters = {1, 3, 4, 5, 7};
  const size_t type = big_endian(tag, 8, 2);
  if (type >= kParameters.size() || tag.size() < 12 + 4 * kParameters[type]) return {};
  const auto parameter = [&](size_t i) { return fixed(tag, 12 + 4 * i); };
  ToneCurve curve{.points = {}, .g = parameter(0)};
  if (type >= 1) {
    curve.a = parameter(1);
    curve.b = parameter(2);
    if (curve.a == 0) return {};
  }
  if (type == 1 || type == 2) curve.d = -curve.b / curve.a;
  if (type == 2) curve.e = curve.f = parameter(3);
  if (type >= 3) {
    curve.c = parameter(3);
    curve.d = parameter(4);
  }
  if (type == 4) {
    curve.e = parameter(5);
    curve.f = parameter(6);
  }
  return curve;
}

std::optional<ToneCurve> read_curve(std::span<const uint8_t> tag) {
  if (has_type(tag, "curv", 12)) return read_points(tag);
  if (has_type(tag, "para", 12)) return read_function(tag);
  return {};
}

constexpr int kPq = 16, kHlg = 18;

}  // namespace

float ToneCurve::operator()(float value) const {
  float light = 0;
  if (!points.empty()) {
    const float at = value * static_cast<float>(points.size() - 1);
    const auto below = std::min(static_cast<size_t>(at), points.size() - 2);
    const float share = at - static_cast<float>(below);
    light = points[below] + share * (points[below + 1] - points[below]);
  } else {
    light = value >= d ? std::pow(std::max(0.0f, a * value + b), g) + e : c * value + f;
  }
  return light >= 0 ? std::min(light, 1.0f) : 0;  // maps NaN to 0 as well
}

float ColourSpace::levels_from_srgb() const {
  // Varies the three channels together in small steps, and each separately in large steps.
  constexpr int kFine = 64, kCoarse = 8;
  float max = 0;
  const auto compare = [&](cv::Vec3f stored) {
    cv::Vec3f light, srgb;
    for (int c = 0; c < 3; ++c) {
      light[c] = curves[static_cast<size_t>(c)](stored[c]);
      srgb[c] = kSrgbCurve(stored[c]);
    }
    max = std::max(max, std::abs(brightness_of(to_srgb * light) - brightness_of(srgb)));
  };
  for (int i = 0; i <= kFine; ++i) compare(cv::Vec3f::all(static_cast<float>(i) / kFine));
  for (int i = 0; i < kCoarse * kCoarse * kCoarse; ++i) {
    compare(cv::Vec3f(static_cast<float>(i % kCoarse), static_cast<float>(i / kCoarse % kCoarse),
                      static_cast<float>(i / kCoarse / kCoarse)) *
            (1.0f / (kCoarse - 1)));
  }
  return max;
}

ColourSpace gamma_space(double gamma) {
  ColourSpace space;
  for (ToneCurve& curve : space.curves) curve.g = static_cast<float>(1 / gamma);
  return space;
}

std::optional<cv::Matx33f> srgb_from_primaries(const std::array<cv::Point2d, 4>& xy) {
  std::array<cv::Point2d, 4> srgb;
  for (size_t i = 0; i < 4; ++i) srgb[i] = {kSrgbPrimaries[i][0], kSrgbPrimaries[i][1]};
  const auto from = xyz_from_primaries(xy), to = xyz_from_primaries(srgb);
  if (!from) return {};
  // White stays white: Bradford's adaptation (ICC.1:2022, annex E).
  const cv::Matx33d cones(0.8951, 0.2664, -0.1614, -0.7502, 1.7135, 0.0367, 0.0389, -0.0685,
                          1.0296);
  const cv::Vec3d white = cones * (*from * cv::Vec3d::all(1)),
                  wanted = cones * (*to * cv::Vec3d::all(1));
  const cv::Matx33d scaled =
      cv::Matx33d::diag({wanted[0] / white[0], wanted[1] / white[1], wanted[2] / white[2]});
  const cv::Matx33f matrix = to->inv() * (cones.inv() * scaled * cones) * *from;
  if (!is_finite(matrix)) return {};
  return matrix;
}

Colours h273_colours(int primaries, int transfer) {
  struct Primaries {
    int code;
    std::array<cv::Point2d, 4> xy;
  };
  static const cv::Point2d d65(0.3127, 0.329);
  static const std::array kPrimaries = {
      Primaries{1, {d65, {0.64, 0.33}, {0.3, 0.6}, {0.15, 0.06}}},
      Primaries{4, {{{0.31, 0.316}, {0.67, 0.33}, {0.21, 0.71}, {0.14, 0.08}}}},
      Primaries{5, {d65, {0.64, 0.33}, {0.29, 0.6}, {0.15, 0.06}}},
      Primaries{6, {d65, {0.63, 0.34}, {0.31, 0.595}, {0.155, 0.07}}},
      Primaries{7, {d65, {0.63, 0.34}, {0.31, 0.595}, {0.155, 0.07}}},
      Primaries{8, {{{0.31, 0.316}, {0.681, 0.319}, {0.243, 0.692}, {0.145, 0.049}}}},
      Primaries{9, {d65, {0.708, 0.292}, {0.17, 0.797}, {0.131, 0.046}}},
      Primaries{10, {{{1 / 3.0, 1 / 3.0}, {1, 1e-6}, {1e-6, 1}, {1e-6, 1e-6}}}},
      Primaries{11, {{{0.314, 0.351}, {0.68, 0.32}, {0.265, 0.69}, {0.15, 0.06}}}},
      Primaries{12, {d65, {0.68, 0.32}, {0.265, 0.69}, {0.15, 0.06}}},
      Primaries{22, {d65, {0.63, 0.34}, {0.295, 0.605}, {0.155, 0.077}}},
  };
  if (transfer == kPq || transfer == kHlg) return {.space = {}, .is_unsupported = true};
  ToneCurve curve;
  switch (transfer) {
    case 1:
    case 6:
    case 14:
    case 15:
      curve = {.points = {},
               .g = 1 / 0.45f,
               .a = 1 / 1.099f,
               .b = 0.099f / 1.099f,
               .c = 1 / 4.5f,
               .d = 0.081f};
      break;
    case 4:
      curve.g = 2.2f;
      break;
    case 5:
      curve.g = 2.8f;
      break;
    case 7:
      curve = {.points = {},
               .g = 1 / 0.45f,
               .a = 1 / 1.1115f,
               .b = 0.1115f / 1.1115f,
               .c = 0.25f,
               .d = 0.0913f};
      break;
    case 8:
      break;
    case 13:
      curve = kSrgbCurve;
      break;
    case 17:
      curve.g = 2.6f;
      break;
    default:
      return {};
  }
  for (const Primaries& known : kPrimaries) {
    if (known.code != primaries) continue;
    const auto matrix = srgb_from_primaries(known.xy);
    if (!matrix) return {};
    return {.space = ColourSpace{{curve, curve, curve}, *matrix}};
  }
  return {};
}

Colours read_icc_profile(std::span<const uint8_t> profile, bool allows_grey) {
  if (profile.size() < 132 || big_endian(profile, 0, 4) > profile.size() ||
      !std::equal(&profile[36], &profile[40], "acsp")) {
    return {};
  }
  const bool grey = std::equal(&profile[16], &profile[20], "GRAY");
  if (grey ? !allows_grey : !std::equal(&profile[16], &profile[20], "RGB ")) return {};
  for (const auto name : {"A2B0"sv, "A2B1"sv}) {
    if (!tag_of(profile, name).empty()) return {.space = {}, .is_unsupported = true};
  }
  const auto code_points = tag_of(profile, "cicp");
  if (has_type(code_points, "cicp", 12) && (code_points[9] == kPq || code_points[9] == kHlg)) {
    return {.space = {}, .is_unsupported = true};
  }
  ColourSpace space;
  cv::Matx33f to_xyz;
  for (int c = 0; c < 3; ++c) {
    constexpr std::array kCurves = {"rTRC"sv, "gTRC"sv, "bTRC"sv};
    constexpr std::array kColumns = {"rXYZ"sv, "gXYZ"sv, "bXYZ"sv};
    const auto i = static_cast<size_t>(c);
    auto curve = read_curve(tag_of(profile, grey ? "kTRC"sv : kCurves[i]));
    if (!curve) return {};
    space.curves[i] = std::move(*curve);
    if (grey) continue;
    const auto column = tag_of(profile, kColumns[i]);
    if (!has_type(column, "XYZ ", 20)) return {};
    for (int row = 0; row < 3; ++row) {
      to_xyz(row, c) = fixed(column, 8 + 4 * static_cast<size_t>(row));
    }
  }
  if (!grey) space.to_srgb = srgb_from_d50() * to_xyz;
  return {.space = std::move(space)};
}

std::optional<ColourSpace> space_to_convert(Colours colours) {
  if (colours.is_unsupported) throw unsupported_format("unsupported_colours");
  if (!colours.space || colours.space->levels_from_srgb() <= kNearSrgb) return {};
  return std::move(colours.space);
}

ToSrgb::ToSrgb(const ColourSpace& space, int max_value) : matrix_(space.to_srgb) {
  constexpr int kLights = 4096;
  for (size_t c = 0; c < 3; ++c) {
    for (int value = 0; value <= max_value; ++value) {
      light_[c].push_back(
          space.curves[c](static_cast<float>(value) / static_cast<float>(max_value)));
    }
  }
  for (int i = 0; i < kLights; ++i) {
    const float light = static_cast<float>(i) / (kLights - 1);
    stored_.push_back(static_cast<uint8_t>(std::lround(255 * srgb_of(light))));
  }
}

template <typename Value>
void ToSrgb::convert_values(const Value* from, uint8_t* to, int width, int channels) const {
  const float last = static_cast<float>(stored_.size() - 1);
  for (int x = 0; x < width; ++x, from += channels, to += channels) {
    const cv::Vec3f light =
        matrix_ * cv::Vec3f(light_[0][from[2]], light_[1][from[1]], light_[2][from[0]]);
    const Value alpha = channels == 4 ? from[3] : Value{};
    for (int c = 0; c < 3; ++c) {
      const float at = std::clamp(light[c], 0.0f, 1.0f) * last + 0.5f;
      to[2 - c] = stored_[static_cast<size_t>(at)];
    }
    if (channels == 4) to[3] = static_cast<uint8_t>(sizeof(Value) == 1 ? alpha : alpha / 257);
  }
}

void ToSrgb::convert_row(const uint8_t* from, uint8_t* to, int width, int channels) const {
  convert_values(from, to, width, channels);
}

void ToSrgb::convert_row(const uint16_t* from, uint8_t* to, int width, int channels) const {
  convert_values(from, to, width, channels);
}

void ToSrgb::convert(cv::Mat& bgr, const Budget& budget) const {
  constexpr int kRowsBetweenChecks = 16;
  for (int y = 0; y < bgr.rows; ++y) {
    if (y % kRowsBetweenChecks == 0 && budget.spent()) budget.stop();
    convert_row(bgr.ptr(y), bgr.ptr(y), bgr.cols, 3);
  }
}

}  // namespace facematch
