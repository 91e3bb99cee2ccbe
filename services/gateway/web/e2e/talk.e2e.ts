import { describe, expect, it } from 'vitest'
import { answers, composer, conversationOf, ended, send, stored, words } from './chat'
import { begin, stage, world } from './stage'
import { visit } from './visitor'
import { en } from './words'

describe('a turn', () => {
  it('the demonstration works with five tools and shows each', async () => {
    const { page } = await visit({ address: stage.demo })
    await send(page, stage.demo_question)
    const answer = await ended(page)
    const tools = await answer.locator('[data-tool]').evaluateAll((rows) => rows.map((row) => [row.getAttribute('data-tool'), row.getAttribute('data-status')].join(' ')))
    for (const tool of ['web_search', 'fetch_page', 'crawl_batch', 'query_crawl_task', 'run_code']) expect(tools).toContain(`${tool} completed`)
    await answer.getByText('A nanoclaw is calibrated at the start of each session').waitFor()
    expect(await answer.innerText()).toContain('How to calibrate a nanoclaw: 6 of 117 words')
    await page.screenshot({ path: `${stage.screenshots}/demonstration.png` })
    await answer.locator('[data-tool=run_code] button').first().click()
    await answer.locator('[data-tool=run_code]').getByText('words on 7 pages').first().waitFor()
    expect(await answer.getByRole('region', { name: en.chat.sources }).or(answer.locator('a[href*="/calibration"]')).count()).toBeGreaterThan(0)
  })

  it('calls of one round stand side by side, and the answer has its table and its code', async () => {
    const { page } = await visit()
    await send(page, 'Please look into nanoclaws.')
    const answer = await ended(page)
    expect(await answer.locator('[data-tool]').count()).toBe(3)
    await answer.getByRole('table').getByText('40 nm').waitFor()
    await answer.getByText('println').waitFor()
    const [kept] = await stored(conversationOf(page))
    expect(kept?.calls).toEqual(['web_search', 'fetch_page', 'hands__look'])
  })

  it('is stopped in the middle of a tool', async () => {
    await world.hold('slow')
    const { page } = await visit()
    await send(page, 'Please tally slowly.')
    await world.held('slow')
    await page.locator('[data-tool=hands__tally]').waitFor()
    await page.getByRole('button', { name: en.chat.stop, exact: true }).click()
    const answer = await ended(page, 'cancelled')
    await answer.getByText(en.chat.cancelled).waitFor()
    await answer.locator('[data-tool=hands__tally]').and(page.locator('[data-status=cancelled], [data-status=unknown], [data-status=error]')).waitFor()
    await world.release('slow')
    await page.reload()
    await (await ended(page, 'cancelled')).getByText('I will count it.').waitFor()
    await send(page, 'And now?')
    await ended(page)
  })

  it('says so when a tool was denied', async () => {
    const { page } = await visit()
    await send(page, 'Please note it down.')
    const answer = await ended(page)
    await answer.locator('[data-tool=hands__note][data-status=denied]').waitFor()
    await answer.getByText(en.toolCall.status.denied).first().waitFor()
  })
})

describe('the field', () => {
  it('Enter takes what an input method offers, then sends; Shift + Enter begins a line', async () => {
    const { page } = await visit()
    const field = composer(page)
    await field.click()
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Input.imeSetComposition', { text: 'ni hao', selectionStart: 6, selectionEnd: 6 })
    await cdp.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', key: 'Process', code: 'Enter', windowsVirtualKeyCode: 229 })
    await cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 })
    // Safari ends the composition first, and the key comes as a plain one.
    await field.evaluate((element) => {
      element.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }))
      element.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '你好' }))
      element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
    })
    await cdp.send('Input.insertText', { text: '你好' })
    expect(await field.inputValue()).toContain('你好')
    expect(new URL(page.url()).pathname).toBe('/') // nothing was sent
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('second line')
    expect(await field.inputValue()).toBe('你好\nsecond line')
    await page.keyboard.press('Enter')
    await ended(page)
    expect(await field.inputValue()).toBe('')
    await page.getByText('second line').first().waitFor()
    expect(await answers(page).count()).toBe(1)
  })

  it('keeps a draft for each conversation, over a reload', async () => {
    const [one, two] = [await begin('Draft one'), await begin('Draft two')]
    const { page, open } = await visit()
    await open(`/c/${one}`)
    await composer(page).fill('half a thought')
    await open(`/c/${two}`)
    expect(await composer(page).inputValue()).toBe('')
    await open(`/c/${one}`)
    expect(await composer(page).inputValue()).toBe('half a thought')
  })
})

describe('the keyboard', () => {
  it('leads everywhere: commands, the field, and stopping', async () => {
    const { page, open } = await visit()
    await open('/usage')
    await page.getByRole('heading', { name: en.usage.title, level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: en.app.commandsHint }).fill('crawl')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: en.crawls.title, level: 1 }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.getByRole('heading', { name: en.tokens.title, level: 1 }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: en.keys.title }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await composer(page).waitFor()
    await expect.poll(() => composer(page).evaluate((e) => e === document.activeElement)).toBe(true)
    expect(await composer(page).inputValue()).toBe('')
    await world.hold('slow')
    await page.keyboard.type('Please tally slowly.')
    await page.keyboard.press('Enter')
    await world.held('slow')
    await page.keyboard.press('Escape')
    await ended(page, 'cancelled')
    await world.release('slow')
    expect(words(await answers(page).first().innerText())).toContain('I will count it')
  })
})
