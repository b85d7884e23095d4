#include "repeated.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "drawing.h"

namespace facematch::testing {
namespace {

using std::string_view_literals::operator""sv;

void append(ByteVector& out, std::string_view bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append(ByteVector& out, const ByteVector& bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Returns the offset of `bytes`, or the size of the file if they are missing.
size_t position_of(const ByteVector& file, std::string_view bytes, size_t from = 0) {
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(from);
  return static_cast<size_t>(
      std::search(begin, file.end(), bytes.begin(), bytes.end(),
                  [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }) -
      file.begin());
}

ByteVector slice(const ByteVector& file, size_t from, size_t to) {
  return {file.begin() + static_cast<std::ptrdiff_t>(from),
          file.begin() + static_cast<std::ptrdiff_t>(to)};
}

// Returns a file with the unit at offset `place` of `file`.
Repeated at(std::string name, const ByteVector& file, size_t place, ByteVector unit) {
  return {std::move(name), slice(file, 0, place), std::move(unit), slice(file, place, file.size())};
}

std::string hexadecimal(int value) {
  char text[8];
  std::snprintf(text, sizeof text, "%02X", static_cast<unsigned>(value));
  return text;
}

ByteVector segment(int marker, const ByteVector& content) {
  const size_t length = content.size() + 2;
  ByteVector out = {0xFF, static_cast<uint8_t>(marker), static_cast<uint8_t>(length >> 8),
                    static_cast<uint8_t>(length & 0xFF)};
  append(out, content);
  return out;
}

// Returns a TIFF block with `count` entries and no orientation.
ByteVector many_entries(int count, bool jpeg_prefix) {
  return ExifBlock{.jpeg_prefix = jpeg_prefix, .tag = 0x0111, .entries_before = count}.bytes();
}

void add_jpeg(std::vector<Repeated>& out) {
  const cv::Mat image = gradient(16, 16);
  const ByteVector file = encode_jpeg(image);
  const auto behind_start = [&](const std::string& what, ByteVector unit) {
    out.push_back(at("jpeg, " + what, file, 2, std::move(unit)));
  };
  for (int marker = 0xE0; marker <= 0xEF; ++marker) {
    behind_start("empty APP" + std::to_string(marker - 0xE0), segment(marker, {}));
  }
  for (const int marker : {0xC4, 0xDB, 0xFE}) {
    behind_start("empty " + hexadecimal(marker), segment(marker, {}));
  }
  for (const int marker : {0x01, 0xD0, 0xFF}) {
    behind_start("marker " + hexadecimal(marker), {0xFF, static_cast<uint8_t>(marker)});
  }
  behind_start("restart interval", segment(0xDD, {0, 0}));
  behind_start("Huffman table", segment(0xC4, ByteVector(17)));
  ByteVector table(65, 1);
  table[0] = 0;
  behind_start("quantisation table", segment(0xDB, table));
  behind_start("EXIF of many entries", segment(0xE1, many_entries(5000, true)));
  behind_start("part of a profile", segment(0xE2, [] {
                 ByteVector part;
                 append(part, "ICC_PROFILE\0\1\1"sv);
                 return part;
               }()));
  const size_t scan = position_of(file, "\xFF\xDA"sv) + 14;
  out.push_back(at("jpeg, fill bytes in a scan", file, scan, {0xFF}));
  const ByteVector progressive = encode_jpeg(image, {.progressive = true});
  const size_t start = position_of(progressive, "\xFF\xDA"sv);
  const size_t end = position_of(progressive, "\xFF\xC4"sv, start);
  out.push_back(at("jpeg, scan", progressive, start, slice(progressive, start, end)));
  const ByteVector restarts = encode_jpeg(image, {.restart_rows = 1});
  out.push_back(at("jpeg, bytes after the image", restarts, restarts.size(), {0xFF, 0xD9}));
}

void add_png(std::vector<Repeated>& out) {
  const ByteVector file = encode_png(gradient(16, 16));
  const size_t pixels = position_of(file, "IDAT"sv) - 4, end = file.size() - 12;
  const std::vector<std::pair<std::string_view, ByteVector>> chunks = {
      {"tEXt", {'k', 0}},
      {"zTXt", {'k', 0, 0}},
      {"iTXt", {'k', 0, 0, 0, 0, 0}},
      {"eXIf", {}},
      {"eXIf", many_entries(65'000, false)},
      {"gAMA", {0, 0, 0xB1, 0x8F}},
      {"gAMA", {}},
      {"cHRM", ByteVector(32, 1)},
      {"sRGB", {0}},
      {"iCCP", {'p', 0, 0}},
      {"cICP", {1, 13, 0, 1}},
      {"sBIT", {8, 8, 8}},
      {"bKGD", ByteVector(6)},
      {"hIST", {}},
      {"pHYs", ByteVector(9)},
      {"sPLT", {'p', 0, 8}},
      {"tIME", ByteVector(7)},
      {"tRNS", ByteVector(6)},
      {"PLTE", ByteVector(3)},
      {"acTL", ByteVector(8)},
      {"fcTL", ByteVector(26)},
      {"fdAT", ByteVector(4)},
      {"prVt", {}},
  };
  for (const auto& [name, content] : chunks) {
    const std::string what = "png, " + std::string(name) + " of " + std::to_string(content.size());
    out.push_back(at(what, file, pixels, png_chunk(name, content)));
    out.push_back(at(what + " after the pixels", file, end, png_chunk(name, content)));
  }
  out.push_back(at("png, empty IDAT", file, pixels, png_chunk("IDAT", {})));
  out.push_back(at("png, empty IDAT after the pixels", file, end, png_chunk("IDAT", {})));
  const cv::Mat hidden = gradient(16, 16);
  const ByteVector animated = encode_apng(hidden, hidden, {0, 0});
  for (const auto& [name, content] : chunks) {
    const std::string what = "png, animated, " + std::string(name);
    out.push_back(at(what, animated, animated.size() - 12, png_chunk(name, content)));
  }
}

ByteVector riff_chunk(std::string_view name, const ByteVector& content) {
  ByteVector out;
  append(out, name);
  for (const int shift : {0, 8, 16, 24}) {
    out.push_back(static_cast<uint8_t>(content.size() >> shift & 0xFF));
  }
  append(out, content);
  out.resize(out.size() + content.size() % 2);
  return out;
}

void add_webp(std::vector<Repeated>& out) {
  const cv::Mat image = gradient(16, 16);
  const ByteVector still = encode_webp(image, {.exif = many_entries(1, false)});
  const ByteVector animated = encode_webp_frame(image, image.size(), {0, 0}, 0);
  const size_t frame = position_of(animated, "ANMF"sv),
               next = position_of(animated, "ANMF"sv, frame + 4);
  const size_t pixels = position_of(still, "VP8L"sv), header = 12 + 8 + 10;
  for (const std::string_view name :
       {"EXIF"sv, "ICCP"sv, "XMP "sv, "ANIM"sv, "ANMF"sv, "ALPH"sv, "VP8 "sv, "VP8X"sv, "prVt"sv}) {
    const std::string what = "webp, empty " + std::string(name);
    const ByteVector unit = riff_chunk(name, {});
    out.push_back(at(what, still, header, unit));
    out.push_back(at(what + " after the pixels", still, still.size(), unit));
    out.push_back(at(what + " of an animation", animated, frame, unit));
    out.push_back(at(what + " after a frame", animated, next, unit));
    out.push_back(
        at(what + " in a simple file", encode_webp(image), encode_webp(image).size(), unit));
  }
  out.push_back(at("webp, EXIF of many entries", still, pixels,
                   riff_chunk("EXIF", many_entries(65'000, false))));
  out.push_back(
      at("webp, frame without an image", animated, frame, riff_chunk("ANMF", ByteVector(16))));
  out.push_back(at("webp, frame", animated, next, slice(animated, next, animated.size())));
  // Declares the chunks EXIF, ICCP and XMP in the header, because undeclared ones are not read.
  for (Repeated& one : out) {
    if (one.name.starts_with("webp") && position_of(one.head, "VP8X"sv) < one.head.size()) {
      one.head[20] = static_cast<uint8_t>(one.head[20] | 0x2C);
    }
  }
}

}  // namespace

ByteVector Repeated::file(size_t bytes) const {
  const size_t fixed = head.size() + tail.size();
  const size_t times = bytes <= fixed ? 1 : std::max<size_t>(1, (bytes - fixed) / unit.size());
  ByteVector out = head;
  out.resize(fixed + times * unit.size());
  uint8_t* at = out.data() + head.size();
  for (size_t i = 0; i < times; ++i, at += unit.size()) std::memcpy(at, unit.data(), unit.size());
  std::copy(tail.begin(), tail.end(), at);
  if (name.starts_with("webp")) {
    for (size_t i = 0; i < 4; ++i) {
      out[4 + i] = static_cast<uint8_t>((out.size() - 8) >> 8 * i & 0xFF);
    }
  }
  return out;
}

std::vector<Repeated> repeated_units() {
  std::vector<Repeated> units;
  add_jpeg(units);
  add_png(units);
  add_webp(units);
  return units;
}

}  // namespace facematch::testing
