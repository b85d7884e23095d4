/** Texts of warnings about compared faces. */

/** Text for a compared face that is not the largest. `image`: name of the form field, the file or the photo. */
export function notLargestText(image: string): string {
  return (
    `The face compared in ${image} is not the largest face. Check that it is the intended person, ` +
    'not someone in the background or on a photo.'
  );
}

/** Text for a photo whose largest face was compared although another face agrees better with the other photos. */
export function betterFaceText(photo: string, face: string): string {
  return (
    `The largest face of ${photo} was compared, but ${face} agrees better with the other photos. ` +
    'Send a photo in which the intended person has the largest face.'
  );
}
