import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { demoPage } from '../../src/demo/page.ts';

const { html, headers } = demoPage(readConfig({}));
const all = (pattern: RegExp, text = html) => [...text.matchAll(pattern)].map(([, found]) => found!);
const settingsOf = (page: string) => JSON.parse(all(/id="settings">(.*?)<\/script>/g, page)[0]!);

describe('the demo page', () => {
  test('is let by its policy to run its script and to have its style, and nothing else', () => {
    const policy = new Map(headers).get('Content-Security-Policy')!.split('; ');
    const hash = (text: string) => createHash('sha256').update(text).digest('base64');
    const [script] = all(/<script type="module">(.*?)<\/script>/gs);
    const [style] = all(/<style>(.*?)<\/style>/gs);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'sha256-${hash(script!)}'`);
    expect(policy).toContain(`style-src 'sha256-${hash(style!)}'`);
    expect(policy).toContain("connect-src 'self'");
    expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
  });

  test('may use the camera, and sends no referrer', () => {
    expect(headers.slice(1)).toEqual([
      ['Permissions-Policy', 'camera=(self), microphone=(), geolocation=()'],
      ['Referrer-Policy', 'no-referrer'],
    ]);
  });

  test('has no address of elsewhere, no handler and no style in its markup', () => {
    const markup = html.replace(/<style>.*?<\/style>|<script.*?<\/script>/gs, '');
    expect(markup).not.toMatch(/https?:|\son\w+=|\sstyle=|javascript:|\{n\}/i);
    expect(html).not.toMatch(/@import|url\(/);
  });

  test('names only the endpoints that are switched on, and the limits of its server', () => {
    expect(Object.keys(settingsOf(html).paths).sort()).toEqual(readConfig({}).endpoints.toSorted());
    const own = readConfig({ FACEMATCH_ENDPOINTS: 'match,demo', FACEMATCH_MAX_BODY_BYTES: '4096' });
    const settings = settingsOf(demoPage(own).html);
    expect(settings.paths).toEqual({ match: '/API/v1.0/face/match/upload', demo: '/API/v1.0/demo' });
    expect(settings.limits).toEqual({ max_body_bytes: 4096, targets: 16, max_image_bytes: 10_485_760 });
  });

  test('offers the options of a match, but no face indices and nothing that needs liveness nets', () => {
    const { threshold_percent, options } = settingsOf(html);
    expect(threshold_percent.default).toBe(70);
    expect(options).toMatchObject({ use_heuristic_fallback: { default: true }, min_det_score: { max: 1 } });
    expect(Object.keys(options).filter((name) => /index|live|attack|threshold|mode/.test(name))).toEqual([]);
  });
});
