// CPU time and page faults of the whole pipeline for large images, in mode fast: of 12 megapixels
// with faces of several sizes, and of 50 in the encodings that cost most.
//   facematch_large [--only WORD] [--rounds N] [--pack DIR] [--json]
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include "../core/pipeline.h"
#include "../test/drawing.h"
#include "program.h"

namespace facematch::bench {
namespace {

using Json = nlohmann::ordered_json;
using testing::ByteVector;

struct Placed {
  int side;  // of the face's box, pixels
  cv::Point centre;
  int sample = 1;
};

// Grain as of a sensor on a slope of colours, with people of the samples in it.
cv::Mat scene(cv::Size size, const std::vector<Placed>& people) {
  cv::Mat image = testing::gradient(size.width, size.height);
  cv::Mat grain(size, CV_8UC3);
  cv::RNG random(42);
  random.fill(grain, cv::RNG::NORMAL, 16, 4);
  image += grain;
  for (const auto& [side, centre, sample] : people) {
    // Up to three times the box, and with the image's grain.
    const int frame = side * 3;
    const cv::Rect place(centre - cv::Point(frame / 2, frame / 2), cv::Size(frame, frame));
    const cv::Rect seen = place & cv::Rect({}, size);
    cv::Mat portrait = testing::portrait(sample, frame, 3)(seen - place.tl()).clone();
    portrait += grain(seen);
    portrait.copyTo(image(seen));
  }
  return image;
}

ByteVector jpeg(const cv::Mat& bgr, bool progressive = false) {
  return testing::encode_jpeg(bgr, {.quality = 90, .progressive = progressive, .luma = {2, 2}});
}

ByteVector webp(const cv::Mat& image) { return testing::encode_webp(image, {.lossless = false}); }

// Not everywhere opaque, so that it is encoded.
cv::Mat with_alpha(const cv::Mat& bgr) {
  cv::Mat bgra;
  cv::cvtColor(bgr, bgra, cv::COLOR_BGR2BGRA);
  bgra(cv::Rect(0, 0, bgra.cols, 100)).setTo(cv::Scalar(0, 0, 0, 0));
  return bgra;
}

struct Case {
  const char* what;
  std::function<ByteVector()> file;
};

std::vector<Case> cases() {
  const cv::Size twelve(4000, 3000), fifty(8160, 6144);
  const Placed close = {1800, {1500, 1500}}, middle = {720, {2000, 1400}};
  const Placed passer_by = {182, {3600, 600}, 4};
  const auto one = [=] { return scene(twelve, {close}); };
  const auto large = [=] { return scene(fifty, {{2400, {3500, 3000}}}); };
  const ByteVector turned = testing::ExifBlock{.orientation = 6}.bytes();
  return {
      {"12 MP JPEG, a face of 45 %", [=] { return jpeg(one()); }},
      {"12 MP JPEG, a face of 18 %", [=] { return jpeg(scene(twelve, {middle})); }},
      {"12 MP JPEG, a face of 8 %", [=] { return jpeg(scene(twelve, {{320, {2000, 1400}}})); }},
      {"12 MP JPEG, a close face and a passer-by of 182 px",
       [=] { return jpeg(scene(twelve, {close, passer_by})); }},
      {"12 MP JPEG, 12 people of 240 px, all over",
       [=] {
         std::vector<Placed> crowd;
         for (int i = 0; i < 12; ++i) {
           crowd.push_back({240, {500 + i % 4 * 1000, 500 + i / 4 * 1000}, i % 6 + 1});
         }
         return jpeg(scene(twelve, crowd));
       }},
      {"12 MP JPEG, progressive, a face of 18 %",
       [=] { return jpeg(scene(twelve, {middle}), true); }},
      {"12 MP PNG", [=] { return testing::encode_png(one()); }},
      {"12 MP PNG, turned by EXIF", [=] { return testing::encode_png(one(), {.exif = turned}); }},
      {"12 MP WebP", [=] { return webp(one()); }},
      {"50 MP JPEG, progressive", [=] { return jpeg(large(), true); }},
      {"50 MP PNG, interlaced with alpha",
       [=] { return testing::encode_png(with_alpha(large()), {.interlaced = true}); }},
      {"50 MP WebP, with alpha", [=] { return webp(with_alpha(large())); }},
  };
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

Json measure(const Options& arguments) {
  const Engine& engine =
      load_engine(testing::read_pack(arguments.text("--pack", testing::default_pack())));
  const auto rounds = static_cast<int>(arguments.positive("--rounds", 7));
  AnalyseOptions options;
  options.accuracy_mode = AccuracyMode::kFast;
  options.min_det_score = kMinScore;
  Json rows = Json::array();
  for (const auto& [what, file] : cases()) {
    if (std::string(what).find(arguments.text("--only", "")) == std::string::npos) continue;
    const ByteVector bytes = file();
    Times times;
    Analysis analysis;
    for (int round = -1; round < rounds; ++round) {
      if (round == 0) times.clear();
      const long before = page_faults();
      times.measure("all", [&] { analysis = analyse(engine, bytes, options); });
      times.add("page faults", static_cast<double>(page_faults() - before));
    }
    rows.push_back({{"what", what},
                    {"bytes", bytes.size()},
                    {"faces", analysis.faces.size()},
                    {"ms", times.median("all")},
                    {"page_faults", static_cast<long>(times.median("page faults"))}});
  }
  return rows;
}

void print(const Json& rows) {
  std::printf("%-52s %6s %6s %9s %11s\n", "large images, mode fast, CPU time", "MB", "faces", "ms",
              "page faults");
  for (const Json& row : rows) {
    std::printf("%-52s %6.1f %6d %9.1f %11ld\n", row["what"].get<std::string>().c_str(),
                row["bytes"].get<double>() / 1e6, row["faces"].get<int>(), row["ms"].get<double>(),
                row["page_faults"].get<long>());
  }
}

}  // namespace
}  // namespace facematch::bench

int main(int count, char** words) {
  using namespace facematch::bench;
  return run(count, words, {"--only", "--rounds", "--pack"}, measure, print);
}
