#include "liveness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <span>

#include "../error.h"
#include "../runtime/net_input.h"

namespace facematch {
namespace {

// The input format of a family's nets, and the index of the output for a live face.
struct Family {
  const char* name;
  Normalisation normalisation;
  size_t min_classes, max_classes;
  size_t live;
  bool square;  // whether the crop uses the box's longer side
};

constexpr size_t kMaxClasses = 3;
const std::array kFamilies = {
    // Silent-Face-Anti-Spoofing.
    Family{"minifasnet", {.channels = Channels::kBgr, .mean = {}, .scale = 1}, 3, 3, 1, false},
    // Nets of the same structure trained on CelebA-Spoof (Face-AntiSpoofing of hairymax): live and
    // attack, or live, print and replay.
    Family{"celeba_spoof", {Channels::kRgb, {}, 1.0f / 255}, 2, kMaxClasses, 0, true},
};

std::string classes_of(const Family& family) {
  const std::string min = std::to_string(family.min_classes);
  return family.min_classes == family.max_classes
             ? min
             : min + " to " + std::to_string(family.max_classes);
}

const Family& family_of(const std::string& name) {
  for (const Family& family : kFamilies)
    if (name == family.name) return family;
  throw Error(ErrorCode::kInternalError, "unknown liveness family \"" + name + "\"");
}

// Returns the start of a crop along one axis. The crop is centred on `middle`, but shifted into
// 0..`last`.
float crop_start(float middle, float length, float last) {
  return std::clamp(middle - length / 2, 0.0f, last - length);
}

// Returns the pixels of the view that show a rectangle of the image.
cv::Mat pixels_of(const View& view, const cv::Rect& rectangle) {
  const Similarity to_view = view.to_image.inverse();
  const Point first = to_view.apply(cv::Point2f(rectangle.tl()));
  const Point last = to_view.apply(cv::Point2f(rectangle.br() - cv::Point(1, 1)));
  const auto at = [](float value, int count) { return std::clamp(cvRound(value), 0, count - 1); };
  const cv::Point from(at(first.x, view.bgr.cols), at(first.y, view.bgr.rows));
  const cv::Point to(at(last.x, view.bgr.cols), at(last.y, view.bgr.rows));
  return view.bgr(cv::Rect(from, to + cv::Point(1, 1)));
}

float softmax_of_live(std::span<const float> logits, size_t at) {
  if (!std::all_of(logits.begin(), logits.end(), [](float one) { return std::isfinite(one); })) {
    throw Error(ErrorCode::kInternalError, "a liveness net returned NaN or infinity");
  }
  const double live = logits[at];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - live);
  return static_cast<float>(1 / sum);
}

}  // namespace

cv::Rect liveness_crop(const Box& box, cv::Size image, float scale) {
  const auto right = static_cast<float>(image.width - 1);
  const auto bottom = static_cast<float>(image.height - 1);
  const float width = std::max(box.width, 1.0f), height = std::max(box.height, 1.0f);
  const float times = std::min({bottom / height, right / width, scale});
  // Rounding must not make the crop larger than the image.
  const float wide = std::min(width * times, right), high = std::min(height * times, bottom);
  const float left = crop_start(box.centre().x, wide, right);
  const float top = crop_start(box.centre().y, high, bottom);
  const cv::Point from(static_cast<int>(left), static_cast<int>(top));
  const cv::Point to(static_cast<int>(left + wide), static_cast<int>(top + high));
  return {from, to + cv::Point(1, 1)};
}

Liveness::Liveness(const Pack& pack) {
  for (const LivenessSpec& spec : pack.liveness) {
    Net net(pack.directory + "/" + spec.file, spec.input, {1, 3, spec.size, spec.size},
            {spec.output});
    const Family& family = family_of(spec.family);
    const size_t classes = net.output_size(0);
    if (classes < family.min_classes || classes > family.max_classes) {
      throw Error(ErrorCode::kInternalError, "the liveness net " + spec.file + " returns " +
                                                 std::to_string(classes) + " numbers; the family " +
                                                 family.name + " has " + classes_of(family));
    }
    nets_.push_back({spec, std::move(net)});
  }
}

std::optional<float> Liveness::score(Image& image, const Box& box) const {
  if (nets_.empty()) return std::nullopt;
  const cv::Size whole(image.width(), image.height());
  cv::Rect largest;
  const auto crop_of = [&](const LivenessSpec& spec) {
    const bool square = family_of(spec.family).square;
    return liveness_crop(square ? box.square() : box, whole, spec.scale);
  };
  for (const Member& member : nets_) largest |= crop_of(member.spec);
  const cv::Rect2f area(largest);
  const View view = image.decode_part({{area.x, area.y, area.width, area.height}, 1});
  thread_local std::vector<float> input;
  thread_local cv::Mat patch;
  float sum = 0;
  for (const auto& [spec, net] : nets_) {
    image.budget().check_cancelled();
    cv::resize(pixels_of(view, crop_of(spec)), patch, {spec.size, spec.size}, 0, 0,
               cv::INTER_LINEAR);
    input.resize(net.input_size());
    const Family& family = family_of(spec.family);
    fill_planes(patch, family.normalisation, input);
    std::array<float, kMaxClasses> numbers;
    const auto logits = std::span(numbers).first(net.output_size(0));
    net.run(input, logits);
    sum += softmax_of_live(logits, family.live);
  }
  return sum / static_cast<float>(nets_.size());
}

}  // namespace facematch
