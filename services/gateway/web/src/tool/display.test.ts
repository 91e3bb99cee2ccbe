import { mount } from '@vue/test-utils'
import { TooltipProvider } from 'reka-ui'
import { h } from 'vue'
import { describe, expect, it, vi } from 'vitest'
import { i18n } from '@/i18n'
import { router } from '@/router'
import type { Call, CallStatus } from '@/run/state'
import ToolCallDisplay from './ToolCallDisplay.vue'
import { lookOf } from './status'

// The result's part of the app is loaded when it is first shown.
const patience = { timeout: 20_000 }

const call = (status: CallStatus, more: Partial<Call> = {}): Call => ({ id: 'c', ordinal: 0, name: 'web_search', args: '{"query":"claws"}', status, ...more })
const show = (one: Call) => mount({ render: () => h(TooltipProvider, () => h(ToolCallDisplay, { call: one, runId: 'r' })) }, { global: { plugins: [i18n, router] } })
const result = (content: unknown, is_error = false) => ({ role: 'tool', tool_call_id: 'c', name: 'web_search', content: JSON.stringify(content), is_error, duration_ms: 1500, truncated: false, result_id: '', trace_id: '' })

describe('a tool call', { timeout: 30_000 }, () => {
  const statuses: CallStatus[] = ['writing', 'pending', 'running', 'waiting_approval', 'completed', 'error', 'denied', 'cancelled', 'unknown']
  it.each(statuses)('that is %s says so in words and by a picture', (status) => {
    const shown = show(call(status))
    expect(shown.get('section').attributes('aria-label')).toContain(i18n.global.t(`toolCall.status.${status}`))
    expect(shown.find('svg').exists()).toBe(true)
  })
  it('has a picture of its own for each status', () => {
    expect(new Set(statuses.map((s) => lookOf(s).icon)).size).toBe(statuses.length)
    expect(lookOf('hologram')).toBe(lookOf('unknown'))
  })
  it('says what it is about, and shows arguments as they come', async () => {
    expect(show(call('pending')).text()).toContain('claws')
    expect(show(call('writing', { args: '{"query":"cl' })).text()).toContain('{"query":"cl')
  })
  it('shows how far it is', () => {
    const shown = show(call('running', { progress: { message: 'asking', done: 1, total: 4 } }))
    expect(shown.get('[role=progressbar]').attributes('aria-valuenow')).toBe('25')
    expect(shown.text()).toContain('asking')
  })
  it('opens to its arguments, its result and its trace', async () => {
    const shown = show(call('completed', { result: result({ results: [{ title: 'Claws', url: 'https://a.example' }] }) }))
    expect(shown.text()).toContain('1.5 s')
    await shown.get('button').trigger('click')
    expect(shown.get('button').attributes('aria-expanded')).toBe('true')
    const link = await vi.waitFor(() => shown.get('a[href="https://a.example"]'), patience)
    expect(link.attributes('rel')).toBe('noopener noreferrer nofollow')
    expect(shown.find('a[href="/runs/r"]').exists()).toBe(true)
  })
  it('says why it failed', async () => {
    const shown = show(call('denied', { result: result({ success: false, error: { reason: 'TOOL_DISABLED', message: 'off' } }, true) }))
    await shown.get('button').trigger('click')
    await vi.waitFor(() => expect(shown.text()).toContain('TOOL_DISABLED'), patience)
    expect(shown.text()).toContain('tools.enabled')
  })
  it('makes no link of an address that is none', async () => {
    const shown = show(call('completed', { result: result({ results: [{ title: 'Claws', url: 'javascript:alert(1)' }] }) }))
    await shown.get('button').trigger('click')
    await vi.waitFor(() => expect(shown.text()).toContain('Claws'), patience)
    expect(shown.find('a[href^="javascript"]').exists()).toBe(false)
  })
})
