/** What can be read of a page, in the order in which it is offered. */
export const extractTypes = ['text', 'markdown', 'links', 'images', 'structured', 'tables', 'metadata', 'feed', 'full_text', 'raw'] as const
