import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { api } from './stage'
import { en } from './words'

// What a person does in a conversation, and sees of it.

export function composer(page: Page, words = en): Locator {
  return page.getByRole('textbox', { name: words.chat.write, exact: true })
}

/** say writes a message and sends it. */
export async function send(page: Page, text: string): Promise<void> {
  await composer(page).fill(text)
  await page.getByRole('button', { name: en.chat.send, exact: true }).click()
}

/** answers are the answers in view, from the first. */
export function answers(page: Page): Locator {
  return page.locator('[data-answer]')
}

/** completed waits for the last answer to end that way. */
export async function ended(page: Page, status = 'completed'): Promise<Locator> {
  await page.locator(`[data-answer][data-status="${status}"]`).last().waitFor()
  return page.locator(`[data-answer][data-status="${status}"]`).last()
}

/** conversationOf is the id in the address of the page. */
export function conversationOf(page: Page): string {
  const id = /\/c\/([^/?#]+)/.exec(page.url())?.[1]
  expect(id, page.url()).toBeTruthy()
  return id ?? ''
}

interface Step {
  type: string
  content?: string
  call?: { id: string; function?: { name: string } }
}

/** stored is what the server has of a conversation's answers. */
export async function stored(conversation: string): Promise<{ content: string; calls: string[]; texts: string[] }[]> {
  const page = await api<{ items: { role: string; content: string; steps: Step[] }[] }>('GET', `/api/conversations/${conversation}/messages?limit=100`)
  return page.items
    .filter((m) => m.role === 'assistant')
    .map((m) => ({
      content: m.content,
      calls: m.steps.filter((s) => s.type === 'tool_call').map((s) => s.call?.function?.name ?? ''),
      texts: m.steps.filter((s) => s.type === 'text').map((s) => s.content ?? ''),
    }))
}

/** words are the letters and digits of a text, without its marks. */
export function words(text: string): string {
  return text.replace(/```\w*\n/g, '').replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}
