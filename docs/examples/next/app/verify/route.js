// Next.js (App Router): POST /verify with a form that has the files `document` and `selfie`.
// FACEMATCH_URL and FACEMATCH_KEY are environment variables of the server. Without the prefix NEXT_PUBLIC_, Next.js never
// sends them to the browser.

export const runtime = 'nodejs';

const maxBytes = 20 * 1024 ** 2;

export async function POST(request) {
  const { FACEMATCH_URL = 'http://127.0.0.1:8080', FACEMATCH_KEY = '' } = process.env;
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (!(length <= maxBytes)) return Response.json({ error: 'send at most 20 MiB' }, { status: 413 });
  const form = await request.formData().catch(() => undefined);
  const [document, selfie] = [form?.get('document'), form?.get('selfie')];
  if (!(document instanceof Blob && selfie instanceof Blob))
    return Response.json({ error: 'send the files "document" and "selfie"' }, { status: 400 });

  const body = new FormData();
  body.append('image1', document, 'document');
  body.append('image2', selfie, 'selfie');
  body.append('auto_pair_best', 'false');
  const response = await fetch(new URL('/API/v1.0/face/match/upload/advanced', FACEMATCH_URL), {
    method: 'POST',
    headers: { 'x-api-key': FACEMATCH_KEY },
    body,
    cache: 'no-store',
    signal: AbortSignal.timeout(45_000),
  }).catch(() => undefined);
  if (!response) return Response.json({ error: 'the face service is not reachable' }, { status: 503 });
  const result = await response.json();
  if (response.ok) return Response.json({ verified: result.match });
  const isAboutImage = [413, 415, 422].includes(response.status);
  if (!isAboutImage) console.error(response.status, result.code, result.request_id);
  return Response.json(
    { error: isAboutImage ? result.detail : 'please try again later' },
    { status: isAboutImage ? 422 : 503 },
  );
}
