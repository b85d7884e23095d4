#include "codec_jpeg.h"

// clang-format off
#include <jerror.h>  // the names of the warnings; must follow jpeglib.h
// clang-format on

#include <algorithm>
#include <cmath>

#include "../system/pages.h"
#include "exif.h"

namespace facematch {
namespace {

// libjpeg reports progress at every row of blocks that it reads and every row of pixels that it
// returns; the budget is checked at every 16th report. A progressive file may contain thousands of
// scans, each of which costs a pass over the whole image.
constexpr unsigned kReportsBetweenChecks = 16;

// Markers of ITU-T T.81 table B.1, and of T.87.
constexpr int kSof11 = 0xCB;
constexpr std::array kUnusualFrames = {0xC3, 0xC5, 0xC6, 0xC7};  // lossless, hierarchical
constexpr int kHierarchy = 0xDE;
constexpr int kJpegLs = 0xF7;

// Number of rows that are skipped between two checks: a multiple of the height of any row of blocks
// (1, 2, 4 and so on, up to 32).
constexpr JDIMENSION kRowsSkipped = 256;

JpegClient& client_of(j_common_ptr info) { return *static_cast<JpegClient*>(info->client_data); }

jvirt_barray_ptr on_request(j_common_ptr info, int pool, boolean zeroed, JDIMENSION blocks_per_row,
                            JDIMENSION rows, JDIMENSION max_rows_at_once) {
  JpegClient& client = client_of(info);
  const auto array =
      client.memory.request_virt_barray(info, pool, zeroed, blocks_per_row, rows, max_rows_at_once);
  if (client.arrays < client.coefficients.size()) {
    client.coefficients[client.arrays++] = {array, sizeof(JBLOCK) * blocks_per_row * rows};
  }
  return array;
}

void on_realize(j_common_ptr info) {
  JpegClient& client = client_of(info);
  client.memory.realize_virt_arrays(info);
  for (size_t i = 0; i < client.arrays; ++i) {
    const auto [array, bytes] = client.coefficients[i];
    // The rows are contiguous.
    const JBLOCKARRAY first = info->mem->access_virt_barray(info, array, 0, 1, TRUE);
    if (bytes >= kLargeBuffer) use_huge_pages(reinterpret_cast<uint8_t*>(first[0]), bytes);
  }
  client.arrays = 0;
}

[[noreturn]] void leave(j_common_ptr info) { std::longjmp(client_of(info).jump, 1); }

// Warnings of libjpeg after which the image is still correct; docs/research/images.md explains why.
// After any other warning, libjpeg fills a gap with grey or guessed pixels. Faces must not be
// compared on those, so the file counts as damaged.
constexpr std::array kHarmless = {JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR, JWRN_NOT_SEQUENTIAL};

// Maximum number of extraneous bytes before a restart marker. Webcams are known to write up to
// four. A wrong bit that shifts the following data leaves more bytes.
constexpr int kMaxPadding = 8;

bool is_harmless(const jpeg_decompress_struct& info, int warning) {
  switch (warning) {
    // The file ends without its end marker. Missing rows are reported as JWRN_HIT_MARKER;
    // has_all_scans() detects missing scans.
    case JWRN_JPEG_EOF:
      return info.input_scan_number > 0;
    case JWRN_EXTRANEOUS_DATA: {
      const int bytes = info.err->msg_parm.i[0], marker = info.err->msg_parm.i[1];
      return marker < JPEG_RST0 || marker > JPEG_RST0 + 7 || bytes <= kMaxPadding;
    }
    // A first scan may be repeated or come late. A refinement scan needs the scan that it refines.
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
  JpegClient& client = client_of(info);
  if (++client.reports % kReportsBetweenChecks != 0 || !client.budget->spent()) return;
  client.budget_spent = true;
  leave(info);
}

// Number of bytes passed to libjpeg at a time. libjpeg reads markers and segments, of which there
// may be millions, without reporting progress, so the budget is also checked before each piece.
constexpr size_t kPiece = size_t{256} << 10;

// Returns the bytes that libjpeg has not read yet, up to the end of the file.
std::span<const uint8_t> unread(const jpeg_decompress_struct& info) {
  const auto rest = static_cast<JpegClient*>(info.client_data)->walk.rest();
  const size_t given = info.src->bytes_in_buffer;
  return {rest.data() - given, rest.size() + given};
}

// Skips `count` bytes after the ones in libjpeg's buffer.
void pass(j_decompress_ptr info, size_t count) {
  JpegClient& client = client_of(reinterpret_cast<j_common_ptr>(info));
  client.budget_spent = !client.walk.pass(count);
  if (client.budget_spent) leave(reinterpret_cast<j_common_ptr>(info));
}

boolean on_empty(j_decompress_ptr info) {
  static constexpr std::array<JOCTET, 2> kEnd = {0xFF, JPEG_EOI};
  // Does not use unread(), because the source's own counter lags while libjpeg decodes.
  const auto rest = client_of(reinterpret_cast<j_common_ptr>(info)).walk.rest();
  const auto next = rest.first(std::min(kPiece, rest.size()));
  if (next.empty()) {
    // The source of jpeg_mem_src() does the same.
    info->err->msg_code = JWRN_JPEG_EOF;
    info->err->emit_message(reinterpret_cast<j_common_ptr>(info), -1);
    info->src->next_input_byte = kEnd.data();
    info->src->bytes_in_buffer = kEnd.size();
    return TRUE;
  }
  pass(info, next.size());
  info->src->next_input_byte = next.data();
  info->src->bytes_in_buffer = next.size();
  return TRUE;
}

void on_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  const size_t given = info->src->bytes_in_buffer,
               here = std::min(given, static_cast<size_t>(count));
  info->src->next_input_byte += here;
  info->src->bytes_in_buffer -= here;
  if (const size_t beyond = static_cast<size_t>(count) - here; beyond > 0) pass(info, beyond);
}

void do_nothing(j_decompress_ptr) {}

// Reads EXIF blocks in place. libjpeg's jpeg_save_markers keeps every block and walks through all
// of them for each new one: a file with 100,000 blocks takes half a minute.
boolean on_app1(j_decompress_ptr info) {
  const auto block = unread(*info);
  const size_t length = block.size() < 2 ? 0 : static_cast<size_t>(block[0]) << 8 | block[1];
  JpegClient& client = client_of(reinterpret_cast<j_common_ptr>(info));
  if (length < 2 || length > block.size()) {
    client.damage = "the APP1 segment is longer than the file";
    leave(reinterpret_cast<j_common_ptr>(info));
  }
  if (!client.orientation && length >= 8 && std::equal(&block[2], &block[6], "Exif")) {
    client.orientation = exif_orientation(block.subspan(2, length - 2));
  }
  on_skip(info, static_cast<long>(length));
  return TRUE;
}

// Records where the parts of an ICC profile are (ICC.1:2022, annex B.4). If a number is repeated,
// the first part is used, as in Chromium.
boolean on_app2(j_decompress_ptr info) {
  constexpr std::array<uint8_t, 12> kName = {'I', 'C', 'C', '_', 'P', 'R',
                                             'O', 'F', 'I', 'L', 'E', 0};
  constexpr size_t kHeader = 2 + kName.size() + 2;  // length, name, number, count
  const auto block = unread(*info);
  const size_t length = block.size() < 2 ? 0 : static_cast<size_t>(block[0]) << 8 | block[1];
  JpegClient& client = client_of(reinterpret_cast<j_common_ptr>(info));
  if (length < 2 || length > block.size()) {
    client.damage = "the APP2 segment is longer than the file";
    leave(reinterpret_cast<j_common_ptr>(info));
  }
  if (length > kHeader && std::equal(kName.begin(), kName.end(), &block[2])) {
    const size_t number = block[kHeader - 2], parts = block[kHeader - 1];
    if (client.profile_parts == 0) client.profile_parts = parts;
    auto& part = client.profile[number];
    if (part.empty()) part = block.subspan(kHeader, length - kHeader);
  }
  on_skip(info, static_cast<long>(length));
  return TRUE;
}

void ignore_text(j_common_ptr) {}

// 255 means no ink, as Adobe writes it. Browsers and other decoders assume this even without
// Adobe's marker.
void cmyk_to_bgr(const uint8_t* cmyk, uint8_t* bgr, int width) {
  for (int x = 0; x < width; ++x, cmyk += 4, bgr += 3) {
    for (int c = 0; c < 3; ++c) {
      bgr[2 - c] = static_cast<uint8_t>((cmyk[c] * cmyk[3] + 127) / 255);
    }
  }
}

// libjpeg-turbo before 3.0 crops a component to too few columns if both a larger inverse transform
// and interpolation enlarge it, as for the colours of 4:1:0 at a reduced scale.
bool is_enlarged_twice(const jpeg_decompress_struct& info, const jpeg_component_info& component) {
  const int times = component.DCT_scaled_size / info.min_DCT_scaled_size;
  return times > 1 && (component.h_samp_factor * times < info.max_h_samp_factor ||
                       component.v_samp_factor * times < info.max_v_samp_factor);
}

// Returns true if the file has every scan. libjpeg decodes an incomplete file without a warning: a
// missing component is grey, a missing coefficient 0. No known encoder omits scans.
bool has_all_scans(const jpeg_decompress_struct& info) {
  for (int c = 0; c < info.num_components; ++c) {
    // libjpeg sets quant_table at the component's first scan.
    if (info.comp_info[c].quant_table == nullptr) return false;
    if (!info.progressive_mode) continue;
    // Lowest known bit of each coefficient; -1 if none.
    const auto& bits = info.coef_bits[c];
    if (std::any_of(bits, bits + DCTSIZE2, [](int lowest) { return lowest != 0; })) return false;
  }
  return true;
}

// Minimum longer side in pixels of a copy at 1/8. If it would be smaller, the scale is 1/4, which
// costs hardly more and shows small faces in enough detail.
constexpr int kMinSideAtEighth = 750;

// Returns the smallest scale in eighths (1, 2, 4 or 8) that leaves at least `wanted` pixels on the
// longer side; 8 if `wanted` is 0.
unsigned scale_eighths(int longer, int wanted) {
  if (wanted <= 0) return 8;
  unsigned eighths = 8;
  while (eighths > 1 && longer * static_cast<int>(eighths / 2) / 8 >= wanted) eighths /= 2;
  return eighths == 1 && longer / 8 < kMinSideAtEighth ? 2 : eighths;
}

}  // namespace

JpegDecoder::JpegDecoder(std::span<const uint8_t> bytes, const Budget& budget)
    : client_(bytes, budget) {
  info_.client_data = &client_;
  progress_.progress_monitor = on_progress;
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = leave;
  errors_.emit_message = on_message;
  errors_.output_message = ignore_text;
}

// No object with a destructor may exist between setjmp and longjmp, so the steps use only members.
bool JpegDecoder::read_header() {
  if (setjmp(client_.jump) != 0) return false;
  jpeg_create_decompress(&info_);
  info_.progress = &progress_;
  client_.memory = *info_.mem;
  info_.mem->request_virt_barray = on_request;
  info_.mem->realize_virt_arrays = on_realize;
  jpeg_set_marker_processor(&info_, JPEG_APP0 + 1, on_app1);
  jpeg_set_marker_processor(&info_, JPEG_APP0 + 2, on_app2);
  source_.init_source = do_nothing;
  source_.fill_input_buffer = on_empty;
  source_.skip_input_data = on_skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = do_nothing;
  info_.src = &source_;
  return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK;
}

void JpegDecoder::read_colours() {
  // CMYK profiles are not applied.
  if (info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK) return;
  std::vector<uint8_t> profile;
  for (size_t number = 1; number <= client_.profile_parts; ++number) {
    const auto part = client_.profile[number];
    if (part.empty()) return;
    profile.insert(profile.end(), part.begin(), part.end());
  }
  if (const auto space = space_to_convert(read_icc_profile(profile, false)))
    to_srgb_.emplace(*space, 255);
}

bool JpegDecoder::start(int min_side) {
  if (setjmp(client_.jump) != 0) return false;
  is_cmyk_ = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  info_.out_color_space = is_cmyk_ ? JCS_CMYK : JCS_EXT_BGR;
  info_.scale_num =
      scale_eighths(static_cast<int>(std::max(info_.image_width, info_.image_height)), min_side);
  info_.scale_denom = 8;
  if (jpeg_start_decompress(&info_) == 0) return false;
  if (!has_all_scans(info_)) client_.damage = "scans are missing";
  return client_.damage == nullptr;
}

bool JpegDecoder::crop(int& left, int& width) {
  const auto* const component = info_.comp_info;
  if (std::any_of(component, component + info_.num_components,
                  [&](const auto& one) { return is_enlarged_twice(info_, one); })) {
    left = 0;
    width = static_cast<int>(info_.output_width);
    return true;
  }
  if (setjmp(client_.jump) != 0) return false;
  auto from = static_cast<JDIMENSION>(left), count = static_cast<JDIMENSION>(width);
  jpeg_crop_scanline(&info_, &from, &count);
  left = static_cast<int>(from);
  width = static_cast<int>(count);
  return true;
}

bool JpegDecoder::skip_to(int row) {
  if (setjmp(client_.jump) != 0) return false;
  const auto end = static_cast<JDIMENSION>(row);
  while (info_.output_scanline < end) {
    client_.budget_spent = client_.budget->spent();
    if (client_.budget_spent) return false;
    // All calls except the last end with a complete row of blocks, because libjpeg-turbo 2.1 loses
    // the rest of an incomplete one.
    const JDIMENSION whole = kRowsSkipped - info_.output_scanline % kRowsSkipped;
    jpeg_skip_scanlines(&info_, std::min(whole, end - info_.output_scanline));
  }
  return true;
}

bool JpegDecoder::read_rows(cv::Mat& bgr) {
  if (is_cmyk_) cmyk_row_.resize(size_t{4} * info_.output_width);
  if (setjmp(client_.jump) != 0) return false;
  for (int y = 0; y < bgr.rows; ++y) {
    uint8_t* row = bgr.ptr(y);
    if (!is_cmyk_) {
      jpeg_read_scanlines(&info_, &row, 1);
      continue;
    }
    uint8_t* from = cmyk_row_.data();
    jpeg_read_scanlines(&info_, &from, 1);
    cmyk_to_bgr(from, row, bgr.cols);
  }
  // jpeg_finish_decompress() is not called, because the bytes after the last row do not belong to
  // the image.
  return true;
}

RawImage JpegDecoder::facts() const {
  RawImage raw;
  raw.width = static_cast<int>(info_.image_width);
  raw.height = static_cast<int>(info_.image_height);
  raw.orientation = client_.orientation.value_or(1);
  raw.eighths = static_cast<int>(info_.scale_num);
  return raw;
}

cv::Size JpegDecoder::size() const {
  return {static_cast<int>(info_.output_width), static_cast<int>(info_.output_height)};
}

const char* JpegDecoder::unsupported_kind() const {
  const int given = errors_.msg_parm.i[0];
  const auto is = [&](int message) { return errors_.msg_code == message; };
  // libjpeg cannot detect that arithmetic-coded data end early, and continues with zeros. Browsers
  // do not show such files either. libjpeg reads SOF9 and SOF10; it reports SOF11 and SOF13 to
  // SOF15 as an error.
  if (info_.arith_code || (is(JERR_SOF_UNSUPPORTED) && given >= kSof11)) return "arithmetic_jpeg";
  const bool frame =
      is(JERR_SOF_UNSUPPORTED) &&
      std::find(kUnusualFrames.begin(), kUnusualFrames.end(), given) != kUnusualFrames.end();
  const bool marker = is(JERR_UNKNOWN_MARKER) && (given == kHierarchy || given == kJpegLs);
  const bool precision = is(JERR_BAD_PRECISION) && given == 12;
  return frame || marker || precision ? "unusual_jpeg" : nullptr;
}

Error JpegDecoder::failure() {
  if (const char* kind = unsupported_kind()) return unsupported_format(kind);
  if (client_.budget_spent) client_.budget->stop();
  if (errors_.msg_code == JERR_OUT_OF_MEMORY) return out_of_memory();
  char text[JMSG_LENGTH_MAX] = "";
  errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
  return Error(ErrorCode::kImageDecodeFailed, client_.damage != nullptr ? client_.damage : text);
}

RawImage decode_jpeg(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                     const Budget& budget) {
  JpegDecoder decoder(bytes, budget);
  if (!decoder.read_header() || decoder.unsupported_kind() != nullptr) throw decoder.failure();
  check_dimensions(decoder.info().image_width, decoder.info().image_height, limits);
  decoder.read_colours();
  if (!decoder.start(min_side)) throw decoder.failure();
  RawImage raw = decoder.facts();
  raw.bgr = new_pixels(decoder.size(), CV_8UC3);
  if (!decoder.read_rows(raw.bgr)) throw decoder.failure();
  decoder.convert(raw.bgr);
  return raw;
}

}  // namespace facematch
