#include "bare_jpeg.h"

// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
// clang-format on

#include <stdexcept>

namespace facematch::bench {
namespace {

// The bench decodes only pictures that the pipeline has decoded before, so an exception through C
// code is good enough.
[[noreturn]] void leave(j_common_ptr) { throw std::runtime_error("not a sound JPEG"); }

struct Decompressor {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};

  Decompressor() {
    info.err = jpeg_std_error(&errors);
    errors.error_exit = leave;
    jpeg_create_decompress(&info);
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
};

}  // namespace

void decode_jpeg_at(std::span<const uint8_t> bytes, unsigned eighths,
                    std::vector<uint8_t>& pixels) {
  Decompressor decompressor;
  jpeg_decompress_struct& info = decompressor.info;
  jpeg_mem_src(&info, bytes.data(), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_EXT_BGR;
  info.scale_num = eighths;
  info.scale_denom = 8;
  jpeg_start_decompress(&info);
  const size_t row = size_t{3} * info.output_width;
  pixels.resize(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    uint8_t* to = pixels.data() + row * info.output_scanline;
    jpeg_read_scanlines(&info, &to, 1);
  }
  jpeg_finish_decompress(&info);
}

}  // namespace facematch::bench
