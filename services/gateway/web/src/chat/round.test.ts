import { mount } from '@vue/test-utils'
import { TooltipProvider } from 'reka-ui'
import { h, nextTick } from 'vue'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { i18n } from '@/i18n'
import { router } from '@/router'
import type { Round } from '@/run/state'

const said = 'I will **count** it.'
const round: Round = { number: 1, thinking: { content: '', bytes: 0 }, text: { content: said, bytes: said.length }, calls: [] }

// Every test begins like a page that was opened anew.
async function show() {
  vi.resetModules()
  const { default: AnswerRound } = await import('./AnswerRound.vue')
  return () => mount({ render: () => h(TooltipProvider, () => h(AnswerRound, { round, writing: false, runId: 'r', workspace: '' })) }, { global: { plugins: [i18n, router] } })
}

afterEach(() => void vi.doUnmock('@/markdown/StreamingMarkdown.vue'))

describe('a round of an answer', { timeout: 30_000 }, () => {
  it('shows its words before what draws them has come, and then as Markdown', async () => {
    const shown = (await show())()
    expect(shown.text()).toBe(said)
    await vi.waitFor(() => expect(shown.find('strong').text()).toBe('count'), { timeout: 20_000 })
    expect(shown.text()).toBe('I will count it.')
  })
  it('shows its words where that cannot be had, and asks for it again', async () => {
    let tries = 0
    vi.doMock('@/markdown/StreamingMarkdown.vue', () => {
      if (tries++ === 0) throw new TypeError('Failed to fetch dynamically imported module')
      return { default: { props: ['text'], template: '', render: () => h('em', 'drawn') } }
    })
    const again = await show()
    const shown = again()
    await vi.waitFor(() => expect(tries).toBe(1))
    await nextTick()
    expect(shown.text()).toBe(said)
    await vi.waitFor(() => expect(again().find('em').exists()).toBe(true), { timeout: 20_000 })
    expect(shown.find('em').exists()).toBe(true)
  })
})
