import { describe, expect, test } from 'vitest';
import { readConfig, settings, unknownVariables } from '../../src/config/config.ts';

describe('readConfig', () => {
  test('an empty environment gives the defaults of the contract', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      admin_host: '127.0.0.1',
      admin_port: 9090,
      keys_file: './keys.json',
      pack: 'default',
      deadline_ms: 10_000,
      upload_timeout_ms: 30_000,
      max_body_bytes: 20 * 1024 * 1024,
      max_image_bytes: 10 * 1024 * 1024,
      max_parts: 16,
      max_part_header_bytes: 8192,
      max_field_bytes: 1024,
      max_pixels: 64_000_000,
      picture_ms: 2000,
      min_side: 16,
      embedding_cache: 0,
      endpoints: ['match', 'match_advanced', 'match_many', 'detect', 'models', 'openapi', 'docs', 'demo'],
      cors_origins: [],
      trusted_hops: 0,
    });
  });

  test('the configuration cannot be changed afterwards', () => {
    const config = readConfig({ FACEMATCH_ENDPOINTS: 'match' });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.endpoints)).toBe(true);
  });

  test('every setting has a description, an expectation and a default that it accepts itself', () => {
    const config = readConfig({});
    for (const [name, setting] of Object.entries(settings)) {
      expect(setting.description, name).not.toBe('');
      const value = config[name as keyof typeof config];
      const text = String(value);
      // An empty list is written by leaving the variable out.
      if (text !== '') expect(setting.parse(text), name).toEqual(value);
    }
  });

  test.each([
    ['FACEMATCH_PORT', '0', 'port', 0],
    ['FACEMATCH_PORT', '65535', 'port', 65_535],
    ['FACEMATCH_HOST', '::', 'host', '::'],
    ['FACEMATCH_LOG_LEVEL', 'silent', 'log_level', 'silent'],
    ['FACEMATCH_ENDPOINTS', 'match, models,match', 'endpoints', ['match', 'models']],
    [
      'FACEMATCH_CORS_ORIGINS',
      'https://a.example,http://b.example:8080',
      'cors_origins',
      ['https://a.example', 'http://b.example:8080'],
    ],
    ['FACEMATCH_CORS_ORIGINS', '*', 'cors_origins', ['*']],
    ['FACEMATCH_PORT', '', 'port', 8080],
    ['FACEMATCH_PROVIDER', 'cuda, cpu', 'provider', ['cuda', 'cpu']],
  ])('%s=%s is taken', (variable, text, name, value) => {
    expect(readConfig({ [variable]: text })[name as keyof ReturnType<typeof readConfig>]).toEqual(value);
  });

  test.each([
    ['FACEMATCH_PORT', '65536'],
    ['FACEMATCH_PORT', '0x50'],
    ['FACEMATCH_PORT', '٨٠'],
    ['FACEMATCH_PORT', 'http'],
    ['FACEMATCH_HOST', ' localhost'],
    ['FACEMATCH_WORKERS', '0'],
    ['FACEMATCH_LOG_LEVEL', 'INFO'],
    ['FACEMATCH_ENDPOINTS', 'match,macth'],
    ['FACEMATCH_CORS_ORIGINS', 'example.org'],
    ['FACEMATCH_MAX_PARTS', '1'],
    ['FACEMATCH_IDLE_TIMEOUT_S', '961'],
    ['FACEMATCH_MAX_BODY_BYTES', '1000000000'],
    ['FACEMATCH_PROVIDER', 'CUDA'],
    ['FACEMATCH_PROVIDER', 'cpu,cuda'],
  ])('%s=%s stops the start with one line that names both', (variable, text) => {
    const read = () => readConfig({ [variable]: text });
    expect(read).toThrow(new RegExp(`^${variable}: expected .+ but received ${JSON.stringify(text)}$`));
  });

  test('bodies that fit the limit must fit the memory for uploads as well', () => {
    const env = { FACEMATCH_MAX_BODY_BYTES: '2000000', FACEMATCH_MAX_UPLOAD_BYTES: '1000000' };
    expect(() => readConfig(env)).toThrow(/FACEMATCH_MAX_UPLOAD_BYTES: expected at least/);
  });

  test.each([
    ['FACEMATCH_TLS_CERT', 'FACEMATCH_TLS_KEY'],
    ['FACEMATCH_TLS_KEY', 'FACEMATCH_TLS_CERT'],
  ])('%s alone names the other', (given, lacking) => {
    const read = () => readConfig({ [given]: 'x.pem' });
    expect(read).toThrow(`${lacking}: expected a file, because ${given} is set`);
  });

  test('a larger body limit raises the memory for uploads with it', () => {
    const config = readConfig({ FACEMATCH_MAX_BODY_BYTES: String(800 * 1024 * 1024) });
    expect(config.max_upload_bytes).toBe(config.max_body_bytes);
  });
});

test('a misspelt variable is noticed, a known one and a foreign one are not', () => {
  const env = {
    FACEMATCH_PROT: '1',
    FACEMATCH_PORT: '1',
    FACEMATCH_ADDON: 'x',
    FACEMATCH_UWS: 'x',
    HOME: 'x',
  };
  expect(unknownVariables(env)).toEqual(['FACEMATCH_PROT']);
});
