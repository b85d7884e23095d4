/**
 * Photos that are dropped or pasted anywhere on the page. The first goes where it was dropped, or to the first empty
 * place; a second one to the other.
 * @param {readonly import('./photo-slot.js').PhotoSlot[]} slots
 */
export function takeIn(slots) {
  addEventListener('paste', ({ clipboardData, target }) => {
    const files = [...(clipboardData?.files ?? [])];
    // A pasted text is the key's, or nothing to us.
    if (files.length > 0) put(files, slotAt(target));
  });

  // Whatever is dropped beside the slots: a browser would leave the page to show it.
  addEventListener('dragover', (event) => {
    event.preventDefault();
    highlight(slotAt(event.target));
  });
  addEventListener('dragleave', ({ relatedTarget }) => relatedTarget === null && highlight(undefined));
  addEventListener('drop', (event) => {
    event.preventDefault();
    highlight(undefined);
    put([...(event.dataTransfer?.files ?? [])], slotAt(event.target));
  });

  /** @param {EventTarget | null} target */
  const slotAt = (target) => slots.find(({ section }) => target instanceof Node && section.contains(target));

  /** @param {(typeof slots)[number] | undefined} chosen */
  const highlight = (chosen) => {
    for (const slot of slots) slot.section.classList.toggle('aimed', slot === chosen);
  };

  /**
   * @param {readonly File[]} files
   * @param {(typeof slots)[number] | undefined} chosen
   */
  const put = (files, chosen) => {
    const first = chosen ?? slots.find(({ file }) => file === undefined) ?? slots[0];
    const order = [first, ...slots.filter((slot) => slot !== first)];
    for (const [i, slot] of order.entries()) {
      const file = files[i];
      if (file !== undefined) void slot?.show(file);
    }
  };
}
