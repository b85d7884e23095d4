#include "../core/runtime/session.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "support.h"
#include "tiny_net.h"

namespace facematch::testing {

TEST_SUITE_BEGIN("session");

TEST_CASE("reports a net's sizes, returns the same output bit for bit, and rejects wrong buffers") {
  const Net net(default_pack() + "/embed.onnx", "input", {1, 3, 112, 112}, {"output"});
  CHECK(net.input_size() == size_t{3} * 112 * 112);
  CHECK(net.output_size(0) == 512);
  std::vector<float> input(net.input_size()), first(512), second(512), small(511);
  Random random(3);
  for (float& v : input) v = random.between(-1, 1);
  net.run(input, first);
  net.run(input, second);
  CHECK(first == second);
  CHECK(std::any_of(first.begin(), first.end(), [](float v) { return v != 0; }));
  const auto rejects = [&](std::vector<float>& in, std::span<float> out) {
    return fails_with(ErrorCode::kInternalError, [&] { net.run(in, out); });
  };
  CHECK(rejects(small, first));
  CHECK(rejects(input, small));
}

TEST_CASE("fixes dynamic sides to the shape that the net is loaded with") {
  const TemporaryFolder folder;
  const auto path = (folder.path() / "cells.onnx").string();
  const TinyNet tiny = {
      .shape = {-1, 3, -1, -1},
      .outputs = {{.name = "cells", .numbers = {1}, .kind = TinyKind::kCells, .stride = 8}}};
  write_file(path, tiny.file());
  const Net small(path, "input", {1, 3, 32, 16}, {"cells"});
  const Net large(path, "input", {1, 3, 64, 48}, {"cells"});
  CHECK(small.output_size(0) == 8);
  CHECK(large.output_size(0) == 48);
  CHECK_FALSE(large.dynamic());
  std::vector<float> input(large.input_size()), cells(48);
  large.run(input, cells);
  CHECK(fails_with(ErrorCode::kInternalError, [&] { small.run(input, cells); }));
}

TEST_CASE("runs with different dynamic sides from run to run, also on two threads at once") {
  const Net net(default_pack() + "/detect.onnx", "input", {1, 3, 240, 320}, {"scores", "offsets"},
                Sides::kDynamic);
  REQUIRE(net.dynamic());
  CHECK(net.output_size(0) == 8840);
  const auto scores = [&](int64_t height, int64_t width) {
    std::vector<float> input(static_cast<size_t>(3 * height * width), 0.25f);
    const auto values = net.run(input, height, width);
    REQUIRE(values.size() == 2);
    const auto count = values[0].type().count();
    const float* first = values[0].floats();
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
}

TEST_CASE("loads nets whose dynamic dimensions share a name") {
  const TemporaryFolder folder;
  const auto path = (folder.path() / "open.onnx").string();
  TinyNet tiny = {.shape = {-1, 3, -1, -1}, .outputs = {{.name = "output", .numbers = {1}}}};
  tiny.one_name = true;
  write_file(path, tiny.file());
  for (const Sides sides : {Sides::kFixed, Sides::kDynamic}) {
    const Net net(path, "input", {1, 3, 6, 8}, {"output"}, sides);
    CHECK(net.dynamic() == (sides == Sides::kDynamic));
    std::vector<float> input(net.input_size()), output(1);
    net.run(input, output);
    CHECK(output[0] == 1);
  }
}

TEST_CASE("passes channels last to a file that expects this layout") {
  const TemporaryFolder folder;
  const auto path = (folder.path() / "last.onnx").string();
  constexpr int64_t kHigh = 2, kWide = 4;
  // The net returns the index of the only number that is not 0: batch, row, column, channel.
  const TinyNet net = {.shape = {1, -1, -1, 3},
                       .outputs = {{.name = "where", .numbers = {}, .kind = TinyKind::kWhere}}};
  write_file(path, net.file());
  const Net last(path, "input", {1, 3, kHigh, kWide}, {"where"}, Sides::kDynamic);
  CHECK_FALSE(last.dynamic());
  for (const int64_t channel : {0, 1, 2}) {
    std::vector<float> planes(size_t{3} * kHigh * kWide);
    planes[static_cast<size_t>((channel * kHigh + 1) * kWide + 3)] = 1;
    const auto values = last.run(planes, kHigh, kWide);
    const float* at = values[0].floats();
    CHECK(std::vector<float>(at, at + 4) ==
          std::vector<float>{0, 1, 3, static_cast<float>(channel)});
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
