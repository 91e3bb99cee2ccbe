import { appendFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { composer, ended, send } from './chat'
import { stage } from './stage'
import { visit } from './visitor'

// How the app feels with much in it. Medians of several tries; BENCHTIME=1x makes
// one, to show that it runs.
const tries = process.env.BENCHTIME === '1x' ? 1 : 5

function figure(metric: string, value: number, unit: string): void {
  appendFileSync(process.env.E2E_FIGURES ?? '/dev/null', JSON.stringify({ bench: 'web', metric, value: Number(value.toPrecision(4)), unit }) + '\n')
}

const percentile = (all: number[], p: number) => all.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(p * all.length) - 1)] ?? NaN

it('a conversation of 1,000 messages is opened', async () => {
  const { page, open } = await visit()
  await open('/usage')
  const took: number[] = []
  for (let i = 0; i <= tries; i++) {
    const began = performance.now()
    await page.goto(`${stage.app}/c/${stage.many}`, { waitUntil: 'commit' })
    await page.getByText(/Sentence \d+ of answer 999/).first().waitFor()
    took.push(performance.now() - began)
    await page.waitForLoadState('networkidle')
    expect(await page.getByText('Question 998:').count()).toBe(1)
  }
  figure('opening a conversation of 1,000 messages', percentile(took.slice(1), 0.5), 'ms') // the first one fetches the app
})

it('one goes on writing while 60,000 characters stream', async () => {
  const latencies: number[] = []
  const updates: number[] = []
  const layouts: number[] = []
  for (let i = 0; i < Math.min(tries, 3); i++) {
    const { page } = await visit()
    await send(page, 'Send me a flood.')
    await page.locator('[data-answer]').waitFor()
    await page.evaluate(() => {
      const seen = window as unknown as { latencies: number[]; batches: number }
      seen.latencies = []
      seen.batches = 0
      window.addEventListener('keydown', (event) => requestAnimationFrame(() => setTimeout(() => seen.latencies.push(performance.now() - event.timeStamp))), true)
      const answer = document.querySelector('[data-answer]')
      if (answer) new MutationObserver(() => seen.batches++).observe(answer, { subtree: true, childList: true, characterData: true })
    })
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Performance.enable')
    const read = async () => {
      const { metrics } = await cdp.send('Performance.getMetrics')
      const of = (name: string) => (metrics.find((m) => m.name === name)?.value ?? 0) * 1000
      return { script: of('ScriptDuration'), layout: of('LayoutDuration') + of('RecalcStyleDuration'), batches: await page.evaluate(() => (window as unknown as { batches: number }).batches) }
    }
    const length = () => page.locator('[data-answer]').evaluate((e) => e.textContent?.length ?? 0)
    // The keys are pressed all along; script time is that of the last quarter,
    // between presses.
    await composer(page).focus()
    while ((await length()) < 35_000) await page.keyboard.press('x', { delay: 5 })
    latencies.push(...(await page.evaluate(() => (window as unknown as { latencies: number[] }).latencies)))
    const before = await read()
    await ended(page)
    const after = await read()
    updates.push((after.script - before.script) / Math.max(1, after.batches - before.batches))
    layouts.push((after.layout - before.layout) / Math.max(1, after.batches - before.batches))
    await page.context().close()
  }
  figure('composer latency while 60,000 characters stream, p50', percentile(latencies, 0.5), 'ms')
  figure('composer latency while 60,000 characters stream, p95', percentile(latencies, 0.95), 'ms')
  figure('script time of an update at 60,000 characters', percentile(updates, 0.5), 'ms')
  figure('layout time of an update at 60,000 characters', percentile(layouts, 0.5), 'ms')
})
