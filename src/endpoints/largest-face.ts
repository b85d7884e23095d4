/** What is said of a compared face that is not the largest one of its image, to people who do not write requests. */
export function largestWords(image: string): string {
  return (
    `The face compared in ${image} is not the largest one there: make sure that it is the person you mean, ` +
    'and not somebody behind them or on an image that they hold.'
  );
}
