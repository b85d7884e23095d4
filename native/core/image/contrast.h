// Corrects brightness and contrast of images that are dark, pale or flat.
#pragma once

#include <opencv2/core.hpp>

namespace facematch {

// Stretches the grey levels of CV_8UC3 `bgr` over the whole range and clips the darkest and
// lightest half per cent; a gamma curve brightens an image that is still dark. All channels get the
// same curve, so grey pixels stay grey. An image whose grey levels span more than `max_range` is
// returned unchanged.
cv::Mat stretch_contrast(const cv::Mat& bgr, int max_range = 255);

// Equalises contrast locally (CLAHE on luma), for a dark face in a bright image.
cv::Mat equalised(const cv::Mat& bgr);

}  // namespace facematch
