#include "coloured.h"

#include <webp/mux.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "drawing.h"

namespace facematch::testing {
namespace {

void append_text(ByteVector& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

void append_fixed(ByteVector& out, double value) { append_number(out, std::lround(value * 65536)); }

ByteVector chunk_of(std::string_view name, const std::vector<double>& numbers) {
  ByteVector content;
  for (const double value : numbers) append_number(content, std::lround(value * 1e5));
  return png_chunk(name, content);
}

}  // namespace

void append_number(ByteVector& out, int64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<uint8_t>(value >> 8 * i & 0xFF));
}

ByteVector icc_profile(const ProfileOptions& options) {
  std::vector<std::pair<std::string_view, ByteVector>> tags;
  ByteVector curve;
  if (options.functions) {
    append_text(curve, "para");
    append_number(curve, 0);
    append_number(curve, 3, 2);  // (a x + b)^g for x >= d, otherwise c x
    append_number(curve, 0, 2);
    for (const double value : {options.gamma, 1.0, 0.0, 1.0, 0.0}) append_fixed(curve, value);
  } else {
    append_text(curve, "curv");
    for (const int value : {0, 1}) append_number(curve, value);
    append_number(curve, std::lround(options.gamma * 256), 2);
    append_number(curve, 0, 2);
  }
  for (size_t i = 0; i < 3; ++i) {
    ByteVector column;
    append_text(column, "XYZ ");
    append_number(column, 0);
    for (const double value : options.columns[i]) append_fixed(column, value);
    static constexpr std::array<std::string_view, 3> kColumnNames = {"rXYZ", "gXYZ", "bXYZ"};
    static constexpr std::array<std::string_view, 3> kCurveNames = {"rTRC", "gTRC", "bTRC"};
    if (options.grey) continue;
    tags.emplace_back(kColumnNames[i], column);
    tags.emplace_back(kCurveNames[i], curve);
  }
  if (options.grey) tags.emplace_back("kTRC", curve);
  if (options.tables) tags.emplace_back("A2B0", ByteVector(40));
  ByteVector table, data;
  const size_t begin = 132 + 12 * tags.size();
  for (const auto& [name, content] : tags) {
    append_text(table, name);
    append_number(table, static_cast<int64_t>(begin + data.size()));
    append_number(table, std::ssize(content));
    data.insert(data.end(), content.begin(), content.end());
  }
  ByteVector out;
  append_number(out, static_cast<int64_t>(begin + data.size()));
  out.resize(12);
  append_text(out, options.grey ? "mntrGRAYXYZ " : "mntrRGB XYZ ");
  out.resize(36);
  append_text(out, "acsp");
  out.resize(128);
  append_number(out, std::ssize(tags));
  out.insert(out.end(), table.begin(), table.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

ByteVector gama(double gamma) { return chunk_of("gAMA", {gamma}); }
ByteVector srgb() { return png_chunk("sRGB", {0}); }
ByteVector cicp(uint8_t primaries, uint8_t transfer) {
  return png_chunk("cICP", {primaries, transfer, 0, 1});
}
ByteVector prophoto() {
  return chunk_of("cHRM", {0.3457, 0.3585, 0.7347, 0.2653, 0.1596, 0.8404, 0.0366, 0.0001});
}
ByteVector iccp(const ByteVector& profile) {
  ByteVector content = {'x', 0, 0}, packed(compressBound(profile.size()));
  uLongf length = packed.size();
  if (compress(packed.data(), &length, profile.data(), profile.size()) != Z_OK) {
    throw std::runtime_error("zlib did not compress the profile");
  }
  content.insert(content.end(), packed.begin(), packed.begin() + static_cast<long>(length));
  return png_chunk("iCCP", content);
}
ByteVector with_chunks(ByteVector png, const std::vector<ByteVector>& chunks) {
  ByteVector all;
  for (const ByteVector& one : chunks) all.insert(all.end(), one.begin(), one.end());
  png.insert(png.begin() + 33, all.begin(), all.end());
  return png;
}

ByteVector with_profile(ByteVector jpeg, const ByteVector& profile, size_t parts,
                        const std::vector<size_t>& order) {
  const size_t each = (profile.size() + parts - 1) / parts;
  ByteVector segments;
  for (const size_t number : order) {
    const size_t from = each * (number - 1), to = std::min(profile.size(), from + each);
    append_number(segments, 0xFFE2, 2);
    append_number(segments, static_cast<int64_t>(to - from + 16), 2);
    append_text(segments, std::string_view("ICC_PROFILE\0", 12));
    append_number(segments, static_cast<int64_t>(number), 1);
    append_number(segments, static_cast<int64_t>(parts), 1);
    segments.insert(segments.end(), profile.begin() + static_cast<long>(from),
                    profile.begin() + static_cast<long>(to));
  }
  jpeg.insert(jpeg.begin() + 2, segments.begin(), segments.end());
  return jpeg;
}

ByteVector with_iccp(const ByteVector& webp, const ByteVector& profile) {
  const WebPData image = {webp.data(), webp.size()}, data = {profile.data(), profile.size()};
  WebPMux* mux = WebPMuxCreate(&image, 1);
  WebPData whole;
  if (WebPMuxSetChunk(mux, "ICCP", &data, 1) != WEBP_MUX_OK ||
      WebPMuxAssemble(mux, &whole) != WEBP_MUX_OK) {
    throw std::runtime_error("libwebp did not accept the profile");
  }
  ByteVector out(whole.bytes, whole.bytes + whole.size);
  WebPDataClear(&whole);
  WebPMuxDelete(mux);
  return out;
}

}  // namespace facematch::testing
