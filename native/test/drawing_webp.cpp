#include <webp/encode.h>
#include <webp/mux.h>

#include <stdexcept>

#include "drawing.h"

namespace facematch::testing {
namespace {

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("libwebp did not ") + what);
}

ByteVector taken(const WebPData& data) { return {data.bytes, data.bytes + data.size}; }

ByteVector with_exif(const ByteVector& file, const ByteVector& exif) {
  const WebPData picture = {file.data(), file.size()};
  const WebPData chunk = {exif.data(), exif.size()};
  WebPMux* mux = WebPMuxCreate(&picture, 1);
  require(mux != nullptr && WebPMuxSetChunk(mux, "EXIF", &chunk, 1) == WEBP_MUX_OK,
          "take the EXIF block");
  WebPData whole;
  require(WebPMuxAssemble(mux, &whole) == WEBP_MUX_OK, "assemble the file");
  ByteVector out = taken(whole);
  WebPDataClear(&whole);
  WebPMuxDelete(mux);
  return out;
}

}  // namespace

ByteVector encode_webp(const cv::Mat& picture, const WebpOptions& options) {
  const int stride = static_cast<int>(picture.step);
  uint8_t* encoded = nullptr;
  size_t size = 0;
  if (picture.channels() == 4) {
    size = options.lossless
               ? WebPEncodeLosslessBGRA(picture.data, picture.cols, picture.rows, stride, &encoded)
               : WebPEncodeBGRA(picture.data, picture.cols, picture.rows, stride, 95, &encoded);
  } else {
    size = options.lossless
               ? WebPEncodeLosslessBGR(picture.data, picture.cols, picture.rows, stride, &encoded)
               : WebPEncodeBGR(picture.data, picture.cols, picture.rows, stride, 95, &encoded);
  }
  require(size > 0, "encode");
  const ByteVector file(encoded, encoded + size);
  WebPFree(encoded);
  return options.exif.empty() ? file : with_exif(file, options.exif);
}

ByteVector encode_webp_animation(const std::vector<cv::Mat>& frames) {
  WebPAnimEncoder* encoder = WebPAnimEncoderNew(frames[0].cols, frames[0].rows, nullptr);
  WebPConfig config;
  require(WebPConfigInit(&config) != 0, "set up");
  config.lossless = 1;
  int milliseconds = 0;
  for (const cv::Mat& frame : frames) {
    WebPPicture picture;
    require(WebPPictureInit(&picture) != 0, "set up");
    picture.use_argb = 1;
    picture.width = frame.cols;
    picture.height = frame.rows;
    require(WebPPictureImportBGRA(&picture, frame.data, static_cast<int>(frame.step)) != 0,
            "import");
    require(WebPAnimEncoderAdd(encoder, &picture, milliseconds, &config) != 0, "add a frame");
    WebPPictureFree(&picture);
    milliseconds += 100;
  }
  require(WebPAnimEncoderAdd(encoder, nullptr, milliseconds, nullptr) != 0, "end");
  WebPData whole;
  require(WebPAnimEncoderAssemble(encoder, &whole) != 0, "assemble the file");
  ByteVector out = taken(whole);
  WebPDataClear(&whole);
  WebPAnimEncoderDelete(encoder);
  return out;
}

ByteVector encode_webp_frame(const cv::Mat& picture, cv::Size canvas, cv::Point at,
                             uint32_t background) {
  const ByteVector files[] = {encode_webp(picture),
                              encode_webp(cv::Mat(1, 1, CV_8UC3, cv::Scalar()))};
  WebPMux* mux = WebPMuxNew();
  for (const ByteVector& file : files) {
    WebPMuxFrameInfo frame = {};
    frame.bitstream = {file.data(), file.size()};
    frame.id = WEBP_CHUNK_ANMF;
    frame.duration = 100;
    if (&file == &files[0]) {
      frame.x_offset = at.x;
      frame.y_offset = at.y;
    }
    require(WebPMuxPushFrame(mux, &frame, 1) == WEBP_MUX_OK, "take the frame");
  }
  const WebPMuxAnimParams params = {.bgcolor = background, .loop_count = 0};
  WebPData whole;
  require(WebPMuxSetAnimationParams(mux, &params) == WEBP_MUX_OK &&
              WebPMuxSetCanvasSize(mux, canvas.width, canvas.height) == WEBP_MUX_OK &&
              WebPMuxAssemble(mux, &whole) == WEBP_MUX_OK,
          "assemble the file");
  ByteVector out = taken(whole);
  WebPDataClear(&whole);
  WebPMuxDelete(mux);
  return out;
}

}  // namespace facematch::testing
