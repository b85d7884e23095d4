// Profiles that callgrind wrote.

/**
 * Instructions by the name of the piece of work, out of the texts of profiles that a request of the program ended. What was
 * run again to see the noise is left out: callgrind has none.
 */
export function instructionsOf(profiles) {
  const counted = {};
  for (const text of profiles) {
    const name = /^desc: Trigger: Client Request: (.+)$/m.exec(text)?.[1];
    const total = /^totals: (\d+)/m.exec(text)?.[1];
    if (name && total && !name.startsWith('again ')) counted[name] = Number(total);
  }
  return counted;
}
