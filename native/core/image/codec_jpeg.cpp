// JPEG through libjpeg-turbo.
// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
#include <jerror.h>  // the names of the warnings; must follow jpeglib.h
// clang-format on

#include <algorithm>
#include <array>
#include <csetjmp>
#include <vector>

#include "../error.h"
#include "codec.h"
#include "exif.h"

namespace facematch {
namespace {

// libjpeg reports progress at every row of blocks that it reads and every row of pixels that it
// returns; the budget is checked at every 16th. A progressive file may contain thousands of scans,
// each of which costs a pass over the whole picture.
constexpr unsigned kReportsBetweenChecks = 16;

// Markers of ITU-T T.81 table B.1, and of T.87.
constexpr int kSof11 = 0xCB;
constexpr std::array kUnusualFrames = {0xC3, 0xC5, 0xC6, 0xC7};  // lossless, hierarchical
constexpr int kHierarchy = 0xDE;
constexpr int kJpegLs = 0xF7;

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
};

// What the callback for APP1 markers has read.
struct Notes {
  int orientation = 1;
  bool has_exif = false;
};

struct Progress {
  jpeg_progress_mgr base;
  const Budget* budget;
  unsigned reports;
  bool budget_spent;
};

[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->jump, 1);
}

// The warnings of libjpeg after which the picture is right all the same: docs/pictures.md tells
// why. After every other one libjpeg fills a gap with grey or with what it guesses, and faces must
// not be compared on made-up pixels: that is damage.
constexpr std::array kHarmless = {JWRN_ADOBE_XFORM, JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR,
                                  JWRN_NOT_SEQUENTIAL};

bool is_harmless(const jpeg_decompress_struct& info, int warning) {
  switch (warning) {
    // The file ends without its end marker. Rows that are missing are JWRN_HIT_MARKER, scans that
    // are missing are left to has_all_scans().
    case JWRN_JPEG_EOF:
      return info.input_scan_number > 0;
    // A first scan may be repeated or come late; bits that refine others need those others.
    case JWRN_BOGUS_PROGRESSION:
      return info.Ah == 0;
    default:
      return std::find(kHarmless.begin(), kHarmless.end(), warning) != kHarmless.end();
  }
}

void on_message(j_common_ptr info, int level) {
  const bool is_warning = level < 0;
  if (is_warning && !is_harmless(*reinterpret_cast<j_decompress_ptr>(info), info->err->msg_code)) {
    leave(info);
  }
}

void on_progress(j_common_ptr info) {
  auto* progress = reinterpret_cast<Progress*>(info->progress);
  if (++progress->reports % kReportsBetweenChecks != 0 || !progress->budget->spent()) return;
  progress->budget_spent = true;
  leave(info);
}

// Reads the first EXIF block in place. libjpeg's jpeg_save_markers keeps every block and walks
// through all of them for each new one: a file with a hundred thousand takes half a minute.
boolean on_app1(j_decompress_ptr info) {
  jpeg_source_mgr* source = info->src;
  const size_t left = source->bytes_in_buffer;  // the whole rest of the file
  const JOCTET* block = source->next_input_byte;
  const size_t length = left < 2 ? 0 : static_cast<size_t>(block[0]) << 8 | block[1];
  if (length < 2 || length > left) leave(reinterpret_cast<j_common_ptr>(info));
  auto* notes = static_cast<Notes*>(info->client_data);
  if (!notes->has_exif && length >= 8 && std::equal(block + 2, block + 6, "Exif")) {
    notes->has_exif = true;
    notes->orientation = exif_orientation({block + 2, length - 2});
  }
  source->next_input_byte += length;
  source->bytes_in_buffer -= length;
  return TRUE;
}

void ignore_text(j_common_ptr) {}

// Adobe's CMYK is stored inverted: 255 is no ink.
void cmyk_to_bgr(const uint8_t* cmyk, uint8_t* bgr, int width, bool inverted) {
  for (int x = 0; x < width; ++x, cmyk += 4, bgr += 3) {
    const int k = inverted ? cmyk[3] : 255 - cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? cmyk[c] : 255 - cmyk[c];
      bgr[2 - c] = static_cast<uint8_t>((ink * k + 127) / 255);
    }
  }
}

// Whether every scan has come. libjpeg shows what it has without a warning: a missing component is
// grey, a missing coefficient 0. A face without the luma's last bits or without the chroma's AC has
// a cosine of down to 0.93 to itself; no encoder that we know of leaves them out.
bool has_all_scans(const jpeg_decompress_struct& info) {
  for (int c = 0; c < info.num_components; ++c) {
    // Kept at the component's first scan.
    if (info.comp_info[c].quant_table == nullptr) return false;
    if (!info.progressive_mode) continue;
    // The lowest bit that is known of each coefficient; -1 where none is.
    const auto& bits = info.coef_bits[c];
    if (std::any_of(bits, bits + DCTSIZE2, [](int lowest) { return lowest != 0; })) return false;
  }
  return true;
}

// The smallest of 1/8, 1/4, 1/2, 1 that leaves at least `wanted` pixels on the longer side.
unsigned scale_eighths(int longer, int wanted) {
  if (wanted <= 0) return 8;
  unsigned eighths = 8;
  while (eighths > 1 && longer * static_cast<int>(eighths / 2) / 8 >= wanted) eighths /= 2;
  return eighths;
}

// Owns the decompressor, so that everything is destroyed after a longjmp out of libjpeg.
class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, const Budget& budget) : bytes_(bytes) {
    progress_.base.progress_monitor = on_progress;
    progress_.budget = &budget;
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = on_message;
    errors_.base.output_message = ignore_text;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // No object with a destructor may exist between setjmp and longjmp, so these steps use only
  // members. Each returns false when the picture is damaged or the budget is used up; see fault().
  bool read_header() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_.base;
    info_.client_data = &notes_;
    jpeg_set_marker_processor(&info_, JPEG_APP0 + 1, on_app1);
    jpeg_mem_src(&info_, bytes_.data(), bytes_.size());
    return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK;
  }

  bool start(int min_side) {
    if (setjmp(errors_.jump) != 0) return false;
    is_cmyk_ = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = is_cmyk_ ? JCS_CMYK : JCS_EXT_BGR;
    info_.scale_num =
        scale_eighths(static_cast<int>(std::max(info_.image_width, info_.image_height)), min_side);
    info_.scale_denom = 8;
    // Reads all scans of a file that has more than one.
    return jpeg_start_decompress(&info_) != 0 && has_all_scans(info_);
  }

  bool read_rows(cv::Mat& bgr, std::vector<uint8_t>& cmyk_row) {
    if (setjmp(errors_.jump) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      uint8_t* row = bgr.ptr(static_cast<int>(info_.output_scanline));
      if (!is_cmyk_) {
        jpeg_read_scanlines(&info_, &row, 1);
        continue;
      }
      uint8_t* from = cmyk_row.data();
      jpeg_read_scanlines(&info_, &from, 1);
      cmyk_to_bgr(from, row, bgr.cols, info_.saw_Adobe_marker != 0);
    }
    // Without jpeg_finish_decompress(): what follows the last row is no part of the picture.
    return true;
  }

  const jpeg_decompress_struct& info() const { return info_; }
  bool is_cmyk() const { return is_cmyk_; }
  int orientation() const { return notes_.orientation; }

  // The API's word for a JPEG of a kind that is not taken; nullptr for any other, also a damaged
  // one.
  const char* refused_kind() const {
    const jpeg_error_mgr& error = errors_.base;
    const int given = error.msg_parm.i[0];
    const auto is = [&](int message) { return error.msg_code == message; };
    // Where arithmetic coding ends early, libjpeg cannot tell and goes on with zeros; browsers do
    // not show it either. SOF9 and SOF10 are read, SOF11 and SOF13 to SOF15 are an error.
    if (info_.arith_code || (is(JERR_SOF_UNSUPPORTED) && given >= kSof11)) return "arithmetic_jpeg";
    const bool frame =
        is(JERR_SOF_UNSUPPORTED) &&
        std::find(kUnusualFrames.begin(), kUnusualFrames.end(), given) != kUnusualFrames.end();
    const bool marker = is(JERR_UNKNOWN_MARKER) && (given == kHierarchy || given == kJpegLs);
    const bool precision = is(JERR_BAD_PRECISION) && given == 12;
    return frame || marker || precision ? "unusual_jpeg" : nullptr;
  }

  // Why a step has returned false.
  Error fault() const {
    if (const char* kind = refused_kind()) return unsupported_format(kind);
    return Error(progress_.budget_spent ? ErrorCode::kImageTooComplex
                                        : ErrorCode::kImageDecodeFailed);
  }

 private:
  std::span<const uint8_t> bytes_;
  jpeg_decompress_struct info_ = {};
  ErrorManager errors_ = {};
  Progress progress_ = {};
  Notes notes_;
  bool is_cmyk_ = false;
};

}  // namespace

RawImage decode_jpeg(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                     const Budget& budget) {
  Decoder decoder(bytes, budget);
  if (!decoder.read_header() || decoder.refused_kind() != nullptr) throw decoder.fault();
  const auto& info = decoder.info();
  check_dimensions(info.image_width, info.image_height, limits);
  RawImage raw;
  raw.width = static_cast<int>(info.image_width);
  raw.height = static_cast<int>(info.image_height);
  raw.orientation = decoder.orientation();
  if (!decoder.start(min_side)) throw decoder.fault();
  raw.eighths = static_cast<int>(info.scale_num);
  raw.bgr.create(static_cast<int>(info.output_height), static_cast<int>(info.output_width),
                 CV_8UC3);
  std::vector<uint8_t> cmyk_row(decoder.is_cmyk() ? size_t{4} * info.output_width : 0);
  if (!decoder.read_rows(raw.bgr, cmyk_row)) throw decoder.fault();
  return raw;
}

}  // namespace facematch
