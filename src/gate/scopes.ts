/** What a key may be used for; each endpoint asks for one. */
export const scopes = ['match:basic', 'match:advanced'] as const;

export type Scope = (typeof scopes)[number];
