import { describe, expect, it } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import en from './i18n/en'
import { routes } from './router'

describe('routes', () => {
  const router = createRouter({ history: createMemoryHistory(), routes })

  it.each([
    ['/', 'home', {}],
    ['/c/abc', 'conversation', { id: 'abc' }],
    ['/runs/r1', 'run', { id: 'r1' }],
    ['/crawls', 'crawls', {}],
    ['/crawls/t1', 'crawl', { id: 't1' }],
    ['/tools', 'tools', {}],
    ['/tools/web_search', 'tools', { name: 'web_search' }],
    ['/files/default', 'files', { workspace: 'default' }],
    ['/usage', 'usage', {}],
    ['/tokens', 'tokens', {}],
    ['/models', 'models', {}],
    ['/signin', 'signin', {}],
    ['/no/such/page', 'nowhere', {}],
    ['/c/', 'nowhere', {}],
  ])('%s is the page %s', (path, name, params) => {
    const found = router.resolve(path)
    expect(found.name).toBe(name)
    expect(found.params).toMatchObject(params)
  })

  it('every page has a title in words', () => {
    for (const route of routes) {
      const [section, key] = String(route.meta?.title).split('.') as [keyof typeof en, string]
      expect((en[section] as Record<string, unknown>)[key], route.path).toBeTypeOf('string')
    }
  })
})
