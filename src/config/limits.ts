/** Limits of the system that are too low, and where each is raised. */

export const moreFiles = 'raise it: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of a container';
export const moreThreads =
  'raise it: ulimit -u, TasksMax of systemd, --pids-limit of a container; a server has 12 threads and its workers';

/** By the codes of errors of the system, whose messages do not say what to do. */
const cures: Readonly<Record<string, string>> = {
  EMFILE: `Too few files may be open; ${moreFiles}.`,
  ERR_WORKER_INIT_FAILED: `No further thread may be started; ${moreThreads}.`,
};

/** What to add to an error's message; undefined where no limit is too low. */
export function cureOf(error: unknown): string | undefined {
  return cures[(error as NodeJS.ErrnoException).code ?? ''];
}
