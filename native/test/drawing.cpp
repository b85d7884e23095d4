#include "drawing.h"

#include <webp/encode.h>
#include <webp/mux.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "coloured.h"

namespace facematch::testing {
namespace {

void append(png_structp png, png_bytep data, size_t size) {
  auto* out = static_cast<ByteVector*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + size);
}

void flush(png_structp) {}

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("libwebp did not ") + what);
}

// Returns the file of a mux, and deletes the mux.
ByteVector assembled(WebPMux* mux) {
  WebPData whole;
  require(WebPMuxAssemble(mux, &whole) == WEBP_MUX_OK, "assemble the file");
  ByteVector out(whole.bytes, whole.bytes + whole.size);
  WebPDataClear(&whole);
  WebPMuxDelete(mux);
  return out;
}

ByteVector with_exif(const ByteVector& file, const ByteVector& exif) {
  const WebPData image = {file.data(), file.size()}, chunk = {exif.data(), exif.size()};
  WebPMux* mux = WebPMuxCreate(&image, 1);
  require(mux != nullptr && WebPMuxSetChunk(mux, "EXIF", &chunk, 1) == WEBP_MUX_OK,
          "accept the EXIF block");
  return assembled(mux);
}

}  // namespace

cv::Mat gradient(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  const int last_x = std::max(width - 1, 1);
  const int last_y = std::max(height - 1, 1);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.at<cv::Vec3b>(y, x) = {static_cast<uint8_t>(20 + 200 * x / last_x),
                                   static_cast<uint8_t>(20 + 200 * y / last_y),
                                   static_cast<uint8_t>(220 - 100 * x / last_x - 100 * y / last_y)};
    }
  }
  return image;
}

cv::Mat grain(int width, int height, int type) {
  Random random(static_cast<uint32_t>(width * 1000 + height));
  cv::Mat image(height, width, type);
  for (int y = 0; y < height; ++y) {
    for (size_t i = 0; i < static_cast<size_t>(width) * image.elemSize(); ++i) {
      image.ptr(y)[i] = random.byte();
    }
  }
  return image;
}

double mean_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 255;
  return cv::norm(a, b, cv::NORM_L1) / static_cast<double>(a.total() * a.elemSize());
}

double largest_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 255;
  return cv::norm(a, b, cv::NORM_INF);
}

// If the library fails, it prints an error and ends the test program.
ByteVector encode_jpeg(const cv::Mat& image, const JpegOptions& options) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(image.cols);
  info.image_height = static_cast<JDIMENSION>(image.rows);
  info.input_components = image.channels();
  info.in_color_space = image.channels() == 4   ? JCS_CMYK
                        : image.channels() == 1 ? JCS_GRAYSCALE
                                                : JCS_EXT_BGR;
  jpeg_set_defaults(&info);
  if (image.channels() == 4) {
    jpeg_set_colorspace(&info, options.of_inks);
    info.write_Adobe_marker = options.adobe_marker ? TRUE : FALSE;
  }
  jpeg_set_quality(&info, options.quality, TRUE);
  for (int i = 0; i < info.num_components; ++i) {
    // Black, the fourth ink, is sampled like the first component.
    const cv::Size samples = i % 3 == 0 ? options.luma : options.colours;
    info.comp_info[i].h_samp_factor = samples.width;
    info.comp_info[i].v_samp_factor = samples.height;
  }
  if (options.progressive) jpeg_simple_progression(&info);
  info.arith_code = options.arithmetic ? TRUE : FALSE;
  if (!options.scans.empty()) {
    info.scan_info = options.scans.data();
    info.num_scans = static_cast<int>(options.scans.size());
  }
  info.restart_in_rows = options.restart_rows;
  jpeg_start_compress(&info, TRUE);
  const ByteVector& app1 = options.app1;
  if (!app1.empty()) {
    jpeg_write_marker(&info, JPEG_APP0 + 1, app1.data(), static_cast<unsigned>(app1.size()));
  }
  for (int y = 0; y < image.rows; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(image.ptr(y));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const ByteVector file(buffer, buffer + size);
  std::free(buffer);
  return file;
}

ByteVector encode_png(const std::vector<uint8_t>& rows, const PngOptions& options) {
  ByteVector out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append, flush);
  png_set_IHDR(png, info, static_cast<png_uint_32>(options.width),
               static_cast<png_uint_32>(options.height), options.bit_depth, options.colour_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const auto& palette = options.palette;
  const auto& alpha = options.palette_alpha;
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  if (!alpha.empty())
    png_set_tRNS(png, info, alpha.data(), static_cast<int>(alpha.size()), nullptr);
  if (options.transparent) png_set_tRNS(png, info, nullptr, 0, &*options.transparent);
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

ByteVector encode_png(const cv::Mat& image, PngOptions options) {
  const bool alpha = image.channels() == 4;
  cv::Mat rgb;
  cv::cvtColor(image, rgb, alpha ? cv::COLOR_BGRA2RGBA : cv::COLOR_BGR2RGB);
  options.width = rgb.cols;
  options.height = rgb.rows;
  options.colour_type = alpha ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB;
  return encode_png(ByteVector(rgb.datastart, rgb.dataend), options);
}

ByteVector encode_apng(const cv::Mat& hidden, const cv::Mat& frame, cv::Point at) {
  ByteVector file = encode_png(hidden);
  const ByteVector shown = encode_png(frame);
  constexpr std::string_view kData = "IDAT";
  const auto data = std::search(shown.begin(), shown.end(), kData.begin(), kData.end());
  const auto u32 = [](ByteVector& out, size_t value) {
    out.resize(out.size() + 4);
    png_save_uint_32(&out.back() - 3, static_cast<png_uint_32>(value));
  };
  const auto insert = [&](std::ptrdiff_t where, std::string_view name, const ByteVector& content) {
    const ByteVector chunk = png_chunk(name, content);
    file.insert(file.begin() + where, chunk.begin(), chunk.end());
  };
  ByteVector animation, control, pixels;
  for (const size_t value : {1, 0}) u32(animation, value);
  for (const int value : {0, frame.cols, frame.rows, at.x, at.y, 0}) {
    u32(control, static_cast<size_t>(value));
  }
  control.resize(26);
  u32(pixels, 1);
  // The checksum of the chunk and the last chunk are omitted.
  pixels.insert(pixels.end(), data + 4, shown.end() - 16);
  insert(33, "acTL", animation);
  insert(std::ssize(file) - 12, "fcTL", control);
  insert(std::ssize(file) - 12, "fdAT", pixels);
  return file;
}

ByteVector png_chunk(std::string_view name, const ByteVector& content) {
  ByteVector out(12 + content.size());
  png_save_uint_32(out.data(), static_cast<png_uint_32>(content.size()));
  std::copy(name.begin(), name.end(), out.begin() + 4);
  std::copy(content.begin(), content.end(), out.begin() + 8);
  const auto sum = static_cast<uint32_t>(crc32_z(0, &out[4], 4 + content.size()));
  png_save_uint_32(&out[8 + content.size()], sum);
  return out;
}

void repair_png_checksums(ByteVector& file) {
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = png_get_uint_32(&file[at]);
    if (length > file.size() - at - 12) return;
    const auto sum = static_cast<uint32_t>(crc32_z(0, &file[at + 4], 4 + length));
    png_save_uint_32(&file[at + 8 + length], sum);
    at += 12 + length;
  }
}

ByteVector encode_webp(const cv::Mat& image, const WebpOptions& options) {
  const int stride = static_cast<int>(image.step);
  uint8_t* encoded = nullptr;
  size_t size = 0;
  if (image.channels() == 4) {
    size = options.lossless
               ? WebPEncodeLosslessBGRA(image.data, image.cols, image.rows, stride, &encoded)
               : WebPEncodeBGRA(image.data, image.cols, image.rows, stride, 95, &encoded);
  } else {
    size = options.lossless
               ? WebPEncodeLosslessBGR(image.data, image.cols, image.rows, stride, &encoded)
               : WebPEncodeBGR(image.data, image.cols, image.rows, stride, 95, &encoded);
  }
  require(size > 0, "encode");
  const ByteVector file(encoded, encoded + size);
  WebPFree(encoded);
  return options.exif.empty() ? file : with_exif(file, options.exif);
}

ByteVector encode_webp_frame(const cv::Mat& image, cv::Size canvas, cv::Point at,
                             uint32_t background) {
  const ByteVector files[] = {encode_webp(image),
                              encode_webp(cv::Mat(1, 1, CV_8UC3, cv::Scalar()))};
  WebPMux* mux = WebPMuxNew();
  for (const ByteVector& file : files) {
    WebPMuxFrameInfo frame = {};
    frame.bitstream = {file.data(), file.size()};
    frame.id = WEBP_CHUNK_ANMF;
    frame.duration = 100;
    if (&file == &files[0]) {
      frame.x_offset = at.x;
      frame.y_offset = at.y;
    }
    require(WebPMuxPushFrame(mux, &frame, 1) == WEBP_MUX_OK, "accept the frame");
  }
  const WebPMuxAnimParams params = {.bgcolor = background, .loop_count = 0};
  require(WebPMuxSetAnimationParams(mux, &params) == WEBP_MUX_OK &&
              WebPMuxSetCanvasSize(mux, canvas.width, canvas.height) == WEBP_MUX_OK,
          "accept the canvas");
  return assembled(mux);
}

std::vector<uint8_t> ExifBlock::bytes() const {
  ByteVector out;
  if (jpeg_prefix) out = {'E', 'x', 'i', 'f', 0, 0};
  const auto u16 = [&](uint16_t value) {
    const auto upper = static_cast<uint8_t>(value >> 8), lower = static_cast<uint8_t>(value & 0xFF);
    out.insert(out.end(), {little_endian ? lower : upper, little_endian ? upper : lower});
  };
  const auto u32 = [&](uint32_t value) {
    for (const int shift : {0, 16}) {
      u16(static_cast<uint16_t>(value >> (little_endian ? shift : 16 - shift) & 0xFFFF));
    }
  };
  // A value shorter than four bytes is in the first of them, in either byte order.
  const auto entry = [&](uint16_t its_tag, uint16_t its_type, uint16_t value, uint32_t count) {
    u16(its_tag);
    u16(its_type);
    u32(count);
    const bool is_byte = its_type == 1 || its_type == 6, is_long = its_type == 4 || its_type == 9;
    if (is_long) return u32(uint32_t{high} << 16 | value);
    u16(is_byte && !little_endian ? static_cast<uint16_t>(value << 8) : value);
    u16(0);
  };
  u16(little_endian ? 0x4949 : 0x4D4D);
  u16(magic);
  u32(declared_start.value_or(8));
  const size_t entries = static_cast<size_t>(entries_before) + orientations_before.size() + 1;
  u16(declared_count.value_or(static_cast<uint16_t>(entries)));
  for (int i = 0; i < entries_before; ++i) entry(static_cast<uint16_t>(0x0100 + i), 3, 7, 1);
  for (const uint16_t other : orientations_before) entry(tag, 3, other, 1);
  entry(tag, type, orientation, values);
  u32(0);  // no further IFD
  return out;
}

bool is_part_of(const View& view, const DecodedImage& whole, cv::Rect part) {
  const Similarity back = whole.to_image.inverse(), place = view.to_image.then(back);
  const cv::Rect seen(cv::Point(cvRound(place.tx), cvRound(place.ty)), view.bgr.size());
  const Box wanted = moved(Box{static_cast<float>(part.x), static_cast<float>(part.y),
                               static_cast<float>(part.width), static_cast<float>(part.height)},
                           back);
  const cv::Rect shown = cv::Rect(cv::Point(cvFloor(wanted.x + 0.01f), cvFloor(wanted.y + 0.01f)),
                                  cv::Point(cvCeil(wanted.x + wanted.width - 0.01f),
                                            cvCeil(wanted.y + wanted.height - 0.01f))) &
                         cv::Rect({}, whole.bgr.size());
  if (std::abs(place.scale() - 1) > 1e-4 || (seen & shown) != shown) return false;
  // Compares only `shown`: at the edge of the view, colours are interpolated from one side only.
  return cv::norm(view.bgr(shown - seen.tl()), whole.bgr(shown), cv::NORM_INF) <= 0;
}

std::vector<Specimen> specimens() {
  const cv::Mat image = gradient(40, 30);
  const ByteVector exif = ExifBlock{.orientation = 6}.bytes();
  const ByteVector app1 = ExifBlock{.orientation = 6, .jpeg_prefix = true}.bytes();
  std::vector<uint8_t> palette_rows(size_t{40} * 30);
  for (size_t i = 0; i < palette_rows.size(); ++i) palette_rows[i] = static_cast<uint8_t>(i % 3);
  std::vector<uint8_t> rgba16_rows(size_t{8} * 40 * 30);
  for (size_t i = 0; i < rgba16_rows.size(); ++i) rgba16_rows[i] = static_cast<uint8_t>(i * 7);
  const cv::Mat bgra(30, 40, CV_8UC4, cv::Scalar(10, 200, 30, 128));
  const cv::Mat inks(30, 40, CV_8UC4, cv::Scalar(10, 200, 30, 128));
  return {
      {"jpeg", encode_jpeg(image, {.app1 = app1})},
      {"jpeg, progressive", encode_jpeg(image, {.progressive = true, .luma = {2, 2}})},
      {"jpeg, 4:1:0", encode_jpeg(image, {.luma = {4, 2}})},
      {"jpeg, restart markers", encode_jpeg(image, {.restart_rows = 1})},
      {"jpeg, ycck", encode_jpeg(inks, {.of_inks = JCS_YCCK})},
      {"jpeg, with a profile", with_profile(encode_jpeg(image), icc_profile(), 2, {1, 2})},
      {"png", encode_png(image)},
      {"png, with gamma", with_chunks(encode_png(image), {gama(1), prophoto()})},
      {"png, with a profile", with_chunks(encode_png(bgra), {iccp(icc_profile())})},
      {"png, with code points", with_chunks(encode_png(image), {cicp(9, 8)})},
      {"png, 16-bit rgba, interlaced",
       encode_png(rgba16_rows, {.width = 40,
                                .height = 30,
                                .colour_type = PNG_COLOR_TYPE_RGB_ALPHA,
                                .bit_depth = 16,
                                .interlaced = true,
                                .exif = exif})},
      {"png, palette", encode_png(palette_rows, {.width = 40,
                                                 .height = 30,
                                                 .colour_type = PNG_COLOR_TYPE_PALETTE,
                                                 .palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
                                                 .palette_alpha = {0, 128}})},
      {"png, the first image hidden", encode_apng(image, bgra(cv::Rect(0, 0, 20, 10)), {8, 6})},
      {"webp, lossless", encode_webp(image, {.exif = exif})},
      {"webp, lossy", encode_webp(image, {.lossless = false})},
      {"webp, lossy with alpha", encode_webp(bgra, {.lossless = false})},
      {"webp, with a profile", with_iccp(encode_webp(bgra), icc_profile({.functions = true}))},
      {"webp, animated", encode_webp_frame(bgra, bgra.size(), {0, 0}, 0)},
      {"webp, a frame within its canvas", encode_webp_frame(image, {60, 50}, {8, 6}, 0)},
  };
}

}  // namespace facematch::testing
