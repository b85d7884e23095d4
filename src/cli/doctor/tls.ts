import { surveySettings } from '../../config.ts';
import { CertificateError, certificateFiles, readCertificate } from '../../tls/certificate.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';

const what = 'TLS';
const page = 'See docs/proxies.md';

/** Whether the service would speak TLS, with which certificate, and until when. */
export async function tls(): Promise<Finding[]> {
  const { tls_cert, tls_key } = surveySettings().config;
  const files = certificateFiles(tls_cert, tls_key);
  if (files === undefined) return [ok(what, 'off: the service speaks plain HTTP')];
  try {
    const { not_after_s, warnings } = readCertificate(files, Date.now());
    if (warnings.length > 0) return warnings.map((text) => warning(what, text, page));
    const end = new Date(not_after_s * 1000).toISOString();
    return [ok(what, `${files.cert} and its key, valid until ${end}`)];
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    return [wrong(what, error.message, page)];
  }
}
