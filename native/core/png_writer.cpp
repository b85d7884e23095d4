#include "png_writer.h"

#include <png.h>

#include "error.h"

namespace facematch {

std::vector<uint8_t> write_png(const cv::Mat& bgr) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(bgr.cols);
  image.height = static_cast<png_uint_32>(bgr.rows);
  image.format = PNG_FORMAT_BGR;
  image.flags = PNG_IMAGE_FLAG_FAST;
  // The bound and not the size itself, which libpng would find by packing everything twice.
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> png(size);
  const auto stride = static_cast<png_int_32>(bgr.step[0]);
  if (png_image_write_to_memory(&image, png.data(), &size, 0, bgr.data, stride, nullptr) == 0) {
    throw Error(ErrorCode::kInternalError,
                std::string("the PNG was not written: ") + image.message);
  }
  png.resize(size);
  return png;
}

}  // namespace facematch
