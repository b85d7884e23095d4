import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { surveySettings } from '../../config.ts';
import { KeyFileError, readKeyFile } from '../../gate/key-file.ts';
import { statusOf } from '../../gate/key-record.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';

const what = 'key file';

/** Where it is, whether it can be used, and how many keys it has; never a key, not even an id. */
export async function keyFile(): Promise<Finding[]> {
  const file = resolve(surveySettings().config.keys_file);
  try {
    const records = readKeyFile(file);
    const usable = records.filter((record) => ['active', 'retiring'].includes(statusOf(record, Date.now())));
    const mode = (statSync(file).mode & 0o777).toString(8).padStart(3, '0');
    const value = `${file}, mode ${mode}, ${usable.length} usable of ${records.length} keys`;
    return [usable.length > 0 ? ok(what, value) : warning(what, value, create)];
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    const finding = error.missing ? warning : wrong;
    return [finding(what, `${file} ${error.reason}`, error.missing ? create : error.remedy)];
  }
}

const create = 'npx facematch keys create --name NAME';
