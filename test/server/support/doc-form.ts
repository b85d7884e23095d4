import { hasYunet } from './doc-folder.ts';

/** The form in which a command of the docs is run. */
export interface Form {
  run: string;
  because: string;
  /** Exit codes that are right; 0 unless told otherwise. */
  codes?: readonly number[];
  /** What the output must show, where the exit code says little. */
  says?: RegExp;
  /** `project`: what it compiles for minutes is kept from one time to the next; else a clone of it. */
  where?: 'project';
  /** A reason not to run it here. */
  lacks?: string | undefined;
}

export const few = 'its real sets are labelled photos of thousands of people';
/** What comes of the few people of a scratch folder where a cohort is made of them. */
export const noCohort = {
  because: `${few}; of so few it makes no cohort, and says so`,
  codes: [1],
  says: /too few people/,
};

export const yunet = hasYunet
  ? undefined
  : 'the file of the pack yunet, which a developer brings, is not there';

/** As it stands, and what more is to say of it. */
export const standing = (run: string, more: Partial<Form> = {}): Record<string, Form> => ({
  [run]: { run, because: 'as it stands', ...more },
});
