/** scopes are what a token may be allowed, everything last. */
export const scopes = ['chat', 'tools', 'search', 'fetch', 'crawl', 'files', 'code', 'usage', 'tokens', '*'] as const
export type Scope = (typeof scopes)[number]

/** usual is what a new token is allowed unless somebody says otherwise. */
export const usual: readonly Scope[] = ['chat', 'tools', 'search', 'fetch', 'crawl', 'files', 'usage']
