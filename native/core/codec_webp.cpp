// WebP through libwebp; of an animation, the first frame.
#include <webp/decode.h>
#include <webp/demux.h>

#include <vector>

#include "codec.h"
#include "error.h"
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

}  // namespace

RawImage decode_webp(std::span<const uint8_t> bytes, const ImageLimits& limits) {
  Demuxer demuxer(bytes);
  const auto frame = demuxer.first_frame();
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(frame.data(), frame.size(), &features) != VP8_STATUS_OK) {
    throw Error(ErrorCode::kImageDecodeFailed);
  }
  check_dimensions(features.width, features.height, limits);
  RawImage raw;
  raw.width = features.width;
  raw.height = features.height;
  raw.orientation = demuxer.orientation();
  raw.bgr.create(raw.height, raw.width, CV_8UC3);
  if (features.has_alpha == 0) {
    if (WebPDecodeBGRInto(frame.data(), frame.size(), raw.bgr.data, raw.bgr.total() * 3,
                          static_cast<int>(raw.bgr.step)) == nullptr) {
      throw Error(ErrorCode::kImageDecodeFailed);
    }
    return raw;
  }
  const int stride = raw.width * 4;
  std::vector<uint8_t> bgra(static_cast<size_t>(stride) * static_cast<size_t>(raw.height));
  if (WebPDecodeBGRAInto(frame.data(), frame.size(), bgra.data(), bgra.size(), stride) == nullptr) {
    throw Error(ErrorCode::kImageDecodeFailed);
  }
  for (int y = 0; y < raw.height; ++y) {
    flatten_onto_white(bgra.data() + static_cast<size_t>(stride) * static_cast<size_t>(y),
                       raw.bgr.ptr(y), raw.width);
  }
  return raw;
}

}  // namespace facematch
