#include "results.h"

namespace facematch::testing {

std::vector<float> numbers(const MatchResult& result) {
  std::vector<float> all;
  for (const ImageReport* image : {&result.image1, &result.image2}) {
    for (const int number :
         {image->width, image->height, image->orientation, static_cast<int>(image->format),
          static_cast<int>(image->faces.size())})
      all.push_back(static_cast<float>(number));
    for (const Face& face : image->faces) {
      all.push_back(static_cast<float>(face.found_by));
      all.insert(all.end(),
                 {face.box.x, face.box.y, face.box.width, face.box.height, face.detection_score,
                  face.pose.yaw, face.pose.pitch, face.pose.roll, face.quality.sharpness,
                  face.quality.brightness, face.quality.face_pixels});
      for (const Point p : face.landmarks.points()) all.insert(all.end(), {p.x, p.y});
    }
  }
  for (const Pair& pair : result.pairs) {
    all.insert(all.end(), {static_cast<float>(pair.image1_face_index),
                           static_cast<float>(pair.image2_face_index), pair.similarity,
                           pair.normalised_similarity});
  }
  return all;
}

}  // namespace facematch::testing
