interface Config {
  max_upload_bytes: number;
  max_body_bytes: number;
  tls_cert: string;
  tls_key: string;
}

/** What settings must be to each other: each answers its faults, as src/config.ts words them. */
export const relations: readonly ((config: Config) => string[])[] = [
  ({ max_upload_bytes, max_body_bytes }) =>
    max_upload_bytes >= max_body_bytes
      ? []
      : [
          `FACEMATCH_MAX_UPLOAD_BYTES: expected at least FACEMATCH_MAX_BODY_BYTES (${max_body_bytes}) but received "${max_upload_bytes}"`,
        ],
  ({ tls_cert, tls_key }) => {
    if ((tls_cert === '') === (tls_key === '')) return [];
    const [lacking, given] = tls_key === '' ? ['KEY', 'CERT'] : ['CERT', 'KEY'];
    return [`FACEMATCH_TLS_${lacking}: expected a file, because FACEMATCH_TLS_${given} is set`];
  },
];
