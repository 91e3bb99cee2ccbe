import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { stage } from './stage'
import { looks, views, type View } from './views'
import { visit } from './visitor'
import { en } from './words'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(source)
  const found = await page.evaluate(async (tags) => {
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(document, { runOnly: tags })
    return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(' ')}: ${n.html.slice(0, 160)}: ${n.any.map((c) => c.message).join('; ').slice(0, 160)}`))
  }, rules)
  return found
}

// Each view is also photographed, to be looked at by people: bin/screenshots.
describe('WCAG 2.2 AA', () => {
  let all: View[]
  beforeAll(async () => {
    all = await views()
  })

  for (const look of looks) {
    it(`every view, ${look.name}`, async () => {
      const wrong: Record<string, string[]> = {}
      const visitors = { '': await visit(look), first: await visit({ ...look, address: all.find((v) => v.address)?.address }) }
      for (const view of all) {
        const { page, open } = visitors[view.address ? 'first' : '']
        await open(view.path)
        await page.locator(view.shown).first().waitFor()
        await page.waitForLoadState('networkidle')
        await page.screenshot({ path: `${stage.screenshots}/${view.name}-${look.name}.png` })
        const found = await violations(page)
        if (look.phone) {
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
          if (wide > 0) found.push(`the page is ${wide} pixels wider than the screen`)
        }
        if (found.length > 0) wrong[view.name] = found
      }
      expect(wrong).toEqual({})
    })
  }

  it('what opens: commands, keys, dialogs, folds, the menu of a phone', async () => {
    const { page, open } = await visit()
    await open('/crawls')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: en.app.commandsHint }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: en.keys.title }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: en.crawls.new }).first().click()
    await page.getByRole('dialog').waitFor()
    expect(await violations(page)).toEqual([])
    const chat = all.find((v) => v.name === 'chat')
    await open(chat?.path ?? '')
    await page.locator(chat?.shown ?? '').first().waitFor()
    for (const row of await page.locator('[data-tool] > button').all()) await row.click()
    await page.waitForLoadState('networkidle')
    expect(await violations(page)).toEqual([])
    const phone = await visit({ phone: true, theme: 'dark' })
    await phone.page.getByRole('button', { name: en.app.menu }).click()
    await phone.page.getByRole('dialog').waitFor()
    expect(await violations(phone.page)).toEqual([])
  })
})
