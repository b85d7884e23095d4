import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { projectPath, samples } from '../config/paths.ts';
import { endpoints } from '../endpoints/index.ts';
import { maxPhotos } from '../endpoints/match-person.ts';
import { maxTargets, optionEntries, optionRules } from '../endpoints/options.ts';
import type { Headers } from '../http/exchange.ts';
import { hashOf, policyOf } from '../http/responses.ts';
import type { Settings } from './browser/types.ts';

/**
 * Returns the demo page: HTML, style and script in one document. Only the sample photos need more requests. Throws
 * an Error if `npm run setup` has not built the page.
 */
export function demoPage(config: Config): { html: string; headers: Headers } {
  const [markup, pageStyle, liveStyle, script] = ['page.html', 'page.css', 'live.css', 'main.js'].map(
    (name) => readFileSync(projectPath(`dist/src/demo/browser/${name}`), 'utf8'),
  ) as [string, string, string, string];
  const style = pageStyle + liveStyle;
  // A "<" could begin the tag that ends this element.
  const settings = JSON.stringify(settingsOf(config)).replaceAll('<', '\\u003c');
  const html = markup
    .replace(
      /<template>(.*?)<\/template>/s,
      (_, slot: string) => slot.replaceAll('{n}', '1') + slot.replaceAll('{n}', '2'),
    )
    .replace('<style></style>', () => `<style>${style}</style>`)
    .replace('>{}</script>', () => `>${settings}</script>`)
    .replace('<script type="module"></script>', () => `<script type="module">${script}</script>`);
  return {
    html,
    headers: [
      [
        'Content-Security-Policy',
        policyOf(
          `script-src ${hashOf(script)}`,
          `style-src ${hashOf(style)}`,
          // Previews are blobs of the page, so blob: is allowed.
          'img-src blob: data:',
          // The script inserts no HTML.
          "require-trusted-types-for 'script'",
          "trusted-types 'none'",
        ),
      ],
      ['Permissions-Policy', 'camera=(self), microphone=(), geolocation=()'],
      ['Referrer-Policy', 'no-referrer'],
    ],
  };
}

function settingsOf(config: Config): Settings {
  const { threshold_percent, accuracy_mode } = optionRules;
  // The page omits the face indices, because a click sets them, and the liveness options, which few packs support.
  const shown = optionEntries.filter(
    ([name, { endpoints, liveness }]) =>
      endpoints.includes('match_advanced') &&
      !['threshold_percent', 'accuracy_mode'].includes(name) &&
      !name.endsWith('face_index') &&
      !liveness,
  );
  const open = endpoints.filter(({ id }) => config.endpoints.includes(id));
  return {
    paths: Object.fromEntries(open.map(({ id, path }) => [id, path])),
    fields: Object.fromEntries(open.map((one) => [one.id, 'fields' in one ? Object.keys(one.fields) : []])),
    threshold_percent,
    accuracy_mode,
    options: Object.fromEntries(shown),
    limits: {
      max_body_bytes: config.max_body_bytes,
      max_image_bytes: config.max_image_bytes,
      max_pixels: config.max_pixels,
      targets: maxTargets,
      photos: maxPhotos.image1,
    },
    samples: samples.every((file) => existsSync(file)),
  };
}
