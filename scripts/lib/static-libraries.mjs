// Builds OpenCV and the codecs as static libraries, for the addon of the npm package. The sources are pinned, so that
// results do not depend on the machine. Unlike Debian's static libraries, these can be linked into a shared library.
import { cpSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { installPackages, isDebian, missingPackages, unpackSource } from './debian.mjs';
import { oldLibcFacts, oldLibcFlags } from './old-libc.mjs';
import { hashOf, isStamped, run, writeStamp } from './run.mjs';

/** Returns CMake flags that turn options off. `words` has their names, without the common `beginning`. */
const off = (words, beginning = '') => words.split(' ').map((name) => `-D${beginning}${name}=OFF`);

/**
 * Sorted by dependency. The sources are Debian 13's, except for libpng: Debian testing's release contains the fixes
 * that Debian 13 adds as patches. Debian's security tracker announces necessary updates.
 */
export const libraries = [
  {
    name: 'zlib',
    version: '1.3.1',
    licence: 'Zlib',
    copyright: '1995-2024 Jean-loup Gailly and Mark Adler',
    debian: 'zlib1g-dev',
    path: 'pool/main/z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz',
    sha256: '60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb',
    licences: ['LICENSE'],
    // CMakeLists.txt requires this file for Windows, but Debian's source lacks it.
    empty: 'win32/zlib1.rc',
    options: off('ZLIB_BUILD_EXAMPLES'),
  },
  {
    name: 'libpng',
    version: '1.6.58',
    licence: 'libpng-2.0',
    copyright:
      '1995-2022 The PNG Reference Library Authors; 2018-2022 Cosmin Truta; 1998-2018 Glenn Randers-Pehrson',
    debian: 'libpng-dev',
    path: 'pool/main/libp/libpng1.6/libpng1.6_1.6.58.orig.tar.gz',
    sha256: 'a9d4df463d36a6e5f9c29bd6f4967312d17e996c1854f3511f833924eb1993cf',
    licences: ['LICENSE'],
    options: off('SHARED TESTS TOOLS EXECUTABLES', 'PNG_'),
  },
  {
    name: 'libjpeg-turbo',
    version: '2.1.5',
    licence: 'IJG AND BSD-3-Clause AND Zlib',
    copyright:
      '1991-2020 Thomas G. Lane, Guido Vollbeding; 2009-2023 D. R. Commander; 1999-2006 MIYASAKA Masaru; and others. This software is based in part on the work of the Independent JPEG Group',
    debian: 'libjpeg62-turbo-dev',
    path: 'pool/main/libj/libjpeg-turbo/libjpeg-turbo_2.1.5.orig.tar.gz',
    sha256: '254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c',
    licences: ['LICENSE.md', 'README.ijg'],
    options: [...off('ENABLE_SHARED WITH_TURBOJPEG'), '-DREQUIRE_SIMD=ON', '-DWITH_JPEG8=OFF'],
  },
  {
    name: 'libwebp',
    version: '1.5.0',
    licence: 'BSD-3-Clause',
    copyright: '2010 Google Inc.',
    debian: 'libwebp-dev',
    path: 'pool/main/libw/libwebp/libwebp_1.5.0.orig.tar.gz',
    sha256: '7d6fab70cf844bf6769077bd5d7a74893f8ffd4dfb42861745750c63c2a5c92c',
    licences: ['COPYING'],
    options: off('ANIM_UTILS CWEBP DWEBP GIF2WEBP IMG2WEBP VWEBP WEBPINFO WEBPMUX EXTRAS', 'WEBP_BUILD_'),
  },
  {
    name: 'opencv',
    version: '4.10.0',
    licence: 'Apache-2.0 AND BSD-3-Clause',
    copyright:
      '2000-2022 Intel Corporation; 2009-2011 Willow Garage Inc.; 2009-2016 NVIDIA Corporation; 2010-2013 Advanced Micro Devices, Inc.; 2015-2022 OpenCV Foundation; 2008-2016 Itseez Inc.; 2019-2022 Xperience AI; 2019-2022 Shenzhen Institute of Artificial Intelligence and Robotics for Society; OpenCV contributors',
    debian: 'libopencv-core-dev, libopencv-imgproc-dev',
    path: 'pool/main/o/opencv/opencv_4.10.0+dfsg.orig.tar.xz',
    sha256: '4ca619efbad524c550771ab110332fc81293fb720bd03980fe58bc15f9ca3be8',
    licences: ['LICENSE', 'COPYRIGHT'],
    options: [
      '-DBUILD_LIST=core,imgproc',
      ...off('TBB LAPACK OPENCL IPP ITT EIGEN OPENMP VA VA_INTEL ADE CAROTENE QUIRC FLATBUFFERS', 'WITH_'),
      ...off('GTK 1394 FFMPEG GSTREAMER V4L PROTOBUF TIFF OPENJPEG JASPER OPENEXR PNG JPEG WEBP', 'WITH_'),
      ...off('ITT TESTS PERF_TESTS EXAMPLES opencv_apps JAVA opencv_python3', 'BUILD_'),
      ...off('CV_TRACE OPENCV_GENERATE_PKGCONFIG'),
    ],
    // Text of cv::getBuildInformation, which would contain flags and folders of the build machine.
    blank: 'modules/core/version_string.inc',
  },
];

/** The hardening flags of CMakeLists.txt, because these libraries parse untrusted files. */
const hardening = [
  ...['-fstack-protector-strong', '-fstack-clash-protection', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=3'],
  process.arch === 'arm64' ? '-mbranch-protection=standard' : '-fcf-protection=full',
].join(' ');

/** Removes the path of the build folder, which each assertion would contain. */
const prefixMap = '-ffile-prefix-map=';

const advice =
  'The static libraries could not be built. The build needs cmake, ninja, a C++ compiler and nasm.';

/**
 * Resolves to the folder with `include`, `lib` and `licences`. The first build takes about ten minutes on two cores.
 */
export async function staticLibraries() {
  const folder = resolve('.cache/static');
  const stamp = join(folder, '.stamp');
  const built = libraries.map(({ sha256, licences, empty, options, blank }) => ({
    sha256,
    licences,
    empty,
    options,
    blank,
  }));
  const hash = hashOf([], [JSON.stringify(built), hardening, prefixMap, ...oldLibcFacts()]);
  if (isStamped(stamp, hash)) return folder;
  const missing = isDebian() ? missingPackages(['nasm', 'cmake', 'ninja-build', 'xz-utils']) : [];
  if (missing.length > 0) await installPackages(missing);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { compile, link } = await oldLibcFlags();
  const flags = `${hardening} ${prefixMap}${process.cwd()}=. ${compile}`;
  for (const { name, options, empty, licences, blank, ...source } of libraries) {
    const work = resolve('.cache', `static-${name}`);
    await unpackSource(source, join(work, 'source'), advice);
    if (empty !== undefined) {
      const file = join(work, 'source', empty);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, '');
    }
    for (const file of licences)
      cpSync(join(work, 'source', file), join(folder, 'licences', `${name}-${file}`));
    const built = join(work, 'build');
    const configure = {
      CMAKE_BUILD_TYPE: 'Release',
      CMAKE_INSTALL_PREFIX: folder,
      CMAKE_PREFIX_PATH: folder,
      'CMAKE_INSTALL_LIBDIR:STRING': 'lib',
      BUILD_SHARED_LIBS: 'OFF',
      CMAKE_POSITION_INDEPENDENT_CODE: 'ON',
      CMAKE_C_VISIBILITY_PRESET: 'hidden',
      CMAKE_CXX_VISIBILITY_PRESET: 'hidden',
      CMAKE_POLICY_VERSION_MINIMUM: '3.5',
      CMAKE_C_FLAGS: flags,
      CMAKE_CXX_FLAGS: flags,
      CMAKE_EXE_LINKER_FLAGS: link,
      CMAKE_SHARED_LINKER_FLAGS: link,
    };
    const defined = Object.entries(configure).map(([name, value]) => `-D${name}=${value}`);
    const place = ['-S', join(work, 'source'), '-B', built, '-G', 'Ninja'];
    await run('cmake', [...place, ...defined, ...options], { advice });
    if (blank !== undefined) {
      truncateSync(join(built, blank)); // throws if a new version of OpenCV has no such file
      writeFileSync(join(built, blank), '""\n');
    }
    const parallel = ['--parallel', String(availableParallelism())];
    await run('cmake', ['--build', built, ...parallel, '--target', 'install'], { advice });
    rmSync(work, { recursive: true, force: true });
  }
  writeStamp(stamp, hash);
  return folder;
}
