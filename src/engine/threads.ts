/**
 * Piscina's options for so many worker threads, all of them from the start.
 *
 * Piscina first tries require() on a worker's file. Where Node can require ES modules, a worker that is terminated in the
 * middle of that ends the whole process with an assertion (CreateRequiredModuleFacade, Node 20). Without it piscina
 * imports the file, which may be broken off at any time.
 */
export function threads(count: number) {
  return {
    minThreads: count,
    maxThreads: count,
    execArgv: [...process.execArgv, '--no-experimental-require-module'],
  };
}
