/**
 * Where the process stands in its life. Ready means: pack verified, every worker up, one real inference done by each,
 * and no shutdown begun.
 */
export type Stage = 'starting' | 'ready' | 'draining';

export class Readiness {
  #stage: Stage = 'starting';

  get stage(): Stage {
    return this.#stage;
  }

  /** A shutdown that began during the start wins. */
  ready(): void {
    if (this.#stage === 'starting') this.#stage = 'ready';
  }

  drain(): void {
    this.#stage = 'draining';
  }
}
