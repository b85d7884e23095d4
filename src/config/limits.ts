/** Limits of the system that are too low, and where each is raised. */

export const moreFiles = 'raise it: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of a container';
export const moreThreads =
  'raise it: ulimit -u, TasksMax of systemd, --pids-limit of a container; a server has 12 threads and its workers';
