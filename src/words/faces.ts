/** Warnings about compared faces. The API names form fields, the command line files, and the demo page photos. */

/** The compared face is not the largest of its image. `image`: the name of the image for the reader. */
export function notLargestText(image: string): string {
  return (
    `The face compared in ${image} is not the largest one: check that it is the person you mean, ` +
    'and not someone behind them or on a photo that they hold.'
  );
}

/** Another face of a photo fits the other photos better than the largest one, which was compared. */
export function betterFaceText(photo: string, face: string): string {
  return (
    `The largest face of ${photo} was compared, but ${face} agrees better: the person you mean may be behind ` +
    'someone else. Send a photo that shows them alone or in front.'
  );
}
