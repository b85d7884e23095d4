/**
 * Piscina's options for so many worker threads, all of them from the start.
 *
 * Piscina first tries require() on a worker's file. Where Node can require ES modules, a worker that is terminated in the
 * middle of that ends the whole process with an assertion (CreateRequiredModuleFacade, Node 20). Without it piscina
 * imports the file, which may be broken off at any time. Node's own flags are not handed on: V8's count for all threads
 * as it is, and a thread that is given one does not start.
 *
 * A worker makes little garbage, and little of it lives on. Left alone V8 would still let its young generation grow to
 * 48 MiB by and by, over thousands of jobs.
 */
export function threads(count: number) {
  return {
    minThreads: count,
    maxThreads: count,
    resourceLimits: { maxYoungGenerationSizeMb: 3 },
    execArgv: ['--no-experimental-require-module'],
  };
}
