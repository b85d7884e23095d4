// The part of a model pack's manifest that describes the nets. src/engine/manifest.ts validates it;
// manifest.h converts it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "../types.h"

namespace facematch {

enum class Channels { kRgb, kBgr, kGrey };

// value = (pixel - mean) * scale
struct Normalisation {
  Channels channels = Channels::kRgb;
  std::array<float, 3> mean = {};  // one per plane, in the order of the planes
  float scale = 1;
};

struct DetectorSpec {
  std::string file;
  std::string family;  // name of a file in find/families/
  std::string input;
  std::vector<std::string> outputs;  // in the order of DetectorFamily::outputs()
  int width = 0;
  int height = 0;
  Normalisation normalisation;
  float nms_iou = 0.4f;
  float second_look_score = 0;  // minimum score of a face in a close-up, see Finder::verify()
  float clear_score = 0;        // a rotated face rarely reaches this score

  // Set only for families whose grids the manifest defines.
  std::vector<int> strides;                // pixels from cell to cell of each grid
  int anchors = 0;                         // per cell
  std::vector<std::vector<float>> priors;  // sides of the priors of a cell of each grid, pixels
  std::array<float, 2> variances = {};     // centre and sides of a prior
};

// A net of the family points68.
struct LandmarksSpec {
  std::string file;
  std::string input, output;
  int size = 0;  // side of the square crop, pixels
  Normalisation normalisation;
  float crop = 1;                  // side of the crop / longer side of the box
  float upright_degrees = 0;       // above this roll, predict again on an upright crop
  float clear_template_error = 0;  // a rotated face rarely has a smaller error
  // Maximum instability (see landmark_check.h) of an upright face, and of any face that the close
  // detector found.
  struct {
    float quick = 0, thorough = 0;  // by number of perturbations
    float closeup = 0, close_detector = 0;
  } max_instability;
};

// A net of the family arcface.
struct EmbedderSpec {
  std::string file;
  std::string input, output;
  int size = 0;  // side of the face chip, pixels
  int dimensions = 0;
  Normalisation normalisation;
  std::array<Point, 5> template_points;  // pixels of the chip, in the order of points()
};

struct CohortSpec {
  std::string file;  // signed bytes, a row per centre
  int centres = 0;
  int highest = 0;   // number of highest cosines that are averaged
  float weight = 1;  // factor for their mean
};

// A linear function of the embedding: scale * (sum of byte * number) + bias.
struct LinearSpec {
  std::string file;  // signed bytes, one per dimension of the embedding
  float scale = 0;
  float bias = 0;
};

struct HumanSpec {
  LinearSpec score;
  float min_score = 0;  // a face with a lower score is not human
};

// A net that distinguishes a live face from a photo or a screen.
struct LivenessSpec {
  std::string family;  // name in the table of embed/liveness.cpp
  std::string file;
  std::string input, output;
  int size = 0;     // side of the input, pixels
  float scale = 0;  // sides of the crop / sides of the box
};

struct Pack {
  std::string directory;
  float min_det_score = 0;  // default minimum score of a face
  DetectorSpec detector;
  std::optional<DetectorSpec> close_detector;  // for faces that fill the image
  LandmarksSpec landmarks;
  EmbedderSpec embedder;
  std::optional<CohortSpec> cohort;
  std::optional<HumanSpec> human;
  std::optional<LinearSpec> occlusion;  // above 0: nose and mouth are covered
  std::vector<LivenessSpec> liveness;   // empty: the pack cannot detect presentation attacks
};

}  // namespace facematch
