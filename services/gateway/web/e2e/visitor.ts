import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import { stage } from './stage'

/** Visitor is somebody with a browser of their own. */
export interface Visitor {
  page: Page
  /** open goes to a page of the app. */
  open: (path: string) => Promise<void>
  /** another is a second tab of the same browser. */
  another: () => Promise<Page>
}

export interface Visit extends BrowserContextOptions {
  /** address of another server, with its token; the stage's otherwise. */
  address?: string
  /** nobody: without signing in. */
  nobody?: boolean
  language?: 'en' | 'zh'
  theme?: 'light' | 'dark'
  phone?: boolean
}

// How long a thing may take to appear; a scenario that works never waits for it.
const patience = Number(process.env.E2E_PATIENCE ?? 60_000)

let browser: Browser
const ends: ((failed: string) => Promise<void>)[] = []

beforeAll(async () => {
  browser = await chromium.connect(inject('browser'))
})
afterAll(() => browser.close())

// A scenario fails when anything asked for something outside, opened a dialog of
// the browser, ran what was smuggled in, or failed without being handled.
afterEach(async ({ task }) => {
  const failed = task.result?.state === 'fail' ? task.name : ''
  for (const end of ends.splice(0)) await end(failed)
})

/** closed waits until a dialog is gone and the focus is where it came from. */
export async function closed(page: Page): Promise<void> {
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate(() => document.activeElement !== document.body)).toBe(true)
}

interface Watched {
  pwned?: unknown
  refused?: string[]
}

// listen writes down what the policy of the page refused. What is parsed into a
// document of its own, to be cleaned, is refused there too, and does no harm: then
// the target is the document. Diagrams are measured outside the app, where their
// styles are refused.
function listen(): void {
  const watched = window as Watched
  watched.refused = []
  document.addEventListener('securitypolicyviolation', (event) => {
    const style = event.effectiveDirective.startsWith('style-src')
    const element = event.target instanceof Element ? event.target : undefined
    const inert = event.effectiveDirective.endsWith('-attr') && !element
    if (inert || (style && !element?.closest('#app'))) return
    watched.refused?.push(`${event.effectiveDirective} ${event.blockedURI} ${element?.outerHTML.slice(0, 200) ?? ''}`)
  })
}

/** visit opens a browser that is signed in. */
export async function visit(v: Visit = {}): Promise<Visitor> {
  const { address, nobody, language = 'en', theme = 'light', phone, ...more } = v
  const context = await browser.newContext({
    locale: language === 'zh' ? 'zh-CN' : 'en-GB',
    colorScheme: theme,
    reducedMotion: 'reduce',
    viewport: phone ? { width: 390, height: 844 } : { width: 1280, height: 860 },
    ...(phone ? { hasTouch: true, isMobile: true } : {}),
    ...more,
  })
  context.setDefaultTimeout(patience)
  const origin = new URL(address ?? stage.app).origin
  const wrong: string[] = []
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin + '/') && !/^(data|blob|about):/.test(url)) wrong.push(`asked for ${url}`)
  })
  // Nothing outside may be reached even when it is asked for.
  await context.route((url) => url.origin !== origin && /^https?:$/.test(url.protocol), (route) => route.abort())
  context.on('dialog', (dialog) => {
    if (dialog.type() !== 'beforeunload') wrong.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss().catch(() => {})
  })
  context.on('weberror', (error) => wrong.push(`not handled: ${error.error().message}`))
  await context.addInitScript(listen)
  ends.push(async (failed) => {
    for (const [i, page] of context.pages().entries()) {
      if (failed) await page.screenshot({ path: `${stage.screenshots}/failed/${failed.replace(/\W+/g, '-')}-${i}.png` }).catch(() => undefined)
      const { pwned, refused } = await page.evaluate(() => ({ pwned: (window as Watched).pwned, refused: (window as Watched).refused })).catch((): Watched => ({}))
      if (pwned !== undefined) wrong.push(`${page.url()} was taken over`)
      for (const one of refused ?? []) wrong.push(`${page.url()} tried ${one}`)
    }
    await context.close()
    expect(wrong).toEqual([])
  })
  const page = await context.newPage()
  if (!nobody) await page.goto(address ?? `${stage.app}/?token=${stage.token}`)
  return {
    page,
    open: async (path) => void (await page.goto(origin + path)),
    another: () => context.newPage(),
  }
}
