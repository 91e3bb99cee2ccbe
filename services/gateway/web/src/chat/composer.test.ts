import { mount } from '@vue/test-utils'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { i18n } from '@/i18n'
import { draft } from '@/stores/drafts'
import ChatComposer from './ChatComposer.vue'

const open = (props: Partial<{ conversation: string; live: boolean; stopping: boolean; disabled: boolean }> = {}) =>
  mount(ChatComposer, { props: { conversation: 'c', live: false, stopping: false, disabled: false, ...props }, global: { plugins: [i18n] } })

describe('the composer', () => {
  beforeEach(() => {
    localStorage.clear()
    vi.useFakeTimers()
  })
  afterEach(() => void vi.useRealTimers())

  it('sends with Enter, and is empty then', async () => {
    const composer = open()
    const field = composer.get('textarea')
    await field.setValue('hello')
    await field.trigger('keydown', { key: 'Enter' })
    expect(composer.emitted('send')).toEqual([['hello']])
    expect(field.element.value).toBe('')
  })
  it('begins a line with Shift and Enter', async () => {
    const composer = open()
    await composer.get('textarea').setValue('hello')
    await composer.get('textarea').trigger('keydown', { key: 'Enter', shiftKey: true })
    expect(composer.emitted('send')).toBeUndefined()
  })
  it('leaves the Enter that takes a candidate to the input method', async () => {
    const composer = open()
    const field = composer.get('textarea')
    await field.setValue('ni')
    await field.trigger('compositionstart')
    await field.trigger('keydown', { key: 'Enter', isComposing: true })
    // Some browsers end the composition before they tell of the key.
    await field.trigger('compositionend')
    await field.trigger('keydown', { key: 'Enter' })
    expect(composer.emitted('send')).toBeUndefined()
    vi.runAllTimers()
    await field.trigger('keydown', { key: 'Enter', keyCode: 229 })
    expect(composer.emitted('send')).toEqual([['ni']])
  })
  it.each([['', {}], ['  \n ', {}], ['x', { live: true }], ['x', { disabled: true }]])('does not send %j with %j', async (text, props) => {
    const composer = open(props)
    await composer.get('textarea').setValue(text)
    await composer.get('textarea').trigger('keydown', { key: 'Enter' })
    expect(composer.emitted('send')).toBeUndefined()
  })
  it('does not send what is too long, and says by how much', async () => {
    const composer = open()
    await composer.get('textarea').setValue('x'.repeat(200_001))
    await composer.get('textarea').trigger('keydown', { key: 'Enter' })
    expect(composer.emitted('send')).toBeUndefined()
    expect(composer.text()).toMatch(/\b1\b/)
  })
  it('stops with Escape while an answer is written', async () => {
    const composer = open({ live: true })
    await composer.get('textarea').trigger('keydown', { key: 'Escape' })
    expect(composer.emitted('stop')).toHaveLength(1)
  })
  it('keeps a draft for each conversation', async () => {
    const composer = open()
    await composer.get('textarea').setValue('for c')
    await composer.setProps({ conversation: 'd' })
    expect(composer.get('textarea').element.value).toBe('')
    await composer.get('textarea').setValue('for d')
    await composer.setProps({ conversation: 'c' })
    expect(composer.get('textarea').element.value).toBe('for c')
    composer.unmount()
    expect(draft('d')).toBe('for d')
  })
  it('forgets the draft of what was sent', async () => {
    const composer = open()
    await composer.get('textarea').setValue('hello')
    vi.runAllTimers()
    expect(draft('c')).toBe('hello')
    await composer.get('textarea').trigger('keydown', { key: 'Enter' })
    composer.unmount()
    expect(draft('c')).toBe('')
  })
})
