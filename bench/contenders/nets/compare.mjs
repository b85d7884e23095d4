/** One in some thousand pairs of strangers is above it. */
const least_cosine = 0.35;

/** Of two unit vectors. */
export function cosine(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

export function byCosine(a, b) {
  const similarity = cosine(a, b);
  return { match: similarity >= least_cosine, similarity };
}
