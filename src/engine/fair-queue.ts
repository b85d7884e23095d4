import { Activity } from './activity.ts';
import { Heap } from './heap.ts';

/** A request as the scheduler sees it. */
interface Waiting {
  /** The id of the key that sent it. */
  readonly owner: string;
  /** Number of its waiting images. */
  readonly waiting: number;
  /** True until one of its images is given to a worker. */
  readonly untouched: boolean;
  /** A further step of an admitted request: it goes before the other requests of its owner. */
  readonly continues: boolean;
  /**
   * Minimum milliseconds for its waiting image at this position (0: the next one), as far as known in
   * advance.
   */
  estimate_ms(position: number): number;
}

/** A request in the queue of its owner. */
interface Entry<R> {
  readonly request: R;
  readonly owner: Owner<R>;
  before: Entry<R> | undefined;
  after: Entry<R> | undefined;
}

/** State of one key in the queue, and its past use. */
interface Owner<R> {
  readonly name: string;
  /** Number of places that it takes, running or waiting. */
  held: number;
  /** Number of places of its requests that `victims` is about to drop. */
  pledged: number;
  /** Its requests with waiting images: those that continue, then the others, oldest first. */
  first: Entry<R> | undefined;
  last: Entry<R> | undefined;
  /** Last one of those that continue. */
  lastContinuing: Entry<R> | undefined;
  /** Number of workers that it occupies, and the estimated time of their jobs. */
  workers: number;
  running_ms: number;
  /**
   * Virtual time up to which it is served: the start time of its first image plus the time that its images
   * have taken since.
   */
  served_ms: number;
  /** Average time of its images, with more weight on newer ones. */
  image_ms: number;
  /** Number of its last turn. */
  turn: number;
}

/** State of the workers that `FairQueue.next` needs. */
export interface Workers {
  /** Number of workers that are up, busy or not. */
  readonly up: number;
  readonly free: number;
}

export interface Next<R> {
  request: R;
  /** Number of its images that may start now. */
  allowed: number;
}

/** Maximum number of images per turn: those of a match, so that they stay together. */
const quantum = 2;

/**
 * Maximum estimated time of the images of a turn, unless a single image takes longer: no key waits for two
 * slow images.
 */
const turn_ms = 100;

/** A worker stays free for another key for this long after its last activity. */
const active_ms = 10_000;

/** Maximum number of owners that are checked for a request to drop; those that hold most come first. */
const maxAsked = 16;

/**
 * Decides whose image is next: start-time fair queueing (Goyal, Vin and Cheng, 1996) by the time that workers
 * spend on a key's images, and order of arrival within a key. Over time each key that always has images
 * waiting gets an equal share of the workers' time.
 *
 * A running job is never interrupted, so equal shares do not limit a wait. Three rules do:
 *
 * 1. While another key is active (has a request in flight, or had one within the last 10 s), one key never
 *    occupies all workers, if there are two or more.
 * 2. A turn is at most two images of one request, or one if images are large or recent images of the key were
 *    slow: the larger of the two estimates counts.
 * 3. A key that had nothing waiting gets its turn before keys that were served meanwhile, but saves no time up.
 *
 * Thus the first image of a key waits for at most one turn of each other key, whatever they have sent. With a
 * single worker, and for the first request after 10 s without one, that turn may have begun already, and it
 * lasts as long as an image may.
 *
 * The time is known only when a job is done; until then its estimate counts. All operations take logarithmic
 * time.
 */
export class FairQueue<R extends Waiting> {
  readonly #now: () => number;
  readonly #activity = new Activity();
  readonly #owners = new Map<string, Owner<R>>();
  readonly #entries = new Map<R, Entry<R>>();
  /** Owners with waiting images: the least served first; among equals, the one whose last turn was first. */
  readonly #ready = new Heap<Owner<R>>((a, b) => (servedBy(a) - servedBy(b) || a.turn - b.turn) < 0);
  /** Owners whose last request can be dropped: the one that holds most first. */
  readonly #droppable = new Heap<Owner<R>>((a, b) => a.held - a.pledged > b.held - b.pledged);
  /** Idle owners that had more than their share: the one with the smallest excess first. */
  readonly #idle = new Heap<Owner<R>>((a, b) => a.served_ms < b.served_ms);
  /** Number of owners with entries. */
  #active = 0;
  /** Share of the workers' time that a key with images always waiting would have had. */
  #virtual_ms = 0;
  /** Average time of an image of any key. */
  #image_ms = 1;
  #turns = 0;
  /** Owner of the current turn, and the number of images and milliseconds that it may still start. */
  #current: Owner<R> | undefined;
  #left = 0;
  #left_ms = 0;
  /** Number of waiting images of all keys. */
  waiting = 0;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Number of requests with waiting images. */
  get requests(): number {
    return this.#entries.size;
  }

  /** Call it when a request of this key arrives, and `ended` when its response is complete. */
  arrived(owner: string): void {
    this.#activity.begin(owner);
  }

  ended(owner: string): void {
    this.#activity.end(owner, this.#now());
  }

  /** Returns the request whose image is next; undefined if none may start on the free workers. */
  next(workers: Workers): Next<R> | undefined {
    let owner = this.#current;
    const goesOn = owner?.first !== undefined && this.#left > 0 && this.#estimate(owner, 0) <= this.#left_ms;
    if (!goesOn || !this.#mayStart(owner!, workers)) {
      owner = this.#ready.first;
      // Only one key could occupy all workers but the last one.
      if (owner !== undefined && !this.#mayStart(owner, workers)) owner = this.#ready.second;
      if (owner === undefined) return undefined;
      this.#begin(owner);
    }
    return { request: owner!.first!.request, allowed: this.#allowed(owner!) };
  }

  add(request: R): void {
    const owner = this.#owners.get(request.owner) ?? this.#newOwner(request.owner);
    if (owner.first === undefined) owner.served_ms = Math.max(owner.served_ms, this.#virtual_ms);
    this.#hold(owner, request.waiting);
    this.waiting += request.waiting;
    this.#enter(owner, request);
    this.#sort(owner);
  }

  /**
   * Records that a worker takes images of the next request; they become one place. Returns their estimate,
   * for `release`. Call it before `request.waiting` is reduced.
   */
  started(request: R, images: number): number {
    const { owner } = this.#entries.get(request)!;
    let ms = 0;
    for (let image = 0; image < images; image++) ms += this.#estimate(owner, image);
    this.#virtual_ms = Math.max(this.#virtual_ms, servedBy(owner));
    owner.workers += 1;
    owner.running_ms += ms;
    this.#left -= images;
    this.#left_ms -= ms;
    this.waiting -= images;
    this.#hold(owner, 1 - images);
    if (request.waiting === images) this.#leave(request);
    this.#sort(owner);
    return ms;
  }

  /** Records that the worker of these images is free again, after `ms`. */
  release(name: string, images: number, estimate_ms: number, ms: number): void {
    const owner = this.#owners.get(name)!;
    owner.workers -= 1;
    owner.running_ms = owner.workers === 0 ? 0 : owner.running_ms - estimate_ms;
    owner.served_ms += ms;
    owner.image_ms = (owner.image_ms + ms / images) / 2;
    this.#image_ms = (this.#image_ms + ms / images) / 2;
    this.#virtual_ms += ms / this.#active;
    this.#hold(owner, -1);
    this.#sort(owner);
    this.#forget();
  }

  /** Removes a request whose waiting images will not be taken. */
  drop(request: R): void {
    const owner = this.#entries.get(request)?.owner;
    if (owner === undefined) return;
    this.waiting -= request.waiting;
    this.#leave(request);
    this.#hold(owner, -request.waiting);
    this.#sort(owner);
    this.#forget();
  }

  /**
   * Returns requests to drop from a full queue, so that `places` get free for a newcomer: repeatedly the
   * youngest unstarted one of the key that holds most. No key is left with less than the newcomer's then has.
   * Returns undefined if that is impossible, because the newcomer's key has its share.
   */
  victims(newcomer: string, entries: number): R[] | undefined {
    const minimum = (this.#owners.get(newcomer)?.held ?? 0) + 1;
    const chosen: R[] = [];
    /** The request that each checked owner would drop next. */
    const candidates = new Map<Owner<R>, Entry<R> | undefined>();
    let freed = 0;
    while (freed < entries) {
      const owner = this.#droppable.first;
      if (owner === undefined || (candidates.size === maxAsked && !candidates.has(owner))) break;
      const entry = candidates.has(owner) ? candidates.get(owner) : owner.last;
      const { waiting = 0, untouched = false } = entry?.request ?? {};
      candidates.set(owner, entry?.before);
      if (!untouched || owner.held - owner.pledged - waiting < minimum) {
        this.#droppable.set(owner, false);
        continue;
      }
      chosen.push(entry!.request);
      freed += waiting;
      owner.pledged += waiting;
      this.#droppable.set(owner);
    }
    for (const owner of candidates.keys()) {
      owner.pledged = 0;
      this.#sort(owner);
    }
    return freed < entries ? undefined : chosen;
  }

  #newOwner(name: string): Owner<R> {
    const owner: Owner<R> = {
      name,
      held: 0,
      pledged: 0,
      first: undefined,
      last: undefined,
      lastContinuing: undefined,
      workers: 0,
      running_ms: 0,
      served_ms: this.#virtual_ms,
      image_ms: this.#image_ms,
      turn: 0,
    };
    this.#owners.set(name, owner);
    return owner;
  }

  /** Puts a request into the queue of its owner. */
  #enter(owner: Owner<R>, request: R): void {
    const before = request.continues ? owner.lastContinuing : owner.last;
    const after = before === undefined ? owner.first : before.after;
    const entry: Entry<R> = { request, owner, before, after };
    if (before === undefined) owner.first = entry;
    else before.after = entry;
    if (after === undefined) owner.last = entry;
    else after.before = entry;
    if (request.continues) owner.lastContinuing = entry;
    this.#entries.set(request, entry);
  }

  /** Removes it from the queue. */
  #leave(request: R): void {
    const entry = this.#entries.get(request)!;
    const { owner, before, after } = entry;
    if (before === undefined) owner.first = after;
    else before.after = after;
    if (after === undefined) owner.last = before;
    else after.before = before;
    // The request before one that continues continues too.
    if (owner.lastContinuing === entry) owner.lastContinuing = before;
    this.#entries.delete(request);
  }

  #hold(owner: Owner<R>, entries: number): void {
    const had = owner.held > 0;
    owner.held += entries;
    this.#active += Number(owner.held > 0) - Number(had);
  }

  #sort(owner: Owner<R>): void {
    this.#ready.set(owner, owner.first !== undefined);
    this.#droppable.set(owner, owner.last?.request.untouched ?? false);
    this.#idle.set(owner, owner.held === 0);
  }

  #begin(owner: Owner<R>): void {
    this.#current = owner;
    this.#left = quantum;
    this.#left_ms = turn_ms;
    owner.turn = ++this.#turns;
    this.#ready.set(owner);
  }

  /** Estimated milliseconds for an image of the owner's first request. */
  #estimate(owner: Owner<R>, position: number): number {
    return Math.max(owner.image_ms, owner.first!.request.estimate_ms(position));
  }

  /** Returns how many images of its first request fit in the turn, at least one. */
  #allowed(owner: Owner<R>): number {
    const most = Math.min(this.#left, owner.first!.request.waiting);
    let images = 1;
    for (let ms = this.#estimate(owner, 0); images < most; images++) {
      ms += this.#estimate(owner, images);
      if (ms > this.#left_ms) break;
    }
    return images;
  }

  #mayStart({ name, workers }: Owner<R>, { up, free }: Workers): boolean {
    if (up < 2 || free > 1 || workers < up - 1) return true;
    return !this.#activity.isAnother(name, this.#now() - active_ms);
  }

  /**
   * A key that had more than its share is remembered until the others have had theirs, or all keys are idle.
   */
  #forget(): void {
    for (;;) {
      const { first } = this.#idle;
      if (first === undefined || (this.#active > 0 && first.served_ms > this.#virtual_ms)) return;
      this.#idle.set(first, false);
      this.#owners.delete(first.name);
    }
  }
}

/** Virtual time up to which it is served, including the estimates of its running images. */
const servedBy = ({ served_ms, running_ms }: Owner<unknown>): number => served_ms + running_ms;
