import { describe, expect, it } from 'vitest'
import { stage } from './stage'
import { closed, visit } from './visitor'
import { en, say, zh } from './words'

describe('who may', () => {
  it('a browser that nobody knows is told how to sign in, and goes on where it wanted to', async () => {
    const { page, open } = await visit({ nobody: true })
    await open('/usage')
    await page.getByRole('heading', { name: en.signin.title }).waitFor()
    await page.getByRole('button', { name: en.signin.check }).click()
    await page.getByText(en.signin.still).waitFor()
    const other = await page.context().newPage()
    await other.goto(`${stage.app}/?token=${stage.token}`)
    await page.getByRole('button', { name: en.signin.check }).click()
    await page.getByRole('heading', { name: en.usage.title }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/usage')
  })

  it('a token is made, shown once, and revoked', async () => {
    const { page, open, another } = await visit()
    await open('/tokens')
    await page.getByRole('button', { name: en.tokens.new }).click()
    await page.getByRole('button', { name: en.tokens.create }).click()
    await page.getByText(en.tokens.nameMissing).waitFor()
    await page.getByRole('textbox', { name: en.tokens.name }).fill('backup script')
    await page.getByRole('button', { name: en.tokens.create }).click()
    const made = page.getByRole('dialog', { name: say(en.tokens.made, { name: 'backup script' }) })
    const token = (await made.locator('code').innerText()).trim()
    expect(token).toMatch(/^nc_\w{20,}/)
    const use = () => fetch(`${stage.app}/api/conversations`, { headers: { Authorization: `Bearer ${token}` } })
    expect((await use()).status).toBe(200)
    await made.getByRole('button', { name: en.tokens.done }).click()
    await closed(page)
    await page.getByText('backup script').waitFor()
    const second = await another()
    await second.goto(`${stage.app}/tokens`)
    await second.getByText('backup script').waitFor()
    for (const tab of [page, second]) expect(await tab.content()).not.toContain(token)
    await page.bringToFront()
    await page.getByRole('button', { name: say(en.tokens.actions, { name: 'backup script' }) }).click()
    await page.getByRole('menuitem', { name: en.tokens.revoke }).click()
    await page.getByRole('dialog').getByRole('button', { name: en.tokens.revoke }).click()
    await page.getByText(say(en.tokens.revoked, { name: 'backup script' })).first().waitFor()
    expect((await use()).status).toBe(401)
  })

  it('what belongs to somebody else is not found, and neither is what never was', async () => {
    const { page, open } = await visit()
    for (const id of [stage.foreign.conversation, 'cnv_00000000000000000000000000']) {
      await open(`/c/${id}`)
      await page.getByText(en.chat.gone).waitFor()
    }
    for (const id of [stage.foreign.run, 'run_00000000000000000000000000']) {
      await open(`/runs/${id}`)
      await page.getByText(en.trace.missing).first().waitFor()
    }
    await open('/crawls/tsk_00000000000000000000000000')
    await page.getByText(en.problem.notFound).first().waitFor()
    await open('/nowhere/at/all')
    await page.getByRole('heading', { name: en.nowhere.title }).waitFor()
  })
})

describe('both languages', () => {
  it('the browser decides at first, then the choice, which is kept', async () => {
    const { page, open } = await visit({ language: 'zh' })
    await open('/crawls')
    await page.getByRole('heading', { name: zh.crawls.title }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN')
    await page.getByRole('button', { name: zh.app.language }).click()
    await page.getByRole('menuitemradio', { name: 'English' }).click()
    await page.getByRole('heading', { name: en.crawls.title }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: en.crawls.title }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    expect(await page.title()).toBe(`${en.nav.crawls} · NanoClaw`)
  })

  it('every page speaks both', async () => {
    for (const [language, words] of [['en', en], ['zh', zh]] as const) {
      const { page, open } = await visit({ language })
      for (const [path, title] of [['/tools', words.tools.title], ['/crawls', words.crawls.title], ['/files', words.files.title], ['/usage', words.usage.title], ['/models', words.models.title], ['/tokens', words.tokens.title]] as const) {
        await open(path)
        await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      }
    }
  })
})

describe('without a model', () => {
  it('the first page tells how to connect one, and what can be done without', async () => {
    const { page } = await visit({ address: stage.first_run })
    await page.getByRole('heading', { name: en.models.welcome.title }).waitFor()
    await page.getByRole('button', { name: en.models.again }).click()
    await page.getByText(en.models.again_none).waitFor()
    expect(await page.locator('input[type=password]').count()).toBe(0) // keys are never typed here
    await page.getByRole('link', { name: en.models.welcome.crawl }).first().click()
    await page.getByRole('heading', { name: en.crawls.title }).waitFor()
  })
})
