#include <string>

#include "drawing.h"

namespace facematch::testing {
namespace {

void append(png_structp png, png_bytep data, size_t size) {
  auto* out = static_cast<ByteVector*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + size);
}

void flush(png_structp) {}

void describe(png_structp png, png_infop info, const PngOptions& options) {
  png_set_IHDR(png, info, static_cast<png_uint_32>(options.width),
               static_cast<png_uint_32>(options.height), options.bit_depth, options.colour_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!options.palette.empty()) {
    png_set_PLTE(png, info, options.palette.data(), static_cast<int>(options.palette.size()));
  }
  if (!options.palette_alpha.empty()) {
    png_set_tRNS(png, info, options.palette_alpha.data(),
                 static_cast<int>(options.palette_alpha.size()), nullptr);
  }
  if (options.transparent) png_set_tRNS(png, info, nullptr, 0, &*options.transparent);
}

}  // namespace

ByteVector encode_png(const std::vector<uint8_t>& rows, const PngOptions& options) {
  ByteVector out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append, flush);
  describe(png, info, options);
  std::string comment(options.comment_bytes, 'c');
  png_text text = {};
  text.compression = PNG_TEXT_COMPRESSION_NONE;
  text.key = const_cast<char*>("Comment");
  text.text = comment.data();
  text.text_length = comment.size();
  if (!comment.empty()) png_set_text(png, info, &text, 1);
  ByteVector exif = options.exif;
  if (!exif.empty() && !options.exif_after_pixels) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  }
  png_write_info(png, info);
  const size_t stride = png_get_rowbytes(png, info);
  const int passes = options.interlaced ? png_set_interlace_handling(png) : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t y = 0; y < static_cast<size_t>(options.height); ++y)
      png_write_row(png, rows.data() + y * stride);
  }
  if (options.exif_after_pixels) {
    png_write_chunk(png, reinterpret_cast<png_const_bytep>("eXIf"), exif.data(), exif.size());
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

ByteVector encode_png(const cv::Mat& bgr) {
  ByteVector rows;
  for (int y = 0; y < bgr.rows; ++y) {
    for (int x = 0; x < bgr.cols; ++x) {
      const auto& pixel = bgr.at<cv::Vec3b>(y, x);
      rows.insert(rows.end(), {pixel[2], pixel[1], pixel[0]});
    }
  }
  return encode_png(rows, {.width = bgr.cols, .height = bgr.rows});
}

void repair_png_checksums(ByteVector& file) {
  const auto u32 = [&](size_t at) {
    return uint32_t{file[at]} << 24 | uint32_t{file[at + 1]} << 16 | uint32_t{file[at + 2]} << 8 |
           file[at + 3];
  };
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = u32(at);
    if (length > file.size() - at - 12) return;
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = at + 4; i < at + 8 + length; ++i) {
      crc ^= file[i];
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? 0xEDB88320 ^ crc >> 1 : crc >> 1;
    }
    crc = ~crc;
    for (size_t i = 0; i < 4; ++i)
      file[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
}

}  // namespace facematch::testing
