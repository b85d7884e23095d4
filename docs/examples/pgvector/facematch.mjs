// What the example asks of facematch, by the client for Node: where you copy the example to, copy that file as well.
import { readFile } from 'node:fs/promises';
import { FacematchClient } from '../../../dist/client/facematch.mjs';

/** With a key of the scopes `embed` and `match:embeddings`: from the environment. */
export function clientFromEnvironment() {
  const { FACEMATCH_URL: url = 'http://127.0.0.1:8080', FACEMATCH_KEY: key } = process.env;
  if (!key) throw new Error('put your API key into FACEMATCH_KEY');
  return new FacematchClient({ url, key });
}

/** The largest face of an image, and how many there are. Rejects with the client's error. */
export async function embed(client, file, fields = {}) {
  const { image, embedding } = await client.embed(await readFile(file), { ...fields, face_index: 0 });
  const { pack, version, accuracy_mode } = embedding;
  return {
    face: { pack, version, accuracy_mode, embedding: image.faces[0].embedding },
    faces: image.faces.length,
  };
}
