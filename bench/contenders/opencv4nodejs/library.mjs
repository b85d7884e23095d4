// Loads @u4/opencv4nodejs, which wants to be told what has been built before it is imported.
import { Log } from '@u4/opencv-build';

// Else it looks for an OpenCV that it compiled itself.
process.env.OPENCV4NODEJS_DISABLE_AUTOBUILD = '1';
// Every Mat here is released by hand. Its own book-keeping costs a lock and a word to V8 for each of them, and where
// another library of the process uses OpenCV too, it goes on after V8 has ended.
process.env.OPENCV4NODEJS_DISABLE_EXTERNAL_MEM_TRACKING = '1';
Log.silence = true;

export const { cv } = await import('@u4/opencv4nodejs');

// Processes are what runs in parallel.
cv.setNumThreads(1);
