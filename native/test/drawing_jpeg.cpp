#include <cstdlib>

#include "drawing.h"

namespace facematch::testing {
namespace {

// A compressor with its memory; an error of the library prints and ends the test program, which is
// right here.
class Compressor {
 public:
  Compressor(int width, int height, int components, J_COLOR_SPACE colours) {
    info.err = jpeg_std_error(&errors_);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &buffer_, &size_);
    info.image_width = static_cast<JDIMENSION>(width);
    info.image_height = static_cast<JDIMENSION>(height);
    info.input_components = components;
    info.in_color_space = colours;
    jpeg_set_defaults(&info);
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(buffer_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  ByteVector write(const cv::Mat& picture, const ByteVector& app1) {
    jpeg_start_compress(&info, TRUE);
    if (!app1.empty()) {
      jpeg_write_marker(&info, JPEG_APP0 + 1, app1.data(), static_cast<unsigned>(app1.size()));
    }
    for (int y = 0; y < picture.rows; ++y) {
      JSAMPROW row = const_cast<uint8_t*>(picture.ptr(y));
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    return {buffer_, buffer_ + size_};
  }

  jpeg_compress_struct info = {};

 private:
  jpeg_error_mgr errors_ = {};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

ByteVector encode_jpeg(const cv::Mat& picture, const JpegOptions& options) {
  const bool grey = picture.channels() == 1;
  Compressor compressor(picture.cols, picture.rows, picture.channels(),
                        grey ? JCS_GRAYSCALE : JCS_EXT_BGR);
  jpeg_set_quality(&compressor.info, options.quality, TRUE);
  if (!options.subsample) {
    compressor.info.comp_info[0].h_samp_factor = 1;
    compressor.info.comp_info[0].v_samp_factor = 1;
  }
  if (options.progressive) jpeg_simple_progression(&compressor.info);
  compressor.info.arith_code = options.arithmetic ? TRUE : FALSE;
  if (!options.scans.empty()) {
    compressor.info.scan_info = options.scans.data();
    compressor.info.num_scans = static_cast<int>(options.scans.size());
  }
  compressor.info.restart_in_rows = options.restart_rows;
  return compressor.write(picture, options.app1);
}

ByteVector encode_jpeg_inks(const cv::Mat& inks, J_COLOR_SPACE colours, bool adobe_marker,
                            bool progressive) {
  Compressor compressor(inks.cols, inks.rows, 4, JCS_CMYK);
  jpeg_set_colorspace(&compressor.info, colours);
  jpeg_set_quality(&compressor.info, 97, TRUE);
  for (int i = 0; i < 4; ++i) {
    compressor.info.comp_info[i].h_samp_factor = 1;
    compressor.info.comp_info[i].v_samp_factor = 1;
  }
  if (progressive) jpeg_simple_progression(&compressor.info);
  compressor.info.write_Adobe_marker = adobe_marker ? TRUE : FALSE;
  return compressor.write(inks, {});
}

}  // namespace facematch::testing
