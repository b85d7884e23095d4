#include "bare_jpeg.h"

// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <stdexcept>

namespace facematch::bench {
namespace {

struct ErrorManager {
  jpeg_error_mgr base = {};
  std::jmp_buf jump = {};
};

// A C++ exception must not pass through C code.
[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->jump, 1);
}

// As in codec_jpeg.cpp, no object with a destructor exists between setjmp and longjmp; each step
// returns false when the picture is damaged.
class Decompressor {
 public:
  Decompressor() {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  bool start(std::span<const uint8_t> bytes, unsigned eighths) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, bytes.data(), bytes.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = JCS_EXT_BGR;
    info_.scale_num = eighths;
    info_.scale_denom = 8;
    return jpeg_start_decompress(&info_) != 0;
  }

  bool read_rows(uint8_t* pixels) {
    if (setjmp(errors_.jump) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      uint8_t* to = pixels + row_bytes() * info_.output_scanline;
      jpeg_read_scanlines(&info_, &to, 1);
    }
    return jpeg_finish_decompress(&info_) != 0;
  }

  size_t row_bytes() const { return size_t{3} * info_.output_width; }
  size_t rows() const { return info_.output_height; }

 private:
  jpeg_decompress_struct info_ = {};
  ErrorManager errors_;
};

}  // namespace

void decode_jpeg_at(std::span<const uint8_t> bytes, unsigned eighths,
                    std::vector<uint8_t>& pixels) {
  Decompressor decompressor;
  bool sound = decompressor.start(bytes, eighths);
  if (sound) {
    pixels.resize(decompressor.row_bytes() * decompressor.rows());
    sound = decompressor.read_rows(pixels.data());
  }
  if (!sound) throw std::runtime_error("not a sound JPEG");
}

}  // namespace facematch::bench
