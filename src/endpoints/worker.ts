import { serveJobs } from '../engine/serve-jobs.ts';
import { workerJobs } from './worker-jobs.ts';

export default serveJobs(workerJobs);
