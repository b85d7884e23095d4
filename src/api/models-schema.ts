import type { FieldName } from '../http/fields.ts';
import type { modelsBody } from '../http/handlers/models.ts';
import { list, number, object, optional, ref, type Schema, text, tuple, word } from './schema.ts';

/** The 200 answer of GET models. */

type ModelsBody = ReturnType<typeof modelsBody>;
type Calibration = ModelsBody['calibration']['fast'];

const sha256 = { pattern: '^[0-9a-f]{64}$' };

const roles: Record<ModelsBody['files'][number]['role'], string> = {
  detector: 'finds faces',
  landmarks: 'finds eyes, nose and mouth',
  embedder: 'turns a face into a vector',
  cohort: 'normalises similarities, so that one threshold serves different groups of people',
  human: 'tells human faces from those of animals',
};

const sources: Record<ModelsBody['source']['kind'], string> = {
  npm: 'a package of the npm registry',
  project: 'a project that publishes its files elsewhere',
};

const calibration = object<Calibration>(
  {
    fitted_on: text('The pairs of pictures that the table was made from'),
    points: list(
      tuple(
        [
          number('Similarity, normalised as the model pack does it'),
          number('False-match rate', { exclusiveMinimum: 0, maximum: 1 }),
        ],
        'A similarity, and how often two different people come out at least this alike',
      ),
      'Rising similarities, falling rates; between points the logarithm of the rate is linear',
      { minItems: 2 },
    ),
    floor: number(
      'The lowest false-match rate that the people of the fit can show; below it an answer is `extrapolated`',
      { exclusiveMinimum: 0, maximum: 0.1 },
    ),
  },
  'How a similarity becomes a false-match rate, and that a percentage.',
);

const models = optional(
  ['human'],
  object<ModelsBody>(
    {
      pack: text('Name of the model pack'),
      version: text('Its version; answers may differ between versions'),
      description: text('What it consists of'),
      source: object<ModelsBody['source']>(
        {
          kind: word(sources, 'What it is.'),
          name: text('Its name'),
          version: text('Its version or commit'),
          licence: text('Its licence, as stated by it'),
        },
        "Where the pack's own nets come from",
      ),
      files: list(
        object<ModelsBody['files'][number]>({
          role: word(roles, 'What the net is for.'),
          file: text('Name of the file'),
          pack: text('The model pack that it belongs to: this one, or the one that it was taken over from'),
          licence: text('Its licence'),
          sha256: text('SHA-256 of the file that is loaded', sha256),
          source_sha256: text('SHA-256 of the file as its authors published it', sha256),
        }),
        'The nets, in the order in which a picture meets them',
      ),
      min_det_score: number(`Default of the form field \`${'min_det_score' satisfies FieldName}\``, {
        minimum: 0,
        maximum: 1,
      }),
      human: object<NonNullable<ModelsBody['human']>>(
        {
          bar: number('Faces whose `human_score` is below are dropped, as if they had not been found'),
          fitted_on: text('The pictures that it was made from'),
        },
        'How human faces are told from those of animals; absent where the pack takes every face',
      ),
      calibration: object<ModelsBody['calibration']>(
        { fast: ref('schemas', 'Calibration'), balance: ref('schemas', 'Calibration') },
        'One table for each accuracy mode',
      ),
    },
    'The model pack that is loaded.',
  ),
);

export const modelsSchemas: Readonly<Record<string, Schema>> = { Models: models, Calibration: calibration };
