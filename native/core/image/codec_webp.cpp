// WebP through libwebp; of an animation, the canvas after its first frame.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "../error.h"
#include "codec.h"
#include "exif.h"

namespace facematch {
namespace {

// What libwebp does not take. It calls some files damaged for which it finds no memory; malloc()
// then has set errno.
Error damaged(const char* what) {
  return errno == ENOMEM ? out_of_memory() : Error(ErrorCode::kImageDecodeFailed, what);
}

class Demuxer {
 public:
  explicit Demuxer(std::span<const uint8_t> bytes) {
    const WebPData data = {bytes.data(), bytes.size()};
    demuxer_ = WebPDemuxPartial(&data, &state_);
    if (demuxer_ == nullptr) throw damaged("the container is damaged");
  }
  ~Demuxer() {
    WebPDemuxReleaseIterator(&frame_);
    WebPDemuxDelete(demuxer_);
  }
  Demuxer(const Demuxer&) = delete;
  Demuxer& operator=(const Demuxer&) = delete;

  // The whole image; a frame of an animation may cover only a part of it.
  cv::Size canvas() const {
    return {static_cast<int>(WebPDemuxGetI(demuxer_, WEBP_FF_CANVAS_WIDTH)),
            static_cast<int>(WebPDemuxGetI(demuxer_, WEBP_FF_CANVAS_HEIGHT))};
  }

  std::span<const uint8_t> first_frame() {
    if (is_cut()) throw damaged("the file is cut short");
    if (WebPDemuxGetFrame(demuxer_, 1, &frame_) == 0) throw damaged("there is no whole frame");
    return {frame_.fragment.bytes, frame_.fragment.size};
  }

  cv::Point first_frame_at() const { return {frame_.x_offset, frame_.y_offset}; }

  int orientation() const {
    WebPChunkIterator chunk;
    std::optional<int> found;
    for (int more = WebPDemuxGetChunk(demuxer_, "EXIF", 1, &chunk); more != 0 && !found;
         more = WebPDemuxNextChunk(&chunk)) {
      found = exif_orientation({chunk.chunk.bytes, chunk.chunk.size});
    }
    WebPDemuxReleaseChunkIterator(&chunk);
    return found.value_or(1);
  }

 private:
  // Some encoders count wrongly, so a file may be shorter than it says where the decoder can tell
  // whether the image is complete, and nothing else in it is needed.
  bool is_cut() const {
    constexpr uint32_t kNeedsRest = ANIMATION_FLAG | EXIF_FLAG;
    return state_ != WEBP_DEMUX_DONE &&
           (WebPDemuxGetI(demuxer_, WEBP_FF_FORMAT_FLAGS) & kNeedsRest) != 0;
  }

  WebPDemuxState state_ = WEBP_DEMUX_PARSE_ERROR;
  WebPDemuxer* demuxer_ = nullptr;
  WebPIterator frame_ = {};
};

// The file is decoded in this many parts; the budget is checked before each.
constexpr size_t kParts = 64;

// Rows that are blended onto white between two checks of the budget.
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
    const VP8StatusCode status = WebPIUpdate(decoder.get(), frame.data(), arrived);
    if (status == VP8_STATUS_OK) return;
    // libwebp 1.2 waits for more data after some allocations that fail, and then crashes.
    if (status != VP8_STATUS_SUSPENDED || errno == ENOMEM) break;
  }
  throw damaged("the data of the frame are damaged or cut short");
}

}  // namespace

RawImage decode_webp(std::span<const uint8_t> bytes, const ImageLimits& limits,
                     const Budget& budget) {
  errno = 0;
  Demuxer demuxer(bytes);
  const auto frame = demuxer.first_frame();
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0 ||
      WebPGetFeatures(frame.data(), frame.size(), &config.input) != VP8_STATUS_OK) {
    throw damaged("the header of the frame is damaged");
  }
  const WebPBitstreamFeatures& features = config.input;
  const cv::Size canvas = demuxer.canvas();
  check_dimensions(canvas.width, canvas.height, limits);
  const cv::Rect place(demuxer.first_frame_at(), cv::Size(features.width, features.height));
  if ((place & cv::Rect({}, canvas)) != place) throw damaged("the frame lies outside the canvas");
  RawImage raw;
  raw.width = canvas.width;
  raw.height = canvas.height;
  raw.orientation = demuxer.orientation();
  raw.bgr = new_pixels(canvas, CV_8UC3);
  // White, as transparency: browsers ignore the background colour that the file proposes.
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
  if (!alpha) return raw;
  for (int y = 0; y < place.height; ++y) {
    if (y % kRowsBlended == 0 && budget.spent()) budget.stop();
    flatten_onto_white(bgra.ptr(y), bgr.ptr(y), place.width);
  }
  return raw;
}

}  // namespace facematch
