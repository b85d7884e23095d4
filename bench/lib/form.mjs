// A multipart/form-data body as one buffer.

export const boundary = 'facematch-bench-boundary';
export const content_type = `multipart/form-data; boundary=${boundary}`;

/** Bytes become file parts, text becomes text parts, an array repeats its field. */
export function form(fields) {
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((item) => {
      const file = typeof item === 'string' ? '' : `; filename="${name}.bin"`;
      return [
        Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`),
        Buffer.from(item),
        Buffer.from('\r\n'),
      ];
    }),
  );
  return { body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]), content_type };
}
