// Measures the maximum throughput of this machine: the pipeline on pairs of images, in a loop on N
// threads, without HTTP and Node. On the same threads it also measures the nets alone and the
// decoding of the JPEGs alone. The three alternate, so that other load on the machine slows them
// equally.
//   facematch_floor [--mode fast|balance] [--pack DIR] [--threads N] [--seconds S] FILE FILE [...]
// Prints JSON. CPU times are per pair.
// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "../core/image/decode.h"
#include "../core/pipeline.h"
#include "../test/support.h"
#include "nets.h"

namespace facematch::bench {
namespace {

// Parses flags with values, and file names.
struct Options {
  std::map<std::string, std::string> values = {{"--mode", "fast"},
                                               {"--pack", testing::default_pack()},
                                               {"--threads", "1"},
                                               {"--seconds", "5"}};
  std::vector<std::string> files;

  explicit Options(std::span<char*> words) {
    for (size_t i = 1; i < words.size(); ++i) {
      if (values.contains(words[i]) && i + 1 < words.size()) {
        values[words[i]] = words[i + 1];
        ++i;
      } else {
        files.emplace_back(words[i]);
      }
    }
  }
};

double thread_milliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Decodes a JPEG with libjpeg-turbo alone, which is the minimum cost of any decoder that uses it.
// It decodes to BGR at `eighths` / 8 of the size into `pixels`, which grows as needed. A damaged
// file ends the program.
void decode_jpeg_at(std::span<const uint8_t> bytes, unsigned eighths,
                    std::vector<uint8_t>& pixels) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes.data(), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_EXT_BGR;
  info.scale_num = eighths;
  info.scale_denom = 8;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{3} * info.output_width;
  pixels.resize(row_bytes * info.output_height);
  while (info.output_scanline < info.output_height) {
    uint8_t* to = pixels.data() + row_bytes * info.output_scanline;
    jpeg_read_scanlines(&info, &to, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Duration of a slice: long enough for a few runs of the largest images, but short compared with
// changes of the machine's load.
constexpr double kSliceSeconds = 0.25;

struct Input {
  testing::ByteVector bytes;
  Runs runs;
  unsigned eighths = 8;
};

using Pair = std::array<Input, 2>;

// Returns libjpeg-turbo's minimum scale with enough pixels for the detector's input and for the
// chip of the largest face.
unsigned min_eighths(const Engine& engine, const Analysis& image) {
  const auto side = [](int pixels) { return static_cast<float>(pixels); };
  const DetectorSpec& net = engine.pack.detector;
  const float letterbox =
      std::min(side(net.width) / side(image.width), side(net.height) / side(image.height));
  const float chip = side(engine.pack.embedder.size) / image.faces.at(0).quality.face_pixels;
  unsigned eighths = 1;
  while (eighths < 8 && static_cast<float>(eighths) / 8 < std::max(letterbox, chip)) eighths *= 2;
  return eighths;
}

Input read_input(const Engine& engine, const AnalyseOptions& options, const std::string& file) {
  Input input{.bytes = testing::read_file(file), .runs = {}};
  const Analysis analysis = analyse(engine, input.bytes, options);
  if (analysis.faces.empty()) throw std::runtime_error(file + " shows no face");
  input.runs = runs_for(engine, analysis, options.accuracy_mode);
  input.eighths = min_eighths(engine, analysis);
  return input;
}

// Measurements of one kind of work on one thread.
struct Done {
  double pairs = 0;
  double seconds = 0;
  double cpu_ms = 0;

  void operator+=(const Done& more) {
    pairs += more.pairs;
    seconds += more.seconds;
    cpu_ms += more.cpu_ms;
  }
};

using Work = std::function<void(const Input&)>;

// Runs `work` on one pair after another for one slice, beginning at `next`.
Done slice(const Work& work, const std::vector<Pair>& pairs, size_t& next) {
  const auto start = Clock::now();
  const double cpu = thread_milliseconds();
  Done done;
  do {
    for (const Input& input : pairs[next++ % pairs.size()]) work(input);
    done.pairs += 1;
    done.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  } while (done.seconds < kSliceSeconds);
  done.cpu_ms = thread_milliseconds() - cpu;
  return done;
}

const std::vector<std::string> kKinds = {"pipeline", "nets", "decode"};

// Milliseconds of the pipeline's stages, by name.
using Stages = std::map<std::string, double>;

std::vector<Work> works(const Engine& engine, const AnalyseOptions& options,
                        const DecodedImage& image, Stages& stages) {
  const auto pixels = std::make_shared<std::vector<uint8_t>>();
  return {[&engine, &options, &stages](const Input& input) {
            const auto [decode, detect, align, embed] =
                analyse(engine, input.bytes, options).timings_ms;
            stages["decode"] += decode;
            stages["detect"] += detect;
            stages["align"] += align;
            stages["embed"] += embed;
          },
          [nets = bare_nets(engine, image)](const Input& input) { nets(input.runs); },
          [pixels](const Input& input) { decode_jpeg_at(input.bytes, input.eighths, *pixels); }};
}

Json measure(const Options& arguments) {
  const Engine& engine = load_engine(testing::read_pack(arguments.values.at("--pack")));
  AnalyseOptions options;
  const std::string& mode = arguments.values.at("--mode");
  options.accuracy_mode = mode == "balance" ? AccuracyMode::kBalance : AccuracyMode::kFast;
  options.min_det_score = kMinScore;
  const auto& files = arguments.files;
  if (files.empty() || files.size() % 2 != 0) {
    throw std::invalid_argument("expected an even number of images");
  }
  std::vector<Pair> pairs;
  for (size_t i = 0; i < files.size(); i += 2) {
    pairs.push_back(
        {read_input(engine, options, files[i]), read_input(engine, options, files[i + 1])});
  }
  const auto image = decode(pairs[0][0].bytes, options.limits, 0);
  const auto count = std::stoul(arguments.values.at("--threads"));
  const double seconds = std::stod(arguments.values.at("--seconds"));
  const auto rounds = static_cast<size_t>(
      std::max(1.0, seconds / (kSliceSeconds * static_cast<double>(kKinds.size()))));

  // Each thread has its own nets, so that inputs and outputs are not shared.
  std::vector<std::vector<Work>> work;
  std::vector<Stages> stages(count);
  for (size_t i = 0; i < count; ++i) work.push_back(works(engine, options, image, stages[i]));
  std::vector<std::vector<Done>> done(count, std::vector<Done>(kKinds.size()));
  std::barrier all(static_cast<std::ptrdiff_t>(count));
  {
    std::vector<std::jthread> threads;
    for (size_t thread = 0; thread < count; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<size_t> next(kKinds.size(), thread);
        for (size_t round = 0; round <= rounds; ++round) {
          if (round == 1) stages[thread].clear();
          for (size_t kind = 0; kind < kKinds.size(); ++kind) {
            all.arrive_and_wait();
            const Done more = slice(work[thread][kind], pairs, next[kind]);
            // The first round is the warm-up.
            if (round > 0) done[thread][kind] += more;
          }
        }
      });
    }
  }

  Json result{{"mode", mode}, {"threads", count}, {"pairs", pairs.size()}, {"slices", rounds}};
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    Done sum;
    double rate = 0;
    for (const auto& thread : done) {
      sum += thread[kind];
      rate += thread[kind].pairs / thread[kind].seconds;
    }
    result[kKinds[kind]] = {{"pairs_per_second", rate},
                            {"cpu_ms", sum.cpu_ms / sum.pairs},
                            {"measured_pairs", sum.pairs}};
  }
  const double all_pairs = result["pipeline"]["measured_pairs"];
  for (const Stages& of_thread : stages) {
    for (const auto& [stage, ms] : of_thread) {
      Json& sum = result["stages_ms"][stage];
      sum = sum.is_null() ? ms / all_pairs : sum.get<double>() + ms / all_pairs;
    }
  }
  return result;
}

}  // namespace
}  // namespace facematch::bench

int main(int count, char** words) {
  using namespace facematch::bench;
  try {
    const Options options({words, static_cast<size_t>(count)});
    std::cout << measure(options).dump(2) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
