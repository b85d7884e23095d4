// Brightness and contrast put right, for pictures that are dark, pale or flat.
#pragma once

#include <opencv2/core.hpp>

namespace facematch {

// The grey levels of CV_8UC3 `bgr` stretched over the whole range, the darkest and lightest half
// per cent cut off; what is dark even then is lightened by a gamma curve. All channels alike, so
// that hues stay.
cv::Mat stretch_contrast(const cv::Mat& bgr);

// The same place by place (CLAHE on luma), for a face that is dark in a bright picture.
cv::Mat equalised(const cv::Mat& bgr);

}  // namespace facematch
