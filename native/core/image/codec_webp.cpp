// Decodes WebP with libwebp; for an animation, the canvas after its first frame.
#include <webp/decode.h>
#include <webp/mux_types.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "../error.h"
#include "codec.h"
#include "colour.h"
#include "exif.h"
#include "walk.h"

namespace facematch {
namespace {

Error damaged(const char* what) { return Error(ErrorCode::kImageDecodeFailed, what); }

// Returns the status of a call of libwebp. If memory runs out, versions 1.2 and older report damage
// or wait for more data; malloc() has then set errno. Reads errno right after the call, because
// other calls set it too.
template <typename Call>
VP8StatusCode status_of(Call call) {
  errno = 0;
  const VP8StatusCode status = call();
  return status != VP8_STATUS_OK && errno == ENOMEM ? VP8_STATUS_OUT_OF_MEMORY : status;
}

uint32_t little_endian(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  while (count-- > 0) value = value << 8 | bytes[at + count];
  return value;
}

// RFC 9649, section 2.3.
struct RiffChunk {
  std::span<const uint8_t> whole;  // with header and padding; shorter in a truncated file
  std::string_view name() const { return {reinterpret_cast<const char*>(whole.data()), 4}; }
  // The content; shorter in a truncated file.
  std::span<const uint8_t> data() const {
    return whole.subspan(kHeader, std::min(whole.size() - kHeader, length()));
  }
  size_t length() const { return little_endian(whole, 4, 4); }

  static constexpr size_t kHeader = 8;
};

// The chunks of a file, in order. For a frame of an animation, next() returns an ANMF chunk with
// its parameters only, and then the chunks inside the frame.
class RiffChunks {
 public:
  // `missing`: number of bytes that the file's header declares beyond `bytes`.
  RiffChunks(std::span<const uint8_t> bytes, size_t missing, const Budget& budget)
      : walk_(bytes, budget), missing_(missing) {}

  // Returns false at the end. Throws Error kImageDecodeFailed for an invalid length, and the error
  // of Budget::stop().
  bool next(RiffChunk& chunk) {
    const auto rest = walk_.rest();
    if (rest.size() < RiffChunk::kHeader) {
      is_truncated_ = !rest.empty() || missing_ > 0;
      return false;
    }
    const size_t length = little_endian(rest, 4, 4);
    size_t whole = RiffChunk::kHeader + length + length % 2;
    if (whole > rest.size() + missing_) throw damaged("a chunk exceeds the declared file size");
    if (std::equal(rest.begin(), rest.begin() + 4, "ANMF")) {
      if (length < kParameters) throw damaged("a frame is damaged");
      whole = RiffChunk::kHeader + kParameters;
    }
    is_truncated_ = whole > rest.size();
    chunk.whole = walk_.take(whole);
    return true;
  }

  // True if the last chunk, or the data after it, is truncated.
  bool is_truncated() const { return is_truncated_; }

 private:
  static constexpr size_t kParameters = 16;

  Walk walk_;
  size_t missing_;
  bool is_truncated_ = false;
};

// The parts of a file that are read, as in RFC 9649, section 2.7. Where the RFC leaves
// a choice, the code follows libwebp's demuxer, which browsers use. The demuxer itself is not used,
// because it walks through a list of all earlier chunks for each chunk: a file of 10 MB with a
// million empty chunks took an hour.
struct Contents {
  std::span<const uint8_t> frame;  // first frame: VP8L, VP8, or ALPH and VP8
  cv::Point at;                    // top left of the frame on the canvas
  cv::Size canvas;                 // empty: as large as the frame
  bool is_animation = false;
  std::optional<int> orientation;
  std::span<const uint8_t> profile;
};

bool is_bitstream(const RiffChunk& chunk) {
  return chunk.name() == "VP8 " || chunk.name() == "VP8L";
}

// Returns the chunks of a frame; `first` has already been read from `others`.
std::span<const uint8_t> frame_of(const RiffChunk& first, RiffChunks& others, bool with_alpha) {
  if (is_bitstream(first)) return first.whole;
  RiffChunk image;
  if (first.name() != "ALPH" || !others.next(image) || image.name() != "VP8 ") {
    throw damaged("there is no complete frame");
  }
  if (!with_alpha) return image.whole;
  return {first.whole.data(), first.whole.size() + image.whole.size()};
}

// Handles a file that begins with a VP8X chunk.
Contents read_extended(const RiffChunk& header, RiffChunks& chunks) {
  constexpr uint32_t kFlags = ANIMATION_FLAG | XMP_FLAG | EXIF_FLAG | ALPHA_FLAG | ICCP_FLAG;
  if (chunks.is_truncated() || header.length() < 10) throw damaged("the header is damaged");
  const auto data = header.data();
  const uint32_t flags = data[0];
  if ((flags & ~kFlags) != 0) throw damaged("the header is damaged");
  Contents contents;
  contents.is_animation = (flags & ANIMATION_FLAG) != 0;
  contents.canvas = {static_cast<int>(1 + little_endian(data, 4, 3)),
                     static_cast<int>(1 + little_endian(data, 7, 3))};
  bool has_parameters = false;         // true after an ANIM chunk
  const uint8_t* frame_end = nullptr;  // end of the frame whose first chunk comes next
  for (RiffChunk chunk; chunks.next(chunk);) {
    const auto name = chunk.name();
    const uint8_t* const end = std::exchange(frame_end, nullptr);
    if (name == "EXIF" && (flags & EXIF_FLAG) != 0 && !contents.orientation) {
      contents.orientation = exif_orientation(chunk.data());
    } else if (name == "ICCP" && (flags & ICCP_FLAG) != 0 && contents.profile.empty()) {
      if (!chunks.is_truncated()) contents.profile = chunk.data();
    } else if (name == "ANIM") {
      if (chunk.length() < 6) throw damaged("the animation is damaged");
      has_parameters = true;
    } else if (name == "ANMF") {
      if (!has_parameters || !contents.is_animation) throw damaged("the animation is damaged");
      // A truncated chunk is an error below.
      if (!contents.frame.empty() || chunks.is_truncated()) continue;
      frame_end = chunk.whole.data() + RiffChunk::kHeader + chunk.length() + chunk.length() % 2;
      contents.at = {static_cast<int>(2 * little_endian(chunk.data(), 0, 3)),
                     static_cast<int>(2 * little_endian(chunk.data(), 3, 3))};
    } else if (name == "ALPH" || is_bitstream(chunk)) {
      // Only the first frame is read.
      if (contents.is_animation && !contents.frame.empty()) continue;
      const bool allowed =
          contents.is_animation ? end != nullptr : contents.frame.empty() && !has_parameters;
      if (!allowed) throw damaged("an image chunk is in the wrong place");
      const bool with_alpha = contents.is_animation || (flags & ALPHA_FLAG) != 0;
      contents.frame = frame_of(chunk, chunks, with_alpha);
      if (contents.is_animation && contents.frame.data() + contents.frame.size() > end) {
        throw damaged("an image is longer than its frame");
      }
    } else if (name == "VP8X") {
      throw damaged("there is a second header");
    }
  }
  // Some encoders declare a wrong size. A file may be shorter than it declares if the decoder
  // detects a complete image and needs no other chunk.
  if (chunks.is_truncated() && (flags & (ANIMATION_FLAG | EXIF_FLAG)) != 0) {
    throw damaged("the file is truncated");
  }
  return contents;
}

Contents read_contents(std::span<const uint8_t> bytes, const Budget& budget) {
  constexpr size_t kHeader = 12;  // "RIFF", size of the rest, "WEBP"
  const size_t end = 8 + size_t{little_endian(bytes, 4, 4)};
  if (end < kHeader) throw damaged("the header is damaged");
  RiffChunks chunks(bytes.first(std::min(bytes.size(), end)).subspan(kHeader),
                    end - std::min(bytes.size(), end), budget);
  Contents contents;
  RiffChunk first;
  if (!chunks.next(first)) throw damaged("there is no complete frame");
  if (first.name() == "VP8X") {
    contents = read_extended(first, chunks);
  } else if (is_bitstream(first)) {
    contents.frame = first.whole;
  }
  if (contents.frame.empty()) throw damaged("there is no complete frame");
  return contents;
}

// A frame is decoded in about this many parts; the budget is checked before each part.
constexpr size_t kParts = 64;

// Number of rows that are blended onto white between two checks of the budget.
constexpr int kRowsBlended = 64;

// Decodes into the output that the caller has set in `config`.
void decode_frame(std::span<const uint8_t> frame, WebPDecoderConfig& config, const Budget& budget) {
  const std::unique_ptr<WebPIDecoder, decltype(&WebPIDelete)> decoder(
      WebPIDecode(nullptr, 0, &config), WebPIDelete);
  if (!decoder) throw out_of_memory();
  const size_t part = std::max<size_t>(64, frame.size() / kParts);
  for (size_t arrived = 0; arrived < frame.size();) {
    if (budget.spent()) budget.stop();
    arrived = std::min(frame.size(), arrived + part);
    const VP8StatusCode status =
        status_of([&] { return WebPIUpdate(decoder.get(), frame.data(), arrived); });
    if (status == VP8_STATUS_OK) return;
    if (status == VP8_STATUS_OUT_OF_MEMORY) throw out_of_memory();
    if (status != VP8_STATUS_SUSPENDED) break;
  }
  throw damaged("the data of the frame are damaged or truncated");
}

}  // namespace

RawImage decode_webp(std::span<const uint8_t> bytes, const ImageLimits& limits,
                     const Budget& budget) {
  const Contents contents = read_contents(bytes, budget);
  const auto frame = contents.frame;
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0 ||
      WebPGetFeatures(frame.data(), frame.size(), &config.input) != VP8_STATUS_OK) {
    throw damaged("the header of the frame is damaged");
  }
  const WebPBitstreamFeatures& features = config.input;
  const cv::Size size(features.width, features.height);
  const cv::Size canvas = contents.canvas.empty() ? size : contents.canvas;
  check_dimensions(canvas.width, canvas.height, limits);
  if (!contents.is_animation && size != canvas)
    throw damaged("the image and the canvas have different sizes");
  const cv::Rect place(contents.at, size);
  if ((place & cv::Rect({}, canvas)) != place) throw damaged("the frame lies outside the canvas");
  std::optional<ToSrgb> to_srgb;
  if (const auto space = space_to_convert(read_icc_profile(contents.profile, false))) {
    to_srgb.emplace(*space, 255);
  }
  RawImage raw;
  raw.width = canvas.width;
  raw.height = canvas.height;
  raw.orientation = contents.orientation.value_or(1);
  raw.bgr = new_pixels(canvas, CV_8UC3);
  // The rest of the canvas is white. Browsers ignore the background colour that the file proposes.
  if (place.size() != canvas) raw.bgr.setTo(cv::Scalar::all(255));
  cv::Mat bgr = raw.bgr(place);
  const bool alpha = features.has_alpha != 0;
  cv::Mat bgra = alpha ? new_pixels(place.size(), CV_8UC4) : cv::Mat();
  const cv::Mat& out = alpha ? bgra : bgr;
  config.output.colorspace = alpha ? MODE_BGRA : MODE_BGR;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = out.data,
                          .stride = static_cast<int>(out.step),
                          .size = static_cast<size_t>(out.dataend - out.data)};
  decode_frame(frame, config, budget);
  if (!alpha && to_srgb) to_srgb->convert(bgr, budget);
  if (!alpha) return raw;
  for (int y = 0; y < place.height; ++y) {
    if (y % kRowsBlended == 0 && budget.spent()) budget.stop();
    if (to_srgb) to_srgb->convert_row(bgra.ptr(y), bgra.ptr(y), place.width, 4);
    flatten_onto_white(bgra.ptr(y), bgr.ptr(y), place.width);
  }
  return raw;
}

}  // namespace facematch
