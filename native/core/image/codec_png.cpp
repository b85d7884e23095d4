// Decodes PNG with libpng; for an animation, the canvas after its first frame.
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "../error.h"
#include "codec.h"
#include "colour.h"
#include "exif.h"
#include "walk.h"

namespace facematch {
namespace {

// Number of rows between two checks of the budget. Walk also checks the budget for each piece of 8
// KiB that libpng reads, because libpng inflates the data after the last row too.
constexpr int kRowsBetweenChecks = 16;

struct Source {
  Walk walk;
  const Budget& budget;
  bool budget_spent = false;
  bool no_memory = false;             // an allocation failed
  std::array<char, 100> damage = {};  // libpng's message, shortened
};

constexpr char kExif[] = "eXIf";
constexpr png_uint_32 kExifType = 0x65584966;  // kExif as libpng's number

void read_bytes(png_structp png, png_bytep out, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  const auto rest = source->walk.rest();
  if (count > rest.size()) png_error(png, "truncated");
  std::memcpy(out, rest.data(), count);
  source->budget_spent = !source->walk.pass(count);
  if (source->budget_spent) png_error(png, "budget");
}

// Allocator for libpng and zlib, which do not report every failed allocation.
png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) static_cast<Source*>(png_get_mem_ptr(png))->no_memory = true;
  return memory;
}

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto& damage = static_cast<Source*>(png_get_error_ptr(png))->damage;
  std::strncpy(damage.data(), text, damage.size() - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

// Owns the reader, so that everything is destroyed after a longjmp out of libpng. As in
// codec_jpeg.cpp, no object with a destructor exists between setjmp and longjmp.
class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, const Budget& budget)
      : source_{.walk = Walk(bytes, budget), .budget = budget},
        png_(png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &source_, on_error, on_warning,
                                      &source_, allocate, nullptr)) {
    if (png_ == nullptr) throw out_of_memory();
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Sets the colour space from which rows are converted to sRGB; call it before start().
  void convert_from(const ColourSpace& space) { space_ = &space; }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) return false;
    png_set_read_fn(png_, &source_, read_bytes);
    // libpng reads only two ancillary chunks: transparency and orientation. Others may be wrong,
    // or decompression bombs. read_colours() reads the chunks for colours.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    // Keeps the orientation's chunk unparsed. The handler of libpng 1.6.39 allocates the size that
    // the chunk declares, up to 2 GiB, and reads it byte by byte.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_ALWAYS,
                                reinterpret_cast<png_const_bytep>(kExif), 1);
    // Some encoders declare a smaller window than they used.
    png_set_option(png_, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
    png_set_chunk_cache_max(png_, 64);
    // The limit is the file's size, because the orientation may be in a chunk with megabytes of
    // maker notes. All kept chunks together cannot exceed it.
    png_set_chunk_malloc_max(png_, std::max<size_t>(1 << 20, source_.walk.rest().size()));
    // check_dimensions() limits the size, with a more specific error.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png_, info_);
    return true;
  }

  // Sets the row format: BGR, or BGRA with transparency; 8 bits, or 16 bits if is_deep_.
  bool start() {
    passes_ = png_get_interlace_type(png_, info_) == PNG_INTERLACE_NONE ? 1 : 7;
    // 8 bits per sample are too few for dark or bright tones that a tone curve stretches.
    // Interlaced images are reduced to 8 bits anyway, because 16 bits would take eight bytes per
    // pixel.
    is_deep_ = space_ != nullptr && passes_ == 1 && png_get_bit_depth(png_, info_) == 16;
    if (space_ != nullptr) to_srgb_.emplace(*space_, is_deep_ ? 65'535 : 255);
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    if (is_deep_) {
      png_set_swap(png_);  // to the byte order of this machine
    } else {
      png_set_scale_16(png_);
    }
    png_set_expand(png_);
    png_set_gray_to_rgb(png_);
    png_set_bgr(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const size_t channels = png_get_channels(png_, info_);
    has_alpha_ = channels == 4;
    return (channels == 3 || has_alpha_) &&
           png_get_rowbytes(png_, info_) ==
               channels * (is_deep_ ? 2 : 1) * png_get_image_width(png_, info_);
  }

  // Returns the type of the buffer that read_rows() needs.
  int buffer_type() const { return is_deep_ ? CV_16UC4 : CV_8UC4; }

  // Returns the number of rows of that buffer; 0 if no buffer is needed. An interlaced image with
  // transparency needs all rows, because each pass adds pixels to them. For others, one row is
  // enough.
  int buffered_rows() const {
    if (!has_alpha_ && !is_deep_) return 0;
    return passes_ == 1 ? 1 : height();
  }

  bool read_rows(cv::Mat& buffer, cv::Mat bgr) {
    const auto in_budget = [&](int y) {
      source_.budget_spent = y % kRowsBetweenChecks == 0 && source_.budget.spent();
      return !source_.budget_spent;
    };
    // Damaged or missing chunks after the pixels are ignored, except the orientation's.
    if (setjmp(png_jmpbuf(png_)) != 0) return is_complete() && !in_exif();
    for (int pass = 0; pass < passes_; ++pass) {
      for (int y = 0; y < bgr.rows; ++y) {
        if (!in_budget(y)) return false;
        uint8_t* row = has_alpha_ || is_deep_ ? buffer.ptr(passes_ == 1 ? 0 : y) : bgr.ptr(y);
        png_read_row(png_, row, nullptr);
        has_row_ = true;
        if (pass == passes_ - 1) finish_row(row, bgr.ptr(y), bgr.cols);
      }
    }
    has_pixels_ = true;
    png_read_end(png_, info_);
    return is_complete();
  }

  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }
  Error failure() const {
    if (source_.budget_spent) source_.budget.stop();
    if (source_.no_memory) return out_of_memory();
    return Error(ErrorCode::kImageDecodeFailed, source_.damage.data());
  }

  bool has_row() const { return has_row_; }

  // eXIf may come before or after the pixels (PNG specification, third edition, 11.3.4.5).
  int orientation() const {
    png_unknown_chunkp chunks = nullptr;
    const int count = png_get_unknown_chunks(png_, info_, &chunks);
    std::optional<int> found;
    for (int i = 0; i < count && !found; ++i) {
      if (std::memcmp(chunks[i].name, kExif, sizeof kExif) != 0) continue;
      found = exif_orientation({chunks[i].data, chunks[i].size});
    }
    return found.value_or(1);
  }

 private:
  void finish_row(uint8_t* row, uint8_t* bgr, int width) const {
    const int channels = has_alpha_ ? 4 : 3;
    uint8_t* const out = has_alpha_ ? row : bgr;
    if (is_deep_) {
      to_srgb_->convert_row(reinterpret_cast<const uint16_t*>(row), out, width, channels);
    } else if (to_srgb_) {
      to_srgb_->convert_row(row, out, width, channels);
    }
    if (has_alpha_) flatten_onto_white(row, bgr, width);
  }

  // If memory runs out, libpng may drop the orientation with only a warning.
  bool is_complete() const { return has_pixels_ && !source_.budget_spent && !source_.no_memory; }

  // Returns true if libpng was reading the chunk with the orientation.
  bool in_exif() const { return png_get_io_chunk_type(png_) == kExifType; }

  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  const ColourSpace* space_ = nullptr;
  std::optional<ToSrgb> to_srgb_;
  bool has_alpha_ = false;
  bool is_deep_ = false;  // rows have 16 bits per sample before finish_row()
  bool has_row_ = false;
  bool has_pixels_ = false;  // all rows have been read, and the checksums of their chunks match
};

using Bytes = std::vector<uint8_t>;

uint32_t u32(std::span<const uint8_t> bytes, size_t at) { return png_get_uint_32(&bytes[at]); }

// Reads two consecutive numbers. Numbers of more than 31 bits, which PNG forbids, become negative.
cv::Size size_at(std::span<const uint8_t> bytes, size_t at) {
  return {static_cast<int>(u32(bytes, at)), static_cast<int>(u32(bytes, at + 4))};
}

void append_u32(Bytes& out, uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<uint8_t>(value >> shift));
}

// Returns the checksum of a chunk's name and data (PNG specification, third edition, annex D).
uint32_t checksum(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

struct Chunk {
  std::span<const uint8_t> whole;  // length, name, data, checksum
  std::string_view name() const { return {reinterpret_cast<const char*>(&whole[4]), 4}; }
  std::span<const uint8_t> data() const { return whole.subspan(8, whole.size() - 12); }
  bool is_intact() const {
    return checksum(whole.subspan(4, whole.size() - 8)) == u32(whole, whole.size() - 4);
  }
};

// Reads the next chunk of a file; returns false if there is no complete chunk.
bool next_chunk(Walk& walk, Chunk& chunk) {
  const auto rest = walk.rest();
  if (rest.size() < 12 || u32(rest, 0) > rest.size() - 12) return false;
  chunk.whole = walk.take(12 + size_t{u32(rest, 0)});
  return true;
}

void append_chunk(Bytes& out, std::string_view name, std::span<const uint8_t> data) {
  append_u32(out, static_cast<uint32_t>(data.size()));
  const size_t begin = out.size();
  out.insert(out.end(), name.begin(), name.end());
  out.insert(out.end(), data.begin(), data.end());
  append_u32(out, checksum(std::span(out).subspan(begin)));
}

constexpr size_t kSignature = 8;

// Inflates a profile. Returns nothing if the data is damaged or inflates to more than kMaxBytes.
Bytes inflated(std::span<const uint8_t> data, const Budget& budget) {
  constexpr size_t kMaxBytes = size_t{4} << 20, kPieceSize = size_t{64} << 10;
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) throw out_of_memory();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  Bytes out, piece(kPieceSize);
  for (int status = Z_OK; status == Z_OK && out.size() < kMaxBytes;) {
    if (budget.spent()) budget.stop();
    stream.next_out = piece.data();
    stream.avail_out = kPieceSize;
    status = inflate(&stream, Z_NO_FLUSH);
    out.insert(out.end(), piece.begin(), piece.end() - stream.avail_out);
    if (status == Z_MEM_ERROR) throw out_of_memory();
    if (status == Z_STREAM_END) return out;
  }
  return {};
}

Bytes profile_of(std::span<const uint8_t> data, const Budget& budget) {
  constexpr size_t kMaxName = 79;
  const auto name = data.first(std::min(data.size(), kMaxName + 1));
  const auto end = static_cast<size_t>(std::find(name.begin(), name.end(), 0) - name.begin());
  // A zero byte and the compression method follow the name.
  if (end == name.size() || data.size() < end + 2 || data[end + 1] != 0) return {};
  return inflated(data.subspan(end + 2), budget);
}

// Maximum relative deviation from sRGB's gamma that libpng and Chromium treat as equal.
constexpr double kSameGamma = 0.05;

std::optional<ColourSpace> space_of_gamma(double gamma, std::span<const uint8_t> chromaticities) {
  ColourSpace space = gamma_space(gamma);
  if (chromaticities.size() == 32) {
    std::array<cv::Point2d, 4> xy;
    for (size_t i = 0; i < 4; ++i) {
      xy[i] = cv::Point2d(u32(chromaticities, 8 * i), u32(chromaticities, 8 * i + 4)) / 1e5;
    }
    if (const auto matrix = srgb_from_primaries(xy)) space.to_srgb = *matrix;
  }
  const bool differs = std::abs(gamma * 2.2 - 1) > kSameGamma;
  if (!differs && space.levels_from_srgb() <= kNearSrgb) return {};
  return space;
}

// Returns the colour space of a PNG if it must be converted. The first of these chunks is used:
// cICP, iCCP, sRGB, gAMA with cHRM (PNG specification, third edition, section 4.3). A chunk
// that is damaged or has unknown values is skipped, as in Chromium.
std::optional<ColourSpace> read_colours(std::span<const uint8_t> bytes, const Budget& budget) {
  constexpr uint8_t kColour = 2;  // bit of the colour type
  std::span<const uint8_t> header, code_points, profile, srgb, gamma, chromaticities;
  const std::array<std::pair<std::string_view, std::span<const uint8_t>*>, 6> wanted = {
      {{"IHDR", &header},
       {"cICP", &code_points},
       {"iCCP", &profile},
       {"sRGB", &srgb},
       {"gAMA", &gamma},
       {"cHRM", &chromaticities}}};
  Walk walk(bytes.subspan(kSignature), budget);
  for (Chunk chunk; next_chunk(walk, chunk) && chunk.name() != "IDAT";) {
    for (const auto& [name, data] : wanted) {
      if (chunk.name() == name && data->empty() && chunk.is_intact()) *data = chunk.data();
    }
  }
  if (code_points.size() == 4 && code_points[2] == 0) {
    const Colours colours = h273_colours(code_points[0], code_points[1]);
    if (colours.space || colours.is_unsupported) return space_to_convert(colours);
  }
  if (header.size() == 13 && !profile.empty()) {
    const bool grey = (header[9] & kColour) == 0;
    const Colours colours = read_icc_profile(profile_of(profile, budget), grey);
    if (colours.space || colours.is_unsupported) return space_to_convert(colours);
  }
  const uint32_t gamma_times = gamma.size() == 4 ? u32(gamma, 0) : 0;
  if (!srgb.empty() || gamma_times == 0 || gamma_times >> 31 != 0) return {};
  return space_of_gamma(gamma_times / 1e5, chromaticities);
}

// Returns true if the file has an animation that does not include its first image. Browsers then
// show only the animation (PNG specification, third edition, section 4.9).
bool is_first_image_hidden(std::span<const uint8_t> bytes, const Budget& budget) {
  bool animated = false;
  Chunk chunk;
  for (Walk walk(bytes.subspan(kSignature), budget); next_chunk(walk, chunk);) {
    if (chunk.name() == "IDAT") return animated;
    if (chunk.name() == "fcTL") return false;
    if (chunk.name() != "acTL" || chunk.data().size() != 8 || !chunk.is_intact()) continue;
    // Numbers have 31 bits.
    animated = animated || (static_cast<int32_t>(u32(chunk.data(), 0)) > 0 &&
                            static_cast<int32_t>(u32(chunk.data(), 4)) >= 0);
  }
  return false;
}

bool is_within(int from, int length, int end) {
  return from >= 0 && length > 0 && int64_t{from} + length <= end;
}

// The first frame of an animation as a separate PNG, and the frame's place on the canvas.
struct Frame {
  Bytes png;
  cv::Size canvas;
  cv::Rect place;
};

Error damaged_frame() { return {ErrorCode::kImageDecodeFailed, "the first frame is damaged"}; }

// Reads an fcTL chunk that begins an animation; returns false if it violates the specification.
bool read_control(const Chunk& chunk, Frame& frame) {
  const auto data = chunk.data();
  constexpr uint8_t kDisposals = 3, kBlendings = 2;
  if (data.size() != 26 || u32(data, 0) != 0) return false;
  const cv::Size size = size_at(data, 4), from = size_at(data, 12);
  frame.place = cv::Rect(cv::Point(from), size);
  return is_within(from.width, size.width, frame.canvas.width) &&
         is_within(from.height, size.height, frame.canvas.height) && data[24] < kDisposals &&
         data[25] < kBlendings;
}

// Returns nothing if frames are missing or their chunks violate the specification. The first image
// of the file is then shown (PNG specification, third edition, section 13.1). Throws Error if the
// file is truncated, if a checksum of these chunks is wrong, or if the first frame is empty,
// because Chromium and other decoders then show a frame instead of the first image.
std::optional<Frame> first_frame(std::span<const uint8_t> bytes, const Budget& budget) {
  Frame frame;
  Bytes header, others;
  uint32_t number = 0;  // sequence number of the animation's next chunk
  bool is_over = false, is_whole = false;
  Walk walk(bytes.subspan(kSignature), budget);
  for (Chunk chunk; next_chunk(walk, chunk);) {
    const auto data = chunk.data();
    is_whole = is_whole || chunk.name() == "IEND";
    if (chunk.name() == "IHDR") {
      if (!header.empty() || data.size() != 13 || !chunk.is_intact()) throw damaged_frame();
      header.assign(data.begin(), data.end());
      frame.canvas = size_at(header, 0);
    } else if (chunk.name() == "fcTL") {
      is_over = number > 0;
      if (number == 1) throw damaged_frame();
      if (is_over) continue;
      if (header.empty() || !chunk.is_intact()) throw damaged_frame();
      if (!read_control(chunk, frame)) return std::nullopt;
      // Width and height have the same format in both chunks.
      std::copy_n(data.begin() + 4, 8, header.begin());
      ++number;
    } else if (chunk.name() == "fdAT" && !is_over) {
      if (!chunk.is_intact()) throw damaged_frame();
      if (number == 0 || data.size() < 4 || u32(data, 0) != number) return std::nullopt;
      append_chunk(others, "IDAT", data.subspan(4));
      ++number;
    } else if (chunk.name() != "fdAT" && chunk.name() != "IDAT" && chunk.name() != "acTL") {
      others.insert(others.end(), chunk.whole.begin(), chunk.whole.end());
    }
  }
  if (number < 2 && !is_whole) throw damaged_frame();
  if (number < 2) return std::nullopt;
  frame.png.assign(bytes.begin(), bytes.begin() + kSignature);
  append_chunk(frame.png, "IHDR", header);
  frame.png.insert(frame.png.end(), others.begin(), others.end());
  // Keeps the rest, so that the decoder treats a truncated file like any other PNG.
  frame.png.insert(frame.png.end(), walk.rest().begin(), walk.rest().end());
  return frame;
}

// Returns nothing if no row of an animation's first frame can be decoded. Browsers then do not show
// the frame.
std::optional<RawImage> decode_image(std::span<const uint8_t> bytes, const Frame* frame,
                                     const ImageLimits& limits, const Budget& budget) {
  Decoder decoder(bytes, budget);
  if (!decoder.read_header()) throw decoder.failure();
  const cv::Size size(decoder.width(), decoder.height());
  const cv::Size canvas = frame != nullptr ? frame->canvas : size;
  const cv::Point at = frame != nullptr ? frame->place.tl() : cv::Point();
  RawImage raw;
  raw.width = canvas.width;
  raw.height = canvas.height;
  check_dimensions(raw.width, raw.height, limits);
  const auto space = read_colours(bytes, budget);
  if (space) decoder.convert_from(*space);
  if (!decoder.start()) throw decoder.failure();
  raw.bgr = new_pixels(canvas, CV_8UC3);
  // The rest of the canvas is white, like transparency.
  if (size != canvas) raw.bgr.setTo(cv::Scalar::all(255));
  cv::Mat buffer = new_pixels({size.width, decoder.buffered_rows()}, decoder.buffer_type());
  if (!decoder.read_rows(buffer, raw.bgr(cv::Rect(at, size)))) {
    const Error failure = decoder.failure();
    if (frame == nullptr || decoder.has_row() || failure.code != ErrorCode::kImageDecodeFailed) {
      throw failure;
    }
    return std::nullopt;
  }
  raw.orientation = decoder.orientation();
  return raw;
}

}  // namespace

RawImage decode_png(std::span<const uint8_t> bytes, const ImageLimits& limits,
                    const Budget& budget) {
  if (is_first_image_hidden(bytes, budget)) {
    if (const auto frame = first_frame(bytes, budget)) {
      if (auto raw = decode_image(frame->png, &*frame, limits, budget)) return std::move(*raw);
    }
  }
  return decode_image(bytes, nullptr, limits, budget).value();
}

}  // namespace facematch
