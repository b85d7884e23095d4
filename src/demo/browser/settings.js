import { byId } from './dom.js';

/**
 * What the server wrote into the page: endpoints that are on, fields, limits.
 * @type {import('./types.ts').Settings}
 */
export const settings = JSON.parse(byId('settings').textContent ?? '');
