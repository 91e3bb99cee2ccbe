import { beforeAll, describe, expect, it } from 'vitest'
import { hostile } from '@/markdown/hostile'
import { api, ask, begin, stage } from './stage'
import { visit, type Visitor } from './visitor'
import { en } from './words'

// Everything that hostile texts can come through: none may run anything, ask
// anybody outside for anything, or open a dialog; visit() watches for that.

// settle lets everything that loads late come, diagrams and formulas too, and
// touches what waits for a pointer.
async function settle({ page }: Visitor): Promise<void> {
  await page.waitForLoadState('networkidle')
  for (const link of await page.locator('main a, main [tabindex="0"]').all()) await link.hover({ timeout: 1000, force: true }).catch(() => undefined)
  await page.waitForLoadState('networkidle')
  expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined()
  const foreign = await page.evaluate(() => ({
    // Nothing of a text may become more than text.
    elements: [...document.querySelectorAll('main :is(script, iframe, object, embed, base, meta, link, style, form[action], video, audio, marquee, template)')].map((e) => e.outerHTML.slice(0, 200)),
    links: [...document.querySelectorAll('main a[href]')].map((a) => a.getAttribute('href') ?? '').filter((href) => !/^(https?:|mailto:|\/|#)/i.test(href)),
    handlers: [...document.querySelectorAll('main *')].flatMap((e) => [...e.attributes].filter((a) => /^on/i.test(a.name)).map((a) => `${e.tagName} ${a.name}`)),
    images: [...document.images].map((i) => i.src).filter((src) => !src.startsWith(location.origin) && !/^(data|blob):/.test(src)),
  }))
  expect(foreign).toEqual({ elements: [], links: [], handlers: [], images: [] })
}

describe('hostile texts', () => {
  let said: string
  beforeAll(async () => {
    expect(hostile.length).toBeGreaterThanOrEqual(40)
    said = await begin('Hostile words')
    for (const { text } of hostile) await ask(said, `[repeat]\n\n${text}`)
  })

  it('as what a model says, stored', async () => {
    const visitor = await visit()
    await visitor.open(`/c/${said}`)
    await visitor.page.locator('[data-answer]').last().waitFor()
    // The list shows what is near: go over all of it.
    for (let i = 0; i < 60; i++) {
      await visitor.page.mouse.wheel(0, -1500)
      await visitor.page.evaluate(() => new Promise(requestAnimationFrame))
    }
    await settle(visitor)
  })

  it('as what a model says while it is written', async () => {
    const visitor = await visit()
    const { page } = visitor
    await page.getByRole('textbox', { name: en.chat.write, exact: true }).fill(`[repeat]\n\n${hostile.map((h) => h.text).join('\n\n')}`)
    await page.getByRole('button', { name: en.chat.send, exact: true }).click()
    await page.locator('[data-answer][data-status=completed]').waitFor()
    await settle(visitor)
  })

  it('as thoughts, arguments and results of tools', async () => {
    const id = await begin('Hostile tools')
    for (const { text } of hostile.slice(0, 40)) await ask(id, `[tool] ${text}`)
    await ask(id, `[nobody] ${hostile[3]?.text}`)
    const visitor = await visit()
    await visitor.open(`/c/${id}`)
    await visitor.page.locator('[data-tool]').last().waitFor()
    for (const fold of (await visitor.page.locator('main [aria-expanded=false]').all()).slice(0, 40)) await fold.click({ timeout: 1000 }).catch(() => undefined)
    await settle(visitor)
  })

  it('as pages that tools have read, and as crawled ones', async () => {
    const id = await begin('Hostile pages')
    const urls = hostile.map(({ text }) => `${stage.hostile}?text=${encodeURIComponent(text)}`)
    for (const url of urls.slice(0, 12)) await ask(id, url)
    const { task_id: task } = await api<{ task_id: string }>('POST', '/api/crawler/tasks', { urls: urls.slice(0, 50), parallel: 5, extract_type: 'structured' })
    const visitor = await visit()
    const { page, open } = visitor
    await open(`/c/${id}`)
    await page.locator('[data-tool=fetch_page]').last().waitFor()
    for (const row of await page.locator('[data-tool=fetch_page] > button').all()) await row.click()
    await settle(visitor)
    await open(`/crawls/${task}`)
    await page.getByText(en.crawls.ended.completed).waitFor({ state: 'attached' })
    await settle(visitor)
    for (let i = 0; i < 8; i++) {
      await page.getByRole('table').getByRole('button').nth(i).click()
      await settle(visitor)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
  })

  it('as titles, names of files and their content, and words of failures', async () => {
    const visitor = await visit()
    const { page, open } = visitor
    for (const { text } of hostile) await api('PATCH', `/api/conversations/${await begin()}`, { title: text.replace(/\s+/g, ' ').slice(0, 200) })
    for (const [i, { text }] of hostile.entries()) {
      const form = new FormData()
      const name = text.replace(/[/\\\s\0]+/g, ' ').trim().slice(0, 80) || 'x'
      form.append('path', name)
      form.append('file', new Blob([text]), i % 2 ? 'x.svg' : 'x.html')
      await api('POST', '/api/workspaces/hostile/files', form).catch(() => undefined) // some names are refused
    }
    for (const [name, text] of [['page.html', '<script>parent.pwned=1</script>'], ['picture.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="parent.pwned=1"><script>parent.pwned=1</script></svg>'], ['notes.md', hostile.map((h) => h.text).join('\n\n')], ['table.csv', `a,b\n"${hostile[3]?.text.replaceAll('"', '""')}",=1+1\n`]] as const) {
      const form = new FormData()
      form.append('file', new Blob([text]), name)
      await api('POST', '/api/workspaces/hostile/files', form)
    }
    await open('/')
    await settle(visitor)
    await open('/files/hostile')
    await page.getByText('picture.svg').first().waitFor()
    await settle(visitor)
    for (const name of ['page.html', 'picture.svg', 'notes.md', 'table.csv']) {
      await open('/files/hostile')
      await page.getByRole('button', { name }).or(page.getByRole('link', { name })).first().click()
      await settle(visitor)
    }
    const id = await begin('Hostile failures')
    for (const { text } of hostile.slice(0, 8)) await ask(id, `[refuse] ${text}`)
    await open(`/c/${id}`)
    await page.locator('[data-answer]').last().waitFor()
    await settle(visitor)
    for (const path of [`/c/${encodeURIComponent(hostile[3]?.text ?? '')}`, `/tools/${encodeURIComponent(hostile[3]?.text ?? '')}`, `/runs/${encodeURIComponent(hostile[6]?.text ?? '')}`]) {
      await open(path)
      await settle(visitor)
    }
  })
})
