#include "results.h"

namespace facematch::testing {

std::vector<float> numbers(const Analysis& analysis) {
  std::vector<float> all;
  for (const int number :
       {analysis.width, analysis.height, analysis.orientation, static_cast<int>(analysis.format),
        static_cast<int>(analysis.faces.size())})
    all.push_back(static_cast<float>(number));
  for (const Face& face : analysis.faces) {
    all.push_back(static_cast<float>(face.found_by));
    all.insert(all.end(),
               {face.box.x, face.box.y, face.box.width, face.box.height, face.detection_score,
                face.pose.yaw, face.pose.pitch, face.pose.roll, face.quality.sharpness,
                face.quality.brightness, face.quality.face_pixels, face.cohort_score});
    for (const Point p : face.landmarks.points()) all.insert(all.end(), {p.x, p.y});
    all.insert(all.end(), face.embedding.begin(), face.embedding.end());
  }
  return all;
}

}  // namespace facematch::testing
