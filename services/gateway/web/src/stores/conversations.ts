// The conversations, newest first.
import { computed, ref, shallowRef } from 'vue'
import { request } from '@/api/http'
import type { Conversation, Page } from '@/api/wire'

export const conversations = shallowRef<Conversation[]>([])
export const conversationsKnown = ref(false)
export const conversationsMore = ref(false)
export const conversationsError = shallowRef<unknown>()
export const conversationsLoading = ref(false)

const pageSize = 50
let cursor = ''
let asked: Promise<void> | undefined

const address = (id: string) => `/api/conversations/${encodeURIComponent(id)}`

/** loadConversations asks for the newest. What is there stays until they come. */
export function loadConversations(): Promise<void> {
  return (asked ??= page('').finally(() => (asked = undefined)))
}

/** moreConversations asks for older ones. */
export function moreConversations(): Promise<void> {
  return (asked ??= page(cursor).finally(() => (asked = undefined)))
}

/** allConversations asks for all of them, for a search. */
export async function allConversations(signal: AbortSignal): Promise<void> {
  while (conversationsMore.value && !conversationsError.value && !signal.aborted) await moreConversations()
}

async function page(from: string): Promise<void> {
  conversationsLoading.value = true
  try {
    const got = await request<Page<Conversation>>('/api/conversations', { query: { limit: pageSize, cursor: from } })
    const fresh = new Set(got.items.map((c) => c.id))
    // Asking for the newest again keeps the older ones that are there.
    const oldest = got.items.at(-1)?.updated_at ?? ''
    const others = conversations.value.filter((c) => !fresh.has(c.id) && (from !== '' || (got.has_more && c.updated_at <= oldest)))
    const again = from === '' && others.length > 0
    conversations.value = from === '' ? [...got.items, ...others] : [...others, ...got.items]
    if (!again) {
      cursor = got.next_cursor
      conversationsMore.value = got.has_more
    }
    conversationsKnown.value = true
    conversationsError.value = undefined
  } catch (error) {
    conversationsError.value = error
  } finally {
    conversationsLoading.value = false
  }
}

/** getConversation asks for one, and keeps it in the list. */
export async function getConversation(id: string, signal?: AbortSignal): Promise<Conversation> {
  const one = await request<Conversation>(address(id), { signal })
  put(one)
  return one
}

/** createConversation begins one. */
export async function createConversation(model: string): Promise<Conversation> {
  const one = await request<Conversation>('/api/conversations', { method: 'POST', body: model ? { model } : {} })
  conversations.value = [one, ...conversations.value]
  return one
}

/** changeConversation changes its title or its model. */
export async function changeConversation(id: string, change: { title?: string; model?: string }): Promise<Conversation> {
  const one = await request<Conversation>(address(id), { method: 'PATCH', body: change })
  put(one)
  return one
}

/** deleteConversation deletes it with all that belongs to it. One that is gone
 * already is deleted. */
export async function deleteConversation(id: string): Promise<void> {
  await request<unknown>(address(id), { method: 'DELETE' })
  forget(id)
}

/** forget takes one out of the list that is not there any more. */
export function forget(id: string): void {
  conversations.value = conversations.value.filter((c) => c.id !== id)
}

function put(one: Conversation): void {
  conversations.value = conversations.value.map((c) => (c.id === one.id ? one : c))
}

/** conversationOf is what the list knows of one. */
export const conversationOf = computed(() => {
  const all = new Map(conversations.value.map((c) => [c.id, c]))
  return (id: string) => all.get(id)
})
