#include "../core/runtime/session.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "support.h"
#include "tiny_net.h"

namespace facematch::testing {
namespace {

const std::vector<int64_t> kShape = {1, 3, 112, 112};
constexpr size_t kInputs = size_t{3} * 112 * 112;

std::string net_path() { return default_pack() + "/embed.onnx"; }

Net embedder() { return Net(net_path(), "input", kShape, {"output"}); }

// Flags of the first processor in /proc/cpuinfo; empty where there are none, as on arm64.
std::string processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return line + " ";
  }
  return {};
}

}  // namespace

TEST_SUITE_BEGIN("session");

TEST_CASE("a loaded net knows the sizes of its input and outputs") {
  const Net net = embedder();
  CHECK(net.input_size() == kInputs);
  CHECK(net.output_size(0) == 512);
}

TEST_CASE("the same input gives the same output, bit for bit") {
  const Net net = embedder();
  std::vector<float> input(kInputs);
  Random random(3);
  for (float& v : input) v = random.between(-1, 1);
  std::vector<float> first(512), second(512);
  net.run(input, {first});
  net.run(input, {second});
  CHECK(first == second);
  CHECK(std::any_of(first.begin(), first.end(), [](float v) { return v != 0; }));
}

TEST_CASE("a net that cannot be used is rejected with a message that names it") {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, const ByteVector& bytes) {
    const auto path = folder.path() / name;
    write_file(path, bytes);
    return path.string();
  };
  const ByteVector whole = read_file(net_path());
  const auto cut = [&](size_t size) {
    return ByteVector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
  };
  struct Case {
    const char* what;
    std::string path;
    std::string input;
    std::vector<int64_t> shape;
    std::vector<std::string> outputs;
  };
  const Case cases[] = {
      {"missing", (folder.path() / "missing.onnx").string(), "input", kShape, {"output"}},
      {"a folder", folder.path().string(), "input", kShape, {"output"}},
      {"empty", file("empty.onnx", {}), "input", kShape, {"output"}},
      {"text", file("text.onnx", ByteVector(1000, 'x')), "input", kShape, {"output"}},
      {"cut short by a byte",
       file("byte.onnx", cut(whole.size() - 1)),
       "input",
       kShape,
       {"output"}},
      {"cut in half", file("half.onnx", cut(whole.size() / 2)), "input", kShape, {"output"}},
      {"cut to its first bytes", file("head.onnx", cut(20)), "input", kShape, {"output"}},
      {"another height", net_path(), "input", {1, 3, 64, 112}, {"output"}},
      {"another number of channels", net_path(), "input", {1, 1, 112, 112}, {"output"}},
      {"another rank", net_path(), "input", {3, 112, 112}, {"output"}},
      {"an unknown input", net_path(), "image", kShape, {"output"}},
      {"an unknown output", net_path(), "input", kShape, {"answer"}},
      {"no outputs", net_path(), "input", kShape, {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const auto error = refusal([&] { const Net net(c.path, c.input, c.shape, c.outputs); });
    REQUIRE(error);
    CHECK(error->code == ErrorCode::kInternalError);
    CHECK(error->message.find(c.path) != std::string::npos);
  }
}

TEST_CASE("the error for an unknown name lists the names of the net") {
  const auto wrong_input = refusal([] { const Net net(net_path(), "data", kShape, {"output"}); });
  REQUIRE(wrong_input);
  CHECK(wrong_input->message.find("no input \"data\"; there are \"input\"") != std::string::npos);
  const auto wrong_output = refusal([] { const Net net(net_path(), "input", kShape, {"fc1"}); });
  REQUIRE(wrong_output);
  CHECK(wrong_output->message.find("no output \"fc1\"; there are \"output\"") != std::string::npos);
}

TEST_CASE("open sides are fixed to the shape that the net is loaded with") {
  const auto shared = shared_folder();
  if (!shared) {
    MESSAGE("skipped, for there is no ../shared and FACEMATCH_SHARED is not set");
    return;
  }
  const std::string path = (*shared / "models/yunet/yunet_n_dynamic.onnx").string();
  const auto cells = [&](int64_t height, int64_t width) {
    const Net net(path, "input", {1, 3, height, width}, {"cls_32", "bbox_32"});
    std::vector<float> input(net.input_size(), 90.0f), cls(net.output_size(0)),
        bbox(net.output_size(1)), other(net.input_size() + 3 * 32 * 32);
    net.run(input, {cls, bbox});
    CHECK(std::all_of(cls.begin(), cls.end(), [](float v) { return v >= 0 && v <= 1; }));
    CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(other, {cls, bbox}); }));
    CHECK(bbox.size() == 4 * cls.size());
    return cls.size();
  };
  CHECK(cells(320, 320) == 100);
  CHECK(cells(64, 160) == 10);
  // Two at once, each with its own shape.
  const Net small(path, "input", {1, 3, 32, 32}, {"cls_8"});
  const Net large(path, "input", {1, 3, 96, 64}, {"cls_8"});
  CHECK(small.output_size(0) == 16);
  CHECK(large.output_size(0) == 96);
  // At this size the layers of the net do not fit together.
  CHECK(refuses_with(ErrorCode::kInternalError,
                     [&] { const Net net(path, "input", {1, 3, 72, 72}, {"cls_8"}); }));
}

TEST_CASE("sides that stay open may differ from run to run, also for two threads at once") {
  const Net net(default_pack() + "/detect.onnx", "input", {1, 3, 240, 320}, {"scores", "offsets"},
                Sides::kDynamic);
  REQUIRE(net.dynamic());
  CHECK(net.output_size(0) == 8840);
  const auto scores = [&](int64_t height, int64_t width) {
    std::vector<float> input(static_cast<size_t>(3 * height * width), 0.25f);
    const auto values = net.run(input, height, width);
    REQUIRE(values.size() == 2);
    const auto count = values[0].GetTensorTypeAndShapeInfo().GetElementCount();
    const float* first = values[0].GetTensorData<float>();
    return std::vector<float>(first, first + count);
  };
  const auto whole = scores(240, 320), square = scores(240, 240), low = scores(64, 320);
  CHECK(whole.size() == 8840);
  CHECK(square.size() == 6652);
  CHECK(low.size() < square.size());
  std::thread other([&] {
    for (int i = 0; i < 8; ++i) CHECK(scores(240, 240) == square);
  });
  for (int i = 0; i < 8; ++i) CHECK(scores(240, 320) == whole);
  other.join();

  std::vector<float> input(size_t{3} * 240 * 320);
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(input, 240, 240); }));
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(input, 0, 320); }));
}

TEST_CASE("a net without open sides runs only at its own size") {
  const Net net(net_path(), "input", kShape, {"output"}, Sides::kDynamic);
  CHECK_FALSE(net.dynamic());
  std::vector<float> input(kInputs), smaller(size_t{3} * 56 * 112);
  CHECK(net.run(input, 112, 112).size() == 1);
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(smaller, 56, 112); }));
}

TEST_CASE("open dimensions may share a name, whatever they are to be") {
  const TemporaryFolder folder;
  const auto path = (folder.path() / "open.onnx").string();
  TinyNet tiny = {.shape = {-1, 3, -1, -1}, .outputs = {{.name = "output", .numbers = {1}}}};
  tiny.one_name = true;
  write_file(path, tiny.file());
  for (const Sides sides : {Sides::kFixed, Sides::kDynamic}) {
    const Net net(path, "input", {1, 3, 6, 8}, {"output"}, sides);
    CHECK(net.dynamic() == (sides == Sides::kDynamic));
    std::vector<float> input(net.input_size()), output(1);
    net.run(input, {output});
    CHECK(output[0] == 1);
  }
}

TEST_CASE("buffers of the wrong size or number are rejected before the net runs") {
  const Net net = embedder();
  std::vector<float> input(kInputs), output(512), small(511), none;
  CHECK_FALSE(refusal([&] { net.run(input, {output}); }));
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(small, {output}); }));
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(none, {output}); }));
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(input, {small}); }));
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(input, {}); }));
  CHECK(refuses_with(ErrorCode::kInternalError, [&] { net.run(input, {output, output}); }));
}

TEST_CASE(
    "products of bytes are exact where Linux reports VNNI, and on other processors than x86") {
  const std::string flags = processor_flags();
  const auto has = [&](const char* flag) { return flags.find(flag) != std::string::npos; };
  CHECK(has_exact_byte_products() == (flags.empty() || has(" avx512_vnni ") || has(" avx_vnni ")));
}

TEST_SUITE_END();

}  // namespace facematch::testing
