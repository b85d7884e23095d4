// WebP through libwebp; of an animation, the first frame.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "../error.h"
#include "codec.h"
#include "exif.h"

namespace facematch {
namespace {

class Demuxer {
 public:
  explicit Demuxer(std::span<const uint8_t> bytes) {
    const WebPData data = {bytes.data(), bytes.size()};
    demuxer_ = WebPDemux(&data);
    if (demuxer_ == nullptr) throw Error(ErrorCode::kImageDecodeFailed);
  }
  ~Demuxer() {
    WebPDemuxReleaseIterator(&frame_);
    WebPDemuxDelete(demuxer_);
  }
  Demuxer(const Demuxer&) = delete;
  Demuxer& operator=(const Demuxer&) = delete;

  std::span<const uint8_t> first_frame() {
    if (WebPDemuxGetFrame(demuxer_, 1, &frame_) == 0 || frame_.complete == 0) {
      throw Error(ErrorCode::kImageDecodeFailed);
    }
    return {frame_.fragment.bytes, frame_.fragment.size};
  }

  int orientation() const {
    WebPChunkIterator chunk;
    if (WebPDemuxGetChunk(demuxer_, "EXIF", 1, &chunk) == 0) return 1;
    const int value = exif_orientation({chunk.chunk.bytes, chunk.chunk.size});
    WebPDemuxReleaseChunkIterator(&chunk);
    return value;
  }

 private:
  WebPDemuxer* demuxer_ = nullptr;
  WebPIterator frame_ = {};
};

// The file is decoded in this many parts; the budget is checked before each.
constexpr size_t kParts = 64;

// Decodes into the output that the caller has set in `config`.
void decode_frame(std::span<const uint8_t> frame, WebPDecoderConfig& config, const Budget& budget) {
  const std::unique_ptr<WebPIDecoder, decltype(&WebPIDelete)> decoder(
      WebPIDecode(nullptr, 0, &config), WebPIDelete);
  if (!decoder) throw std::bad_alloc();
  const size_t part = std::max<size_t>(64, frame.size() / kParts);
  for (size_t arrived = 0; arrived < frame.size();) {
    if (budget.spent()) throw Error(ErrorCode::kImageTooComplex);
    arrived = std::min(frame.size(), arrived + part);
    const VP8StatusCode status = WebPIUpdate(decoder.get(), frame.data(), arrived);
    if (status == VP8_STATUS_OK) return;
    if (status != VP8_STATUS_SUSPENDED) break;
  }
  throw Error(ErrorCode::kImageDecodeFailed);
}

}  // namespace

RawImage decode_webp(std::span<const uint8_t> bytes, const ImageLimits& limits,
                     const Budget& budget) {
  Demuxer demuxer(bytes);
  const auto frame = demuxer.first_frame();
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0 ||
      WebPGetFeatures(frame.data(), frame.size(), &config.input) != VP8_STATUS_OK) {
    throw Error(ErrorCode::kImageDecodeFailed);
  }
  const WebPBitstreamFeatures& features = config.input;
  check_dimensions(features.width, features.height, limits);
  RawImage raw;
  raw.width = features.width;
  raw.height = features.height;
  raw.orientation = demuxer.orientation();
  raw.bgr.create(raw.height, raw.width, CV_8UC3);
  const bool alpha = features.has_alpha != 0;
  const int stride = alpha ? raw.width * 4 : static_cast<int>(raw.bgr.step);
  std::vector<uint8_t> bgra(alpha ? static_cast<size_t>(stride) * static_cast<size_t>(raw.height)
                                  : 0);
  config.output.colorspace = alpha ? MODE_BGRA : MODE_BGR;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = alpha ? bgra.data() : raw.bgr.data,
                          .stride = stride,
                          .size = static_cast<size_t>(stride) * static_cast<size_t>(raw.height)};
  decode_frame(frame, config, budget);
  if (!alpha) return raw;
  for (int y = 0; y < raw.height; ++y) {
    flatten_onto_white(bgra.data() + static_cast<size_t>(stride) * static_cast<size_t>(y),
                       raw.bgr.ptr(y), raw.width);
  }
  return raw;
}

}  // namespace facematch
