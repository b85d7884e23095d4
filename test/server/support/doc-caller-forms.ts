import { type Form, few, noCohort, standing, yunet } from './doc-form.ts';

/** Forms of what is typed by those who use the command line or call the server; the others are in doc-forms.ts. */

const anyPort = 'another server may have the ports; what it says of them has tests of its own';

const heldOut: Form = {
  run: 'npx facematch eval lfw=PAIRS.tsv:DIR rmfd=PAIRS.tsv:DIR --held-out-cohort',
  because: few,
};
const fit: Form = { run: 'npx facematch calibrate staff=DIR --check', ...noCohort };
const refit: Form = {
  run: 'FACEMATCH_PACK=./fitted-pack npx facematch calibrate lfw=DIR rmfd=DIR --without-people DIR --check --write',
  ...noCohort,
};
const doctor: Form = {
  run: 'FACEMATCH_PORT=0 FACEMATCH_ADMIN_PORT=0 facematch doctor',
  because: anyPort,
  says: /ok +native addon/,
};
/** With the id of a key made for it, in place of the one that is shown. */
const withKey = (command: string): Record<string, Form> => ({
  [command]: {
    run: command.replace('4fQ0ZtXy81Ab', '$(facematch keys create --name leaver | cut -c 4-15)'),
    because: 'the docs show an id that nobody has',
  },
});

export const callerForms: Readonly<Record<string, Form>> = {
  'npx facematch eval lfw=PAIRS.tsv:DIR rmfd=PAIRS.tsv:DIR --people ages=DIR london=DIR --held-out-cohort':
    heldOut,
  'npx facematch eval lfw=PAIRS.tsv:DIR rmfd=… --held-out-cohort --report DIR': heldOut,
  '… --mode fast': {
    run: 'npx facematch eval PAIRS.tsv --images DIR --mode fast',
    because: 'it goes on from the line above',
  },
  'facematch eval lfw=lfw/pairs.tsv:lfw/images --people ages=ages/images --held-out-cohort': heldOut,
  'facematch calibrate lfw=lfw/images ages=ages/images --without-people animals --check': fit,
  'facematch calibrate staff=staff/photos --write': {
    run: 'FACEMATCH_PACK=./fitted-pack facematch calibrate staff=staff/photos --write',
    ...noCohort,
  },
  ...withKey('facematch keys revoke 4fQ0ZtXy81Ab'),
  ...withKey('facematch keys rotate 4fQ0ZtXy81Ab'),
  ...withKey('facematch keys rotate 4fQ0ZtXy81Ab --grace 1h'),
  'facematch doctor': doctor,
  'npx facematch doctor': doctor,
  'facematch doctor --strict --json': {
    run: 'FACEMATCH_PORT=0 FACEMATCH_ADMIN_PORT=0 facematch doctor --strict --json',
    because: anyPort,
    codes: [0, 1],
    says: /"findings"/,
  },
  'FACEMATCH_PORT=80 facematch doctor': {
    run: 'FACEMATCH_PORT=80 FACEMATCH_ADMIN_PORT=0 facematch doctor',
    because: 'not everybody may listen on port 80, and it says so',
    codes: [0, 1],
    says: /^\w+ +port +127\.0\.0\.1:80\b/m,
  },
  'FACEMATCH_CONFIG=./facematch.json facematch config --check': {
    run: `echo '{"FACEMATCH_QUEUE": 4}' > facematch.json; FACEMATCH_CONFIG=./facematch.json facematch config --check`,
    because: 'the file is the reader’s own',
  },
  'source <(facematch completion bash)': {
    run: 'source <(facematch completion bash); complete -p facematch',
    because: 'of what the shell then knows',
  },
  'export FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=fm_…': {
    run: 'export FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=$KEY; docs/clients/match.sh one.jpg two.jpg',
    because: 'the key is left out; it is for the line below',
    says: /^match: \d+(?:\.\d)? %/m,
  },
  'npm install --ignore-scripts PATH/facematch': {
    run: 'mkdir tmp/caller && cd tmp/caller && npm init -y && npm install --ignore-scripts $CLONE && node -p "require(\'facematch/openapi.json\').openapi"',
    because: 'PATH is where the clone is; what the package gives can be had',
  },
  'npx facematch calibrate staff=DIR --check': fit,
  'npx facematch calibrate … --check': fit,
  'npx facematch calibrate … --check --write': refit,
  'npx facematch calibrate lfw-dev=DIR rmfd-dev=DIR ages-dev=DIR london-dev=DIR --without-people DIR --check --write':
    refit,
  'npx facematch calibrate lfw-dev=DIR rmfd-dev=DIR ages-dev=DIR london-dev=DIR --without-people negatives negatives-animals --check --write':
    refit,
  'FACEMATCH_PACK=yunet npx facematch eval …': {
    run: 'FACEMATCH_PACK=yunet npx facematch eval PAIRS.tsv --images DIR',
    because: few,
    lacks: yunet,
  },
  'FACEMATCH_PACK=yunet npx facematch calibrate lfw-dev=DIR rmfd-dev=DIR ages-dev=DIR london-dev=DIR --without-people DIR --check --write':
    { ...fit, run: 'FACEMATCH_PACK=yunet npx facematch calibrate lfw=DIR --check', lacks: yunet },
  ...standing('FACEMATCH_PACK=./my-pack npx facematch calibrate people=DIR --check --write', noCohort),
};
