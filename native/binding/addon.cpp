// The addon's exports. Each call converts JS values to plain structs, computes, and converts the
// result back. src/engine/addon.ts declares every signature.
// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
// clang-format on
#include <png.h>
#include <webp/decode.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <opencv2/core/version.hpp>
#include <span>
#include <string>

#include "../core/engine.h"
#include "../core/pipeline.h"
#include "../core/runtime/onnx_runtime.h"
#include "../core/system/base64.h"
#include "../core/system/pages.h"
#include "../core/system/process.h"
#include "values.h"

namespace facematch::binding {
namespace {

// Returns an Error of the core as data, because structured clone between threads would drop the
// error's class and code. Any other C++ exception becomes an internal error; JS errors pass
// through.
template <typename Act>
Napi::Value guarded(Napi::Env env, Act act) {
  try {
    return act();
  } catch (const Napi::Error&) {
    throw;
  } catch (const Error& error) {
    return from_error(env, error);
  } catch (const std::exception& error) {
    return from_error(env, Error(ErrorCode::kInternalError, error.what()));
  }
}

std::string to_directory(const Napi::CallbackInfo& info) {
  if (!info[0].IsString())
    throw Napi::TypeError::New(info.Env(), "Expected the pack's directory as the first argument");
  return info[0].As<Napi::String>();
}

// Returns the memory of a Uint8Array.
std::span<uint8_t> to_memory(const Napi::Value& value,
                             const char* expected = "Expected a Uint8Array") {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    throw Napi::TypeError::New(value.Env(), expected);
  auto array = value.As<Napi::Uint8Array>();
  return {array.Data(), array.ByteLength()};
}

void LoadPack(const Napi::CallbackInfo& info) {
  const std::string directory = to_directory(info);
  throwing(info.Env(), [&] { load_engine(to_pack(directory, info[1])); });
}

Napi::Value DetectorOutputs(const Napi::CallbackInfo& info) {
  return throwing(info.Env(), [&] { return detector_outputs(info[0]); });
}

// Returns the byte of shared memory with which another thread cancels the call; null if none.
const std::atomic<uint8_t>* to_flag(const Napi::Value& value) {
  if (value.IsUndefined()) return nullptr;
  static_assert(sizeof(std::atomic<uint8_t>) == 1);
  const auto memory =
      to_memory(value, "Expected the cancellation flag as a Uint8Array of one byte");
  if (memory.empty()) return nullptr;  // cannot be set
  return reinterpret_cast<const std::atomic<uint8_t>*>(memory.data());
}

Napi::Value AnalyseOne(const Napi::CallbackInfo& info) {
  const std::string directory = to_directory(info);
  return guarded(info.Env(), [&] {
    AnalyseOptions options = to_analyse_options(info[2].As<Napi::Object>());
    options.cancelled = to_flag(info[3]);
    const Bytes image = to_memory(info[1], "Expected a Uint8Array as the second argument");
    const Engine& engine = engine_of(directory);
    if (!info[4].IsObject()) return from_analysis(info.Env(), analyse(engine, image, options));
    const EarlierAnalysis earlier = to_earlier_analysis(info[4].As<Napi::Object>());
    return from_analysis(info.Env(), analyse_further(engine, image, options, earlier));
  });
}

// Returns one score per embedding. The embeddings are concatenated in one array.
Napi::Value CohortScores(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string directory = to_directory(info);
  const bool floats = info[1].IsTypedArray() &&
                      info[1].As<Napi::TypedArray>().TypedArrayType() == napi_float32_array;
  if (!floats) throw Napi::TypeError::New(env, "Expected a Float32Array as the second argument");
  const Budget budget(std::numeric_limits<double>::infinity(), to_flag(info[2]));
  return throwing(env, [&]() -> Napi::Value {
    const Engine& engine = engine_of(directory);
    const auto array = info[1].As<Napi::Float32Array>();
    const std::span<const float> numbers(array.Data(), array.ElementLength());
    const auto length = static_cast<size_t>(engine.pack.embedder.dimensions);
    if (numbers.size() % length != 0)
      throw Napi::TypeError::New(env, "Expected complete embeddings in the second argument");
    auto scores = Napi::Float32Array::New(env, numbers.size() / length);
    for (size_t i = 0; i < scores.ElementLength() && !budget.cancelled(); ++i)
      scores[i] = engine.cohort.score(numbers.subspan(i * length, length));
    return scores;
  });
}

Napi::Value ThreadCpu(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), thread_cpu_ms());
}

// Returns a number from 0 to `max`. Throws a TypeError for any other value.
template <typename Number>
Number to_number(const Napi::Value& value, Number max) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= static_cast<double>(max)))
    throw Napi::TypeError::New(value.Env(), "Expected a number up to " + std::to_string(max));
  return static_cast<Number>(number);
}

// See pages.h.
void UseHugePages(const Napi::CallbackInfo& info) {
  const auto memory = to_memory(info[0]);
  use_huge_pages(memory.data(), memory.size());
}

// JavaScript's own `set` and `fill` write shared memory one atomic byte or word at a time, which
// takes about ten times as long. No other thread uses these bytes during the call.
void CopyBytes(const Napi::CallbackInfo& info) {
  const auto to = to_memory(info[0]), from = to_memory(info[2]);
  if (from.size() > to.size())
    throw Napi::TypeError::New(info.Env(), "The bytes do not fit into the target");
  const size_t at = to_number(info[1], to.size() - from.size());
  std::copy(from.begin(), from.end(), to.data() + at);
}

void Wipe(const Napi::CallbackInfo& info) {
  const auto memory = to_memory(info[0]);
  std::fill_n(memory.data(), to_number(info[1], memory.size()), uint8_t{0});
}

// See base64.h. Returns the number of text bytes read and of bytes written.
Napi::Value DecodeBase64(const Napi::CallbackInfo& info) {
  const auto [read, written] = decode_base64_groups(to_memory(info[0]));
  auto done = Napi::Object::New(info.Env());
  done["read"] = static_cast<double>(read);
  done["written"] = static_cast<double>(written);
  return done;
}

// Zeroes the written part of a buffer and returns its pages to the system. Shared memory itself is
// freed only after the garbage collector of every thread that saw it has run.
void Discard(const Napi::CallbackInfo& info) {
  const auto memory = to_memory(info[0]);
  discard(memory.data(), memory.size(), to_number(info[1], memory.size()));
}

// Node has no API for the next three functions.
Napi::Value DropNewConnections(const Napi::CallbackInfo& info) {
  const uint16_t port = to_number(info[0], std::numeric_limits<uint16_t>::max());
  return Napi::Boolean::New(info.Env(), drop_new_connections(port));
}

Napi::Value EndWithParent(const Napi::CallbackInfo& info) {
  const int parent = to_number(info[0], std::numeric_limits<int>::max());
  return Napi::Boolean::New(info.Env(), end_with_parent(parent));
}

void EndNow(const Napi::CallbackInfo& info) { end_now(to_number(info[0], 255)); }

template <typename Convert>
auto to_list(const Napi::Value& value, Convert convert) {
  std::vector<decltype(convert(value))> list;
  if (!value.IsArray()) return list;
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) list.push_back(convert(array[i]));
  return list;
}

template <typename List>
Napi::Array from_list(Napi::Env env, const List& list) {
  auto array = Napi::Array::New(env, list.size());
  for (uint32_t i = 0; i < list.size(); ++i) array.Set(i, list[i]);
  return array;
}

Napi::Array from_tensors(Napi::Env env, const std::vector<TensorFacts>& tensors) {
  auto array = Napi::Array::New(env, tensors.size());
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    auto object = Napi::Object::New(env);
    object.Set("name", tensors[i].name);
    object.Set("type", tensors[i].type);
    const std::vector<double> shape(tensors[i].shape.begin(), tensors[i].shape.end());
    object.Set("shape", from_list(env, shape));
    array.Set(i, object);
  }
  return array;
}

void UseOnnxRuntime(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const auto text = [](const Napi::Value& value) -> std::string { return value.ToString(); };
    use_onnx_runtime(to_list(info[0], text), info[1].As<Napi::String>());
  });
}

Napi::Value OnnxRuntime(const Napi::CallbackInfo& info) {
  const OnnxRuntimeFacts facts = onnx_runtime_facts();
  auto object = Napi::Object::New(info.Env());
  object.Set("version", facts.version);
  object.Set("providers", from_list(info.Env(), facts.providers));
  object.Set("available", from_list(info.Env(), facts.available));
  return object;
}

Napi::Value DescribeNet(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const auto side = [](const Napi::Value& value) { return value.ToNumber().Int64Value(); };
    const NetFacts net = net_facts(info[0].As<Napi::String>(), to_list(info[1], side));
    auto object = Napi::Object::New(env);
    object.Set("inputs", from_tensors(env, net.inputs));
    object.Set("outputs", from_tensors(env, net.outputs));
    return object;
  });
}

std::string webp_version() {
  const int version = WebPGetDecoderVersion();
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xFF) + "." +
         std::to_string(version & 0xFF);
}

// The version of the headers. At run time the library reports only JPEG_LIB_VERSION, which is 62
// for every version. Debian's patches change neither number.
#define FACEMATCH_QUOTED(text) #text
#define FACEMATCH_TEXT_OF(macro) FACEMATCH_QUOTED(macro)
constexpr const char* kJpegVersion = FACEMATCH_TEXT_OF(LIBJPEG_TURBO_VERSION);
#undef FACEMATCH_TEXT_OF
#undef FACEMATCH_QUOTED

Napi::Value Versions(const Napi::CallbackInfo& info) {
  auto object = Napi::Object::New(info.Env());
  object.Set("onnxruntime", onnx_runtime_facts().version);
  object.Set("opencv", CV_VERSION);
  object.Set("libjpeg", kJpegVersion);
  object.Set("libpng", png_get_libpng_ver(nullptr));
  object.Set("libwebp", webp_version());
  return object;
}

// The module keeps no state per JavaScript environment, so any number of worker threads may load
// it.
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, auto call) {
    exports.Set(name, Napi::Function::New(env, call));
  };
  add("loadPack", LoadPack);
  add("detectorOutputs", DetectorOutputs);
  add("analyse", AnalyseOne);
  add("cohortScores", CohortScores);
  add("threadCpu", ThreadCpu);
  add("useHugePages", UseHugePages);
  add("copyBytes", CopyBytes);
  add("wipe", Wipe);
  add("decodeBase64", DecodeBase64);
  add("discard", Discard);
  add("dropNewConnections", DropNewConnections);
  add("endWithParent", EndWithParent);
  add("endNow", EndNow);
  add("describeNet", DescribeNet);
  add("onnxRuntime", OnnxRuntime);
  add("useOnnxRuntime", UseOnnxRuntime);
  add("versions", Versions);
  return exports;
}

}  // namespace

NODE_API_MODULE(facematch, Init)

}  // namespace facematch::binding
