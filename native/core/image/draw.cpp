#include "draw.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <opencv2/imgproc.hpp>

#include "../error.h"

namespace facematch {
namespace {

// Diagonal, in pixels, of a picture with lines one pixel wide. Widths grow with the diagonal.
constexpr double kDiagonalOfOneLine = 800;
// Scale of OpenCV's font, whose capitals are 21 pixels high at 1.
constexpr double kLetterScaleOfOneLine = 0.4;

const cv::Scalar kShade(0, 0, 0);
const cv::Scalar kLetters(255, 255, 255);

// A colour (BGR) for each FoundBy, in its order: easy to tell from each other and from skin.
const std::array<cv::Scalar, kFoundBy.size()> kColours = {
    cv::Scalar(90, 220, 60), cv::Scalar(255, 170, 40), cv::Scalar(255, 90, 220),
    cv::Scalar(0, 200, 255), cv::Scalar(60, 80, 255),
};

// The picture to draw on, with the line width in its pixels.
struct Pen {
  cv::Mat& bgr;
  int width;

  // Clamps a coordinate, which may be NaN or far outside, to just beyond the picture. Converting
  // such a float to int would be undefined.
  static int pixel(float value, int size) {
    const float low = -static_cast<float>(size);
    const float high = 2 * static_cast<float>(size);
    if (!(value > low)) return -size;
    return value < high ? static_cast<int>(std::lround(value)) : 2 * size;
  }
  cv::Point at(Point point) const { return {pixel(point.x, bgr.cols), pixel(point.y, bgr.rows)}; }
};

// A dark rim makes the line visible on a background of its own colour.
void draw_box(const Pen& pen, const Box& box, const cv::Scalar& colour) {
  const cv::Point corner = pen.at({box.x, box.y});
  const cv::Point opposite = pen.at({box.x + box.width, box.y + box.height});
  cv::rectangle(pen.bgr, corner, opposite, kShade, 2 * pen.width, cv::LINE_8);
  cv::rectangle(pen.bgr, corner, opposite, colour, pen.width, cv::LINE_8);
}

void draw_landmarks(const Pen& pen, const Landmarks& landmarks, const cv::Scalar& colour) {
  for (const Point& point : landmarks.points()) {
    cv::circle(pen.bgr, pen.at(point), 2 * pen.width, kShade, cv::FILLED, cv::LINE_AA);
    cv::circle(pen.bgr, pen.at(point), pen.width, colour, cv::FILLED, cv::LINE_AA);
  }
}

// Above the box if there is room, otherwise below it or inside; never beyond the sides.
void draw_label(const Pen& pen, const Face& face, size_t index) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%zu %.3f %s", index,
                static_cast<double>(face.detection_score),
                kFoundBy[static_cast<size_t>(face.found_by)]);
  const int font = cv::FONT_HERSHEY_SIMPLEX;
  const double letters = kLetterScaleOfOneLine * pen.width;
  int below_baseline = 0;
  cv::Size size = cv::getTextSize(text.data(), font, letters, pen.width, &below_baseline);
  const int margin = 2 * pen.width;
  below_baseline += pen.width;
  size += cv::Size(2 * margin, below_baseline + margin);
  const cv::Point corner = pen.at({face.box.x, face.box.y});
  const int bottom = pen.at({face.box.x, face.box.y + face.box.height}).y;
  int top = corner.y - pen.width - size.height;
  if (top < 0) top = bottom + pen.width;
  if (top + size.height > pen.bgr.rows) top = std::max(corner.y, 0);
  const int left = std::max(0, std::min(corner.x, pen.bgr.cols - size.width));
  cv::rectangle(pen.bgr, cv::Rect(cv::Point(left, top), size), kShade, cv::FILLED);
  cv::putText(pen.bgr, text.data(), {left + margin, top + size.height - below_baseline}, font,
              letters, kLetters, pen.width, cv::LINE_AA);
}

}  // namespace

void draw_faces(const std::vector<Face>& faces, cv::Mat& bgr) {
  const double diagonal = std::hypot(bgr.cols, bgr.rows);
  const int width = std::max(1, static_cast<int>(std::lround(diagonal / kDiagonalOfOneLine)));
  const Pen pen{bgr, width};
  for (const Face& face : faces) {
    const cv::Scalar& colour = kColours[static_cast<size_t>(face.found_by)];
    draw_box(pen, face.box, colour);
    draw_landmarks(pen, face.landmarks, colour);
  }
  // Last, so that no other box covers a label.
  for (size_t i = 0; i < faces.size(); ++i) draw_label(pen, faces[i], i);
}

std::vector<uint8_t> write_png(const cv::Mat& bgr) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(bgr.cols);
  image.height = static_cast<png_uint_32>(bgr.rows);
  image.format = PNG_FORMAT_BGR;
  image.flags = PNG_IMAGE_FLAG_FAST;
  // The upper bound: for the exact size libpng would have to compress everything twice.
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
