// JPEG through libjpeg-turbo.
// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
#include <jerror.h>  // the names of the warnings; must follow jpeglib.h
// clang-format on

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <vector>

#include "../error.h"
#include "../system/body_memory.h"
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

// Rows that are skipped between two checks. Rows of blocks have 1, 2, 4 and so on up to 32 of them.
constexpr JDIMENSION kRowsSkipped = 256;

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
};

// What the callback for APP1 markers has read.
struct Notes {
  int orientation = 1;
  bool has_exif = false;
};

// The coefficients of a file of several scans, which libjpeg keeps until the last has come: as much
// memory as the picture. Put into huge pages, as new_pixels() does with ours.
struct Coefficients {
  jvirt_barray_ptr array;
  size_t bytes;
};

// What callbacks find in client_data.
struct Client {
  Notes notes;
  jpeg_memory_mgr memory;  // libjpeg's own methods
  std::array<Coefficients, MAX_COMPONENTS> coefficients;
  size_t arrays = 0;
  const char* damage = nullptr;  // of which libjpeg has no message
};

Client& client_of(j_common_ptr info) { return *static_cast<Client*>(info->client_data); }

jvirt_barray_ptr on_request(j_common_ptr info, int pool, boolean zeroed, JDIMENSION blocks_per_row,
                            JDIMENSION rows, JDIMENSION most_rows_at_once) {
  Client& client = client_of(info);
  const auto array = client.memory.request_virt_barray(info, pool, zeroed, blocks_per_row, rows,
                                                       most_rows_at_once);
  if (client.arrays < client.coefficients.size()) {
    client.coefficients[client.arrays++] = {array, sizeof(JBLOCK) * blocks_per_row * rows};
  }
  return array;
}

void on_realize(j_common_ptr info) {
  Client& client = client_of(info);
  client.memory.realize_virt_arrays(info);
  for (size_t i = 0; i < client.arrays; ++i) {
    const auto [array, bytes] = client.coefficients[i];
    // The rows follow one another.
    const JBLOCKARRAY first = info->mem->access_virt_barray(info, array, 0, 1, TRUE);
    if (bytes >= kLargeBuffer) use_huge_pages(reinterpret_cast<uint8_t*>(first[0]), bytes);
  }
  client.arrays = 0;
}

struct Progress {
  jpeg_progress_mgr base;
  const Budget* budget;
  unsigned reports;
  bool budget_spent;
};

[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->jump, 1);
}

// The warnings of libjpeg after which the picture is right all the same: docs/images.md tells
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
  Client& client = client_of(reinterpret_cast<j_common_ptr>(info));
  if (length < 2 || length > left) {
    client.damage = "the APP1 segment is longer than the file";
    leave(reinterpret_cast<j_common_ptr>(info));
  }
  Notes* notes = &client.notes;
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

// Longer side, pixels, that a copy at 1/8 must leave: 1/4 costs hardly more, and shows faces of 13
// % of a picture of 12 megapixels finely enough, where 1/8 does those of 27 %.
constexpr int kLeastOfEighth = 750;

// The smallest of 1/8, 1/4, 1/2, 1 that leaves at least `wanted` pixels on the longer side.
unsigned scale_eighths(int longer, int wanted) {
  if (wanted <= 0) return 8;
  unsigned eighths = 8;
  while (eighths > 1 && longer * static_cast<int>(eighths / 2) / 8 >= wanted) eighths /= 2;
  return eighths == 1 && longer / 8 < kLeastOfEighth ? 2 : eighths;
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
    info_.client_data = &client_;
    client_.memory = *info_.mem;
    info_.mem->request_virt_barray = on_request;
    info_.mem->realize_virt_arrays = on_realize;
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
    if (jpeg_start_decompress(&info_) == 0) return false;
    if (!has_all_scans(info_)) client_.damage = "scans are missing";
    return client_.damage == nullptr;
  }

  // Leaves out columns; after start(). `left` and `width` become what will be read.
  bool crop(int& left, int& width) {
    if (setjmp(errors_.jump) != 0) return false;
    auto from = static_cast<JDIMENSION>(left), count = static_cast<JDIMENSION>(width);
    jpeg_crop_scanline(&info_, &from, &count);
    left = static_cast<int>(from);
    width = static_cast<int>(count);
    return true;
  }

  bool skip_to(int row) {
    if (setjmp(errors_.jump) != 0) return false;
    const auto end = static_cast<JDIMENSION>(row);
    while (info_.output_scanline < end) {
      progress_.budget_spent = progress_.budget->spent();
      if (progress_.budget_spent) return false;
      // Between two calls whole rows of blocks: libjpeg-turbo 2.1 loses the rest of one.
      const JDIMENSION whole = kRowsSkipped - info_.output_scanline % kRowsSkipped;
      jpeg_skip_scanlines(&info_, std::min(whole, end - info_.output_scanline));
    }
    return true;
  }

  // The next rows, as many as `bgr` has.
  bool read_rows(cv::Mat& bgr, std::vector<uint8_t>& cmyk_row) {
    if (setjmp(errors_.jump) != 0) return false;
    for (int y = 0; y < bgr.rows; ++y) {
      uint8_t* row = bgr.ptr(y);
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
  int orientation() const { return client_.notes.orientation; }

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
  Error fault() {
    if (const char* kind = refused_kind()) return unsupported_format(kind);
    if (progress_.budget_spent) return Error(ErrorCode::kImageTooComplex);
    char text[JMSG_LENGTH_MAX] = "";
    errors_.base.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
    return Error(ErrorCode::kImageDecodeFailed, client_.damage != nullptr ? client_.damage : text);
  }

 private:
  std::span<const uint8_t> bytes_;
  jpeg_decompress_struct info_ = {};
  ErrorManager errors_ = {};
  Progress progress_ = {};
  Client client_ = {};
  bool is_cmyk_ = false;
};

// Rows of the parts, from the top, those that are near each other together.
std::vector<cv::Range> rows_of(std::vector<cv::Rect> parts) {
  // Skipping fewer than some rows of blocks spares nothing.
  constexpr int kNear = 64;
  std::sort(parts.begin(), parts.end(),
            [](const cv::Rect& a, const cv::Rect& b) { return a.y < b.y; });
  std::vector<cv::Range> rows;
  for (const cv::Rect& part : parts) {
    const int end = part.y + part.height;
    if (rows.empty() || part.y > rows.back().end + kNear) {
      rows.emplace_back(part.y, end);
    } else {
      rows.back().end = std::max(rows.back().end, end);
    }
  }
  return rows;
}

// The pixels at that scale that show a part of the full picture, and some more: at the edge of what
// is decoded, colours are interpolated from one side only.
cv::Rect scaled(const cv::Rect& part, unsigned eighths, cv::Size whole) {
  constexpr int kMargin = 8;
  const auto scale = static_cast<double>(eighths) / 8;
  const cv::Point from(static_cast<int>(std::floor(part.x * scale)) - kMargin,
                       static_cast<int>(std::floor(part.y * scale)) - kMargin);
  const cv::Point to(static_cast<int>(std::ceil(part.br().x * scale)) + kMargin,
                     static_cast<int>(std::ceil(part.br().y * scale)) + kMargin);
  return cv::Rect(from, to) & cv::Rect({}, whole);
}

cv::Size size_of(const jpeg_decompress_struct& info) {
  return {static_cast<int>(info.output_width), static_cast<int>(info.output_height)};
}

RawImage facts_of(const Decoder& decoder) {
  RawImage raw;
  raw.width = static_cast<int>(decoder.info().image_width);
  raw.height = static_cast<int>(decoder.info().image_height);
  raw.orientation = decoder.orientation();
  return raw;
}

std::vector<uint8_t> row_for(const Decoder& decoder) {
  return std::vector<uint8_t>(decoder.is_cmyk() ? size_t{4} * decoder.info().output_width : 0);
}

}  // namespace

RawImage decode_jpeg(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                     const Budget& budget) {
  Decoder decoder(bytes, budget);
  if (!decoder.read_header() || decoder.refused_kind() != nullptr) throw decoder.fault();
  const auto& info = decoder.info();
  check_dimensions(info.image_width, info.image_height, limits);
  RawImage raw = facts_of(decoder);
  if (!decoder.start(min_side)) throw decoder.fault();
  raw.eighths = static_cast<int>(info.scale_num);
  raw.bgr = new_pixels(size_of(info), CV_8UC3);
  std::vector<uint8_t> cmyk_row = row_for(decoder);
  if (!decoder.read_rows(raw.bgr, cmyk_row)) throw decoder.fault();
  return raw;
}

std::vector<RawImage> decode_jpeg_parts(std::span<const uint8_t> bytes, int min_side,
                                        std::span<const cv::Rect> parts, const Budget& budget) {
  Decoder decoder(bytes, budget);
  const auto& info = decoder.info();
  if (!decoder.read_header() || !decoder.start(min_side)) throw decoder.fault();
  RawImage raw = facts_of(decoder);
  raw.eighths = static_cast<int>(info.scale_num);
  std::vector<cv::Rect> places;
  cv::Rect all;
  for (const cv::Rect& part : parts) {
    places.push_back(scaled(part, info.scale_num, size_of(info)));
    all |= places.back();
  }
  int left = all.x, width = all.width;
  if (all.empty() || !decoder.crop(left, width)) throw decoder.fault();
  std::vector<uint8_t> cmyk_row = row_for(decoder);
  std::vector<RawImage> found(places.size(), raw);
  for (const cv::Range& rows : rows_of(places)) {
    cv::Mat strip = new_pixels({width, rows.size()}, CV_8UC3);
    if (!decoder.skip_to(rows.start) || !decoder.read_rows(strip, cmyk_row)) {
      throw decoder.fault();
    }
    const cv::Rect place(left, rows.start, width, rows.size());
    for (size_t i = 0; i < places.size(); ++i) {
      if ((places[i] & place) != places[i]) continue;
      found[i].bgr = strip(places[i] - place.tl());
      found[i].at = places[i].tl();
    }
  }
  return found;
}

}  // namespace facematch
