// Sends one match to URL (http://127.0.0.1:8080) and prints the status and the answer as one line of JSON.
//   KEY=… node deploy/image/visitor.mjs PHOTO PHOTO
// A program of its own: it is run in the container's network.
import { readFileSync } from 'node:fs';

const form = new FormData();
for (const [index, file] of process.argv.slice(2).entries())
  form.set(`image${index + 1}`, new Blob([readFileSync(file)]), 'photo');
const response = await fetch(`${process.env.URL ?? 'http://127.0.0.1:8080'}/API/v1.0/face/match/upload`, {
  method: 'POST',
  headers: { 'x-api-key': process.env.KEY },
  body: form,
});
process.stdout.write(`${JSON.stringify({ status: response.status, body: await response.json() })}\n`);
