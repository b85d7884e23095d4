/** A binary heap whose items may change. `set` moves a changed item to its new place in logarithmic time. */
export class Heap<Item> {
  readonly #isBefore: (a: Item, b: Item) => boolean;
  readonly #items: Item[] = [];
  readonly #places = new Map<Item, number>();

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** The item that would be first if the first item were removed. */
  get second(): Item | undefined {
    const [, left, right] = this.#items;
    if (left === undefined || right === undefined) return left;
    return this.#isBefore(right, left) ? right : left;
  }

  /** Adds the item, moves it to its new place, or removes it if `isIn` is false. */
  set(item: Item, isIn = true): void {
    const place = this.#places.get(item);
    if (isIn) this.#sift(item, place ?? this.#items.length);
    else if (place !== undefined) this.#remove(item, place);
  }

  clear(): void {
    this.#items.length = 0;
    this.#places.clear();
  }

  #remove(item: Item, place: number): void {
    this.#places.delete(item);
    const last = this.#items.pop()!;
    if (last !== item) this.#sift(last, place);
  }

  #sift(item: Item, place: number): void {
    let at = place;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(item, this.#items[parent]!)) break;
      this.#put(this.#items[parent]!, at);
      at = parent;
    }
    for (;;) {
      const left = 2 * at + 1;
      const child = this.#earlier(left, left + 1);
      if (child === undefined || !this.#isBefore(this.#items[child]!, item)) break;
      this.#put(this.#items[child]!, at);
      at = child;
    }
    this.#put(item, at);
  }

  #earlier(left: number, right: number): number | undefined {
    if (left >= this.#items.length) return undefined;
    if (right >= this.#items.length) return left;
    return this.#isBefore(this.#items[right]!, this.#items[left]!) ? right : left;
  }

  #put(item: Item, place: number): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }
}
