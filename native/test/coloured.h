// Images with a declared colour space: chunks of PNG, and ICC profiles in each format.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "support.h"

namespace facematch::testing {

using Columns = std::array<std::array<double, 3>, 3>;
constexpr Columns kSrgbColumns = {
    {{0.4361, 0.2225, 0.0139}, {0.3851, 0.7169, 0.0971}, {0.1431, 0.0606, 0.7139}}};
constexpr Columns kWideColumns = {
    {{0.7977, 0.288, 0}, {0.1352, 0.7119, 0}, {0.0313, 0.0001, 0.8249}}};
// Only the blue values are visible, as grey.
constexpr Columns kBlueColumns = {{{0, 0, 0}, {0, 0, 0}, {0.9642, 1, 0.8249}}};

struct ProfileOptions {
  double gamma = 1;
  Columns columns = kSrgbColumns;
  bool grey = false;
  bool tables = false;
  bool functions = false;  // curves of type `para` instead of `curv`
};

ByteVector icc_profile(const ProfileOptions& options = {});

// Chunks of a PNG.
ByteVector gama(double gamma);
ByteVector srgb();
ByteVector cicp(uint8_t primaries, uint8_t transfer);
ByteVector prophoto();  // cHRM
ByteVector iccp(const ByteVector& profile);

// Inserts the chunks after the header of a PNG.
ByteVector with_chunks(ByteVector png, const std::vector<ByteVector>& chunks);

// Splits the profile into `parts` APP2 segments, numbered from 1, and adds those listed in `order`
// to a JPEG.
ByteVector with_profile(ByteVector jpeg, const ByteVector& profile, size_t parts,
                        const std::vector<size_t>& order);

// Adds the profile to a WebP.
ByteVector with_iccp(const ByteVector& webp, const ByteVector& profile);

void append_number(ByteVector& out, int64_t value, int bytes = 4);

}  // namespace facematch::testing
