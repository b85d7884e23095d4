// Loads @u4/opencv4nodejs, which reads these settings when it is imported.
import { Log } from '@u4/opencv-build';

// Otherwise it searches for an OpenCV that it has compiled itself.
process.env.OPENCV4NODEJS_DISABLE_AUTOBUILD = '1';
// Every Mat is released explicitly. The package's own tracking costs a lock and a call to V8 for each Mat, and continues after
// the end of V8 where another library of the process uses OpenCV too.
process.env.OPENCV4NODEJS_DISABLE_EXTERNAL_MEM_TRACKING = '1';
Log.silence = true;

export const { cv } = await import('@u4/opencv4nodejs');

// Processes provide the parallelism.
cv.setNumThreads(1);
