import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { newFolder } from '../../support/folder.ts';

/** Compares ort_table.h with ONNX Runtime's own headers, which setup installs only for this test. */
const headers = projectPath('.cache/libonnxruntime-dev/usr/include/onnxruntime');
const table = projectPath('native/core/runtime/ort_table.h');

/** Members of OrtCustomOp in the order of the header. */
function customOperatorMembers(): string[] {
  const text = readFileSync(join(headers, 'onnxruntime_c_api.h'), 'utf8');
  const [, body = ''] = /^struct OrtCustomOp \{(.*?)^\};/ms.exec(text) ?? [];
  return [...body.matchAll(/ORT_API_CALL\* (\w+)\)/g)].map(([, name]) => name!);
}

function ownMembers(): string[] {
  const [, body = ''] = /^struct CustomOperator \{(.*?)^\};/ms.exec(readFileSync(table, 'utf8')) ?? [];
  return [...body.matchAll(/\(\*(\w+)\)/g)].map(([, name]) => name!);
}

const numbers = {
  'LogLevel::kFatal': 'ORT_LOGGING_LEVEL_FATAL',
  'ErrorKind::kFail': 'ORT_FAIL',
  'ErrorKind::kInvalidGraph': 'ORT_INVALID_GRAPH',
  'Kind::kTensor': 'ONNX_TYPE_TENSOR',
  'Element::kFloat': 'ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT',
  'Element::kUint8': 'ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8',
  'Element::kFloat16': 'ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16',
  'Execution::kSequential': 'ORT_SEQUENTIAL',
  'Optimisation::kExtended': 'ORT_ENABLE_EXTENDED',
  'Optimisation::kAll': 'ORT_ENABLE_ALL',
  'AllocatorKind::kArena': 'OrtArenaAllocator',
  'MemoryKind::kDefault': 'OrtMemTypeDefault',
  'Presence::kRequired': 'INPUT_OUTPUT_REQUIRED',
};

test.skipIf(!existsSync(headers))(
  "keeps ort_table.h in line with ONNX Runtime's positions, numbers and layout",
  () => {
    const names = [...readFileSync(table, 'utf8').matchAll(/^inline constexpr .*> (\w+);$/gm)];
    const positions = names.map(
      ([, name]) =>
        `static_assert(offsetof(OrtApi, ${name}) == decltype(api::${name})::kPosition * sizeof(void*));`,
    );
    const enumerators = Object.entries(numbers).map(
      ([own, theirs]) => `static_assert(static_cast<int>(${own}) == ${theirs});`,
    );
    const [theirs, own] = [customOperatorMembers(), ownMembers()];
    const members = theirs.map(
      (name, index) =>
        `static_assert(offsetof(OrtCustomOp, ${name}) == offsetof(CustomOperator, ${own[index]}));`,
    );
    const file = join(newFolder(), 'check.cpp');
    const sizes =
      'static_assert(sizeof(OrtCustomOp) == sizeof(CustomOperator) && kVersion <= ORT_API_VERSION);';
    const lines = [
      '#include <onnxruntime_c_api.h>',
      `#include "${table}"`,
      'using namespace facematch::ort;',
    ];
    writeFileSync(file, [...lines, sizes, ...positions, ...enumerators, ...members].join('\n'));
    expect(names.length).toBeGreaterThan(50);
    expect(own).toHaveLength(theirs.length);
    // A wrong position or number is a compiler error that names it.
    execFileSync('g++', ['-std=c++20', '-fsyntax-only', `-I${headers}`, file], { encoding: 'utf8' });
  },
);
