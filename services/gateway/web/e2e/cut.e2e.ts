import { describe, expect, it } from 'vitest'
import { answers, composer, conversationOf, ended, send, stored, words } from './chat'
import { api, begin, world } from './stage'
import { visit } from './visitor'
import { en } from './words'

describe('a connection that breaks', () => {
  it('20 cut streams and a reload in the middle lose and double nothing', async () => {
    await world.hold('chapter-6')
    const before = await world.cuts()
    const { page } = await visit()
    // Whoever sees their network return does not wait for the next try.
    const impatient = () => setInterval(() => window.dispatchEvent(new Event('online')), 200)
    await page.evaluate(impatient)
    await world.cutStreams(20)
    await send(page, 'Tell me a long story.')
    await world.held('chapter-6')
    await page.locator('[data-tool]').nth(6).waitFor()
    const conversation = conversationOf(page)
    await page.reload()
    await page.evaluate(impatient)
    await page.locator('[data-tool]').nth(6).waitFor()
    expect(await page.locator('[data-tool]').count()).toBe(7)
    await world.release('chapter-6')
    const answer = await ended(page)
    await expect.poll(async () => (await world.cuts()) - before, { timeout: 60_000 }).toBe(20)

    const [kept] = await stored(conversation)
    expect(kept?.calls).toHaveLength(12)
    expect(await answer.locator('[data-tool]').count()).toBe(12)
    const shown = words((await answer.locator('.md').allInnerTexts()).join(' '))
    const lines = (kept?.texts ?? []).flatMap((text) => text.match(/Sentence \d+ of (?:chapter \d+|the end)/g) ?? [])
    expect(lines.length).toBeGreaterThan(100)
    expect(shown.match(/Sentence \d+ of (?:chapter \d+|the end)/g)).toEqual(lines)
    // And it is what anybody sees who comes later.
    await page.reload()
    const later = await ended(page)
    expect(words((await later.locator('.md').allInnerTexts()).join(' '))).toBe(shown)
    expect(await answers(page).count()).toBe(1)
  })

  it('a server that goes away is told of, and nothing written is lost when it returns', async () => {
    const conversation = await begin('Server away')
    const { page, open } = await visit()
    await open(`/c/${conversation}`)
    await composer(page).fill('Are you there?')
    await world.stop()
    await page.getByRole('button', { name: en.chat.send, exact: true }).click()
    await page.getByText(en.problem.lost).waitFor()
    await world.start()
    await page.getByText(en.problem.lost).waitFor({ state: 'detached' })
    await ended(page)
    expect(await stored(conversation)).toHaveLength(1)
    expect(await answers(page).count()).toBe(1)
  })
})

describe('another tab', () => {
  it('shows the answer that is being written in the first one', async () => {
    await world.hold('slow')
    const { page, another } = await visit()
    await send(page, 'Please tally slowly.')
    await world.held('slow')
    const second = await another()
    await second.goto(page.url())
    await second.getByText('I will count it.').waitFor()
    await world.release('slow')
    for (const tab of [page, second]) await (await ended(tab)).getByText('It was counted.').waitFor()
  })

  it('that deletes the conversation is noticed, and what was written is kept', async () => {
    const conversation = await begin('To be deleted')
    const { page, open } = await visit()
    await open(`/c/${conversation}`)
    await composer(page).fill('What I was about to say')
    await api('DELETE', `/api/conversations/${conversation}`)
    await page.getByRole('button', { name: en.chat.send, exact: true }).click()
    await page.getByText(en.chat.gone).waitFor()
    expect(await page.locator('body').innerText()).not.toContain(en.problem.unexpected)
    expect(await composer(page).inputValue()).toContain('What I was about to say')
  })
})
