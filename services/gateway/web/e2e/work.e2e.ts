import { text as textOf } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { api, stage } from './stage'
import { closed, visit } from './visitor'
import { en, say } from './words'

describe('a crawl', () => {
  it('is begun, watched to its end, looked into and exported', async () => {
    const { page, open } = await visit()
    await open('/crawls')
    await page.getByRole('button', { name: en.crawls.new }).first().click()
    const dialog = page.getByRole('dialog', { name: en.crawls.new })
    const urls = Array.from({ length: 6 }, (_, i) => `${stage.slow_site}/page-${i}`)
    await dialog.getByRole('textbox', { name: en.crawls.addresses }).fill(['not an address', ...urls].join('\n'))
    await dialog.getByText(say(en.crawls.line, { line: 1, problem: en.crawls.problems.scheme })).or(dialog.getByText(say(en.crawls.line, { line: 1, problem: en.crawls.problems.address }))).waitFor()
    await dialog.getByRole('textbox', { name: en.crawls.addresses }).fill([...urls, `${stage.site}/robots.txt?missing`].join('\n'))
    await dialog.getByRole('button', { name: en.crawls.start, exact: true }).click()
    await page.waitForURL(/\/crawls\/[^/]+$/)
    await page.getByRole('progressbar').first().waitFor()
    await page.getByText(en.crawls.ended.completed).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Page page-3' }).click()
    await page.getByRole('dialog').getByText('tells what only a page of this name can tell').waitFor()
    await page.keyboard.press('Escape')
    await closed(page)
    await page.getByRole('button', { name: en.crawls.export }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('menuitem').first().click()
    const text = await textOf(await (await download).createReadStream())
    for (const url of urls) expect(text).toContain(url)
    await open('/crawls')
    await page.getByRole('link', { name: /7/ }).first().waitFor()
  })

  it('is cancelled', async () => {
    const urls = Array.from({ length: 40 }, (_, i) => `${stage.slow_site}/slow-${i}`)
    const { task_id: task } = await api<{ task_id: string }>('POST', '/api/crawler/tasks', { urls, parallel: 1 })
    const { page, open } = await visit()
    await open(`/crawls/${task}`)
    await page.getByRole('button', { name: en.crawls.cancel, exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: en.crawls.cancelYes }).click()
    await page.getByText(en.crawls.ended.cancelled).waitFor({ state: 'attached' })
  })
})

// The smallest picture there is: one pixel.
const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

describe('files', () => {
  it('are uploaded, looked at, and deleted', async () => {
    const { page, open } = await visit()
    await open('/files/e2e-files')
    await page.locator('input[type=file]').first().setInputFiles([
      { name: 'table.csv', mimeType: 'text/csv', buffer: Buffer.from('part,size\ntip,40\n"base, wide",90\n') },
      { name: 'pixel.png', mimeType: 'image/png', buffer: pixel },
      { name: 'main.go', mimeType: 'text/plain', buffer: Buffer.from('package main\n\nfunc main() { println("forty") }\n') },
    ])
    await page.getByRole('button', { name: 'table.csv' }).or(page.getByRole('link', { name: 'table.csv' })).first().click()
    await page.getByRole('table').getByText('base, wide').waitFor()
    await open('/files/e2e-files')
    await page.getByRole('button', { name: 'pixel.png' }).or(page.getByRole('link', { name: 'pixel.png' })).first().click()
    await expect.poll(() => page.locator('img').evaluateAll((all) => all.some((img) => (img as HTMLImageElement).naturalWidth === 1))).toBe(true)
    await open('/files/e2e-files')
    await page.getByRole('button', { name: 'main.go' }).or(page.getByRole('link', { name: 'main.go' })).first().click()
    await page.getByText('println').first().waitFor()
    await open('/files/e2e-files')
    await page.getByRole('button', { name: say(en.files.actions, { name: 'main.go' }) }).click()
    await page.getByRole('menuitem', { name: en.app.delete }).click()
    await page.getByRole('dialog').getByRole('button', { name: en.app.delete }).click()
    await page.getByText(say(en.files.deleted, { name: 'main.go' })).first().waitFor()
    const left = await api<{ items: { name?: string; path: string }[] }>('GET', '/api/workspaces/e2e-files/files')
    expect(left.items.map((f) => f.path).sort()).toEqual(['pixel.png', 'table.csv'])
  })
})

describe('the playground', () => {
  it('runs a tool from its form', async () => {
    const { page, open } = await visit()
    await open('/tools/web_search')
    await page.getByRole('button', { name: en.tools.run, exact: true }).click()
    await page.getByText(en.tools.required).or(page.getByText(say(en.tools.short, { min: 2 }))).first().waitFor()
    await page.getByRole('textbox', { name: 'query' }).fill('nanoclaws')
    await page.getByRole('button', { name: en.tools.run, exact: true }).click()
    await page.getByText('nanoclaws, result 1').first().waitFor()
  })

  it('asks before a tool that changes something, and runs exactly what was shown', async () => {
    const { page, open } = await visit()
    await open('/tools/hands__note')
    await page.getByRole('textbox', { name: 'name' }).fill('from the playground')
    await page.getByRole('button', { name: en.tools.run, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('from the playground').waitFor()
    await dialog.getByRole('button', { name: en.tools.confirm, exact: true }).click()
    await page.getByText(/^count:\s*1$/).first().waitFor()
    const looked = await api<{ result?: { content: string } }>('POST', '/api/tools/hands__look/invoke', { arguments: { name: 'from the playground' } })
    expect(JSON.stringify(looked)).toContain('count\\":1')
  })
})
