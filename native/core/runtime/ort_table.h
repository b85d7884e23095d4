// The part of ONNX Runtime's C interface that facematch uses. It replaces the library's headers.
//
// The library returns a table of function pointers for a version of its interface. Positions never
// change, and new functions are appended. A library of the same or a later version therefore has
// these functions at the same positions ("ABI compatibility" in onnxruntime_c_api.h, ONNX Runtime
// 1.21). test/slow/model/onnx-runtime-table.test.ts compares positions, numbers and the layout of
// CustomOperator with that header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace facematch::ort {

// Version of the interface: that of ONNX Runtime 1.21.
constexpr uint32_t kVersion = 21;

// Opaque objects of the library.
struct StatusData;
struct EnvData;
struct OptionsData;
struct SessionData;
struct RunOptionsData;
struct ValueData;
struct TypeData;
struct TensorTypeData;
struct MemoryData;
struct AllocatorData;
struct OperatorDomain;
struct KernelInfo;
struct KernelContext;
struct ShapeContext;
struct CudaOptions;
struct TensorRtOptions;

// The interface defines the numbers; only the used ones are named here.
enum class LogLevel : int { kFatal = 4 };
enum class ErrorKind : int { kFail = 1, kInvalidGraph = 10 };
enum class Kind : int { kTensor = 1 };
enum class Element : int { kFloat = 1, kUint8 = 2, kFloat16 = 10 };
enum class Execution : int { kSequential = 0 };
enum class Optimisation : int { kExtended = 2, kAll = 99 };
enum class AllocatorKind : int { kArena = 1 };
enum class MemoryKind : int { kDefault = 0 };
enum class Presence : int { kRequired = 0 };

using Table = const void* const*;

struct Base {
  Table (*table)(uint32_t version) noexcept;  // null if the library is older
  const char* (*version)() noexcept;
};

using Log = void (*)(void* argument, LogLevel, const char* category, const char* id,
                     const char* place, const char* message);

// A custom operator. The library reads the members that exist in `version` of the interface.
struct CustomOperator {
  uint32_t version = kVersion;
  void* (*create_v1)(const CustomOperator*, Table, const KernelInfo*) = nullptr;
  const char* (*name)(const CustomOperator*) = nullptr;
  const char* (*provider)(const CustomOperator*) = nullptr;
  Element (*input_type)(const CustomOperator*, size_t) = nullptr;
  size_t (*input_count)(const CustomOperator*) = nullptr;
  Element (*output_type)(const CustomOperator*, size_t) = nullptr;
  size_t (*output_count)(const CustomOperator*) = nullptr;
  void (*compute_v1)(void*, KernelContext*) = nullptr;
  void (*destroy)(void* kernel) = nullptr;
  Presence (*input_presence)(const CustomOperator*, size_t) = nullptr;
  Presence (*output_presence)(const CustomOperator*, size_t) = nullptr;
  MemoryKind (*input_memory)(const CustomOperator*, size_t) = nullptr;
  int (*variadic_input_minimum)(const CustomOperator*) = nullptr;
  int (*variadic_input_alike)(const CustomOperator*) = nullptr;
  int (*variadic_output_minimum)(const CustomOperator*) = nullptr;
  int (*variadic_output_alike)(const CustomOperator*) = nullptr;
  StatusData* (*create)(const CustomOperator*, Table, const KernelInfo*, void** kernel) = nullptr;
  StatusData* (*compute)(void* kernel, KernelContext*) = nullptr;
  StatusData* (*infer_shape)(const CustomOperator*, ShapeContext*) = nullptr;
  int (*first_version)(const CustomOperator*) = nullptr;
  int (*last_version)(const CustomOperator*) = nullptr;
  size_t (*may_share)(int** inputs, int** outputs) = nullptr;
  void (*release_may_share)(int* inputs, int* outputs) = nullptr;
  size_t (*aliases)(int** inputs, int** outputs) = nullptr;
  void (*release_aliases)(int* inputs, int* outputs) = nullptr;
};

// The table of the library in use; see use_table().
Table table();

// Calls the function at a position of the table.
template <size_t Position, typename Result, typename... Parameters>
struct Function {
  static constexpr size_t kPosition = Position;
  Result operator()(Parameters... parameters) const {
    using Pointer = Result (*)(Parameters...);
    return reinterpret_cast<Pointer>(const_cast<void*>(table()[Position]))(parameters...);
  }
};

// A function that may fail, and one that cannot.
template <size_t Position, typename... Parameters>
using Call = Function<Position, StatusData*, Parameters...>;
template <size_t Position, typename... Parameters>
using Release = Function<Position, void, Parameters...>;

using Text = const char*;

// clang-format off
// Named as in the C interface.
namespace api {
inline constexpr Function<0, StatusData*, ErrorKind, Text> CreateStatus;
inline constexpr Function<2, Text, const StatusData*> GetErrorMessage;
inline constexpr Call<4, Log, void*, LogLevel, Text, EnvData**> CreateEnvWithCustomLogger;
inline constexpr Call<7, const EnvData*, Text, const OptionsData*, SessionData**> CreateSession;
inline constexpr Call<8, const EnvData*, const void*, size_t, const OptionsData*, SessionData**> CreateSessionFromArray;
inline constexpr Call<9, SessionData*, const RunOptionsData*, const Text*, const ValueData* const*, size_t, const Text*, size_t, ValueData**> Run;
inline constexpr Call<10, OptionsData**> CreateSessionOptions;
inline constexpr Call<11, OptionsData*, Text> SetOptimizedModelFilePath;
inline constexpr Call<13, OptionsData*, Execution> SetSessionExecutionMode;
inline constexpr Call<23, OptionsData*, Optimisation> SetSessionGraphOptimizationLevel;
inline constexpr Call<24, OptionsData*, int> SetIntraOpNumThreads;
inline constexpr Call<25, OptionsData*, int> SetInterOpNumThreads;
inline constexpr Call<26, Text, OperatorDomain**> CreateCustomOpDomain;
inline constexpr Call<27, OperatorDomain*, const CustomOperator*> CustomOpDomain_Add;
inline constexpr Call<28, OptionsData*, OperatorDomain*> AddCustomOpDomain;
inline constexpr Call<30, const SessionData*, size_t*> SessionGetInputCount;
inline constexpr Call<31, const SessionData*, size_t*> SessionGetOutputCount;
inline constexpr Call<33, const SessionData*, size_t, TypeData**> SessionGetInputTypeInfo;
inline constexpr Call<34, const SessionData*, size_t, TypeData**> SessionGetOutputTypeInfo;
inline constexpr Call<36, const SessionData*, size_t, AllocatorData*, char**> SessionGetInputName;
inline constexpr Call<37, const SessionData*, size_t, AllocatorData*, char**> SessionGetOutputName;
inline constexpr Call<48, AllocatorData*, const int64_t*, size_t, Element, ValueData**> CreateTensorAsOrtValue;
inline constexpr Call<49, const MemoryData*, void*, size_t, const int64_t*, size_t, Element, ValueData**> CreateTensorWithDataAsOrtValue;
inline constexpr Call<50, const ValueData*, int*> IsTensor;
inline constexpr Call<51, ValueData*, void**> GetTensorMutableData;
inline constexpr Call<55, const TypeData*, const TensorTypeData**> CastTypeInfoToTensorInfo;
inline constexpr Call<56, const TypeData*, Kind*> GetOnnxTypeFromTypeInfo;
inline constexpr Call<60, const TensorTypeData*, Element*> GetTensorElementType;
inline constexpr Call<61, const TensorTypeData*, size_t*> GetDimensionsCount;
inline constexpr Call<62, const TensorTypeData*, int64_t*, size_t> GetDimensions;
inline constexpr Call<63, const TensorTypeData*, Text*, size_t> GetSymbolicDimensions;
inline constexpr Call<65, const ValueData*, TensorTypeData**> GetTensorTypeAndShape;
inline constexpr Call<69, AllocatorKind, MemoryKind, MemoryData**> CreateCpuMemoryInfo;
inline constexpr Call<76, AllocatorData*, void*> AllocatorFree;
inline constexpr Call<78, AllocatorData**> GetAllocatorWithDefaultOptions;
inline constexpr Call<90, const KernelContext*, size_t, const ValueData**> KernelContext_GetInput;
inline constexpr Call<91, KernelContext*, size_t, const int64_t*, size_t, ValueData**> KernelContext_GetOutput;
inline constexpr Release<93, StatusData*> ReleaseStatus;
inline constexpr Release<95, SessionData*> ReleaseSession;
inline constexpr Release<96, ValueData*> ReleaseValue;
inline constexpr Release<98, TypeData*> ReleaseTypeInfo;
inline constexpr Release<99, TensorTypeData*> ReleaseTensorTypeAndShapeInfo;
inline constexpr Release<100, OptionsData*> ReleaseSessionOptions;
inline constexpr Call<124, OptionsData*, Text, int64_t> AddFreeDimensionOverrideByName;
inline constexpr Call<125, char***, int*> GetAvailableProviders;
inline constexpr Call<126, char**, int> ReleaseAvailableProviders;
inline constexpr Call<130, OptionsData*, Text, Text> AddSessionConfigEntry;
inline constexpr Call<170, OptionsData*, const TensorRtOptions*> SessionOptionsAppendExecutionProvider_TensorRT_V2;
inline constexpr Call<171, TensorRtOptions**> CreateTensorRTProviderOptions;
inline constexpr Release<174, TensorRtOptions*> ReleaseTensorRTProviderOptions;
inline constexpr Call<204, OptionsData*, const CudaOptions*> SessionOptionsAppendExecutionProvider_CUDA_V2;
inline constexpr Call<205, CudaOptions**> CreateCUDAProviderOptions;
inline constexpr Release<208, CudaOptions*> ReleaseCUDAProviderOptions;
inline constexpr Call<216, OptionsData*, Text, const Text*, const Text*, size_t> SessionOptionsAppendExecutionProvider;
inline constexpr Call<249, const KernelInfo*, size_t, int*, const ValueData**> KernelInfoGetConstantInput_tensor;
inline constexpr Call<268, const ShapeContext*, size_t, TensorTypeData**> ShapeInferContext_GetInputTypeShape;
inline constexpr Call<270, const ShapeContext*, size_t, const TensorTypeData*> ShapeInferContext_SetOutputTypeShape;
}  // namespace api
// clang-format on

}  // namespace facematch::ort
