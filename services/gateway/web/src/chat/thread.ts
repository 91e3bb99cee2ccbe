// The messages of one conversation, and the answer that is being written in it.
import { computed, onScopeDispose, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'
import { APIError, request } from '@/api/http'
import type { Message, Page } from '@/api/wire'
import { fromMessage, type RunState } from '@/run/state'
import { forget, getConversation, loadConversations } from '@/stores/conversations'
import { ask, attach, liveRuns, refusals, regenerate, type Live } from '@/stores/runs'
import { returns } from '@/stores/session'

export interface Question {
  kind: 'question'
  key: string
  text: string
  at: string
}

export interface Answer {
  kind: 'answer'
  key: string
  /** A stored answer, or one that this window follows or has followed. */
  message?: Message
  live?: Live
  /** When its question was asked. */
  asked: string
}

export type Item = Question | Answer

/** Refused is a message that began no run. */
export interface Refused {
  error: unknown
  text: string
}

export interface Thread {
  items: ShallowRef<Item[]>
  loading: Ref<boolean>
  error: ShallowRef<unknown>
  /** The conversation is not there (any more). */
  gone: Ref<boolean>
  refused: ShallowRef<Refused | undefined>
  /** Another answer was being written already when something was sent. */
  busy: Ref<boolean>
  live: ComputedRef<Live | undefined>
  reload: () => Promise<void>
  send: (text: string, tools: boolean) => void
  again: (tools: boolean) => void
}

const pageSize = 100
let serial = 0

/** stateOf is the state of an answer's run. */
export function stateOf(answer: Answer): RunState {
  if (answer.live) return answer.live.state.value
  const message = answer.message as Message
  let state = states.get(message)
  if (!state) states.set(message, (state = fromMessage(message)))
  return state
}
const states = new WeakMap<Message, RunState>()

/** itemsOf are the items of stored messages. */
export function itemsOf(messages: Message[]): Item[] {
  let asked = ''
  return messages.map((m): Item => {
    if (m.role !== 'user') return { kind: 'answer', key: m.id, message: m, asked }
    asked = m.created_at ?? ''
    return { kind: 'question', key: m.id, text: m.content, at: asked }
  })
}

/** useThread keeps the conversation of an id; the empty id is one that does not
 * exist yet. */
export function useThread(id: () => string): Thread {
  const items = shallowRef<Item[]>([])
  const loading = ref(false)
  const error = shallowRef<unknown>()
  const gone = ref(false)
  const refused = shallowRef<Refused>()
  const busy = ref(false)
  const live = computed(() => liveRuns.get(id()))
  let loadingNow: AbortController | undefined

  async function reload(): Promise<void> {
    loadingNow?.abort()
    const mine = (loadingNow = new AbortController())
    const conversation = id()
    if (!conversation) return
    loading.value = true
    try {
      const about = await getConversation(conversation, mine.signal)
      const messages = await allMessages(conversation, mine.signal)
      if (mine.signal.aborted) return
      items.value = itemsOf(messages)
      gone.value = false
      error.value = undefined
      const running = liveRuns.get(conversation) ?? (about.live_run && !messages.some((m) => m.run_id === about.live_run?.id) ? attach(conversation, about.live_run.id) : undefined)
      if (!running || messages.some((m) => m.run_id !== '' && m.run_id === running.state.value.runId)) return
      const last = messages.at(-1)
      if (running.question && last?.role !== 'user') question(running.question, new Date(running.began).toISOString()) // it is still on its way
      show(running, last?.role === 'user' ? (last.created_at ?? '') : '')
    } catch (e) {
      if (!mine.signal.aborted) fail(e)
    } finally {
      if (loadingNow === mine) loading.value = false
    }
  }

  function fail(e: unknown): void {
    if (e instanceof APIError && e.status === 404) {
      gone.value = true
      forget(id())
    } else error.value = e
  }

  function question(text: string, at: string): void {
    items.value = [...items.value, { kind: 'question', key: `asked-${++serial}`, text, at }]
  }

  function show(running: Live, asked: string): void {
    items.value = [...items.value, { kind: 'answer', key: `live-${++serial}`, live: running, asked }]
    void running.over.then(() => settle(running))
    if (running.state.value.runId !== '') return
    // A conversation has its title from its first message.
    const named = watch(() => running.state.value.runId, (run) => {
      named()
      if (run) getConversation(running.conversationId).catch(() => undefined)
    })
  }

  function settle(running: Live): void {
    const e = running.failure.value
    if (running.conversationId === id() && running.state.value.runId !== '') {
      busy.value = false
      if (e instanceof APIError && e.status === 404) fail(e)
    }
    void loadConversations()
  }

  watch(id, () => {
    loadingNow?.abort()
    items.value = []
    loading.value = gone.value = busy.value = false
    error.value = refused.value = undefined
    void reload()
  }, { immediate: true })
  // Nothing was begun: the text goes back to where it was written.
  watch(() => refusals.get(id()), (refusal) => {
    if (!refusal) return
    refusals.delete(id())
    const { live: running, error: e, text } = refusal
    const at = items.value.findIndex((i) => i.kind === 'answer' && i.live === running)
    const before = items.value[at - 1]
    if (at >= 0) items.value = items.value.slice(0, before?.kind === 'question' && before.text === text ? at - 1 : at)
    const inProgress = e instanceof APIError && e.reason === 'RUN_IN_PROGRESS'
    refused.value = { error: inProgress ? undefined : e, text }
    if (e instanceof APIError && e.status === 404) fail(e)
    else if (inProgress) {
      busy.value = true
      void reload().then(() => (busy.value = live.value !== undefined))
    }
    else if (!text) void reload()
  }, { immediate: true })

  function send(text: string, tools: boolean): void {
    refused.value = undefined
    busy.value = false
    const at = new Date().toISOString()
    question(text, at)
    show(ask(id(), text, { tools }), at)
  }

  function again(tools: boolean): void {
    const last = items.value.at(-1)
    if (last?.kind !== 'answer' || live.value) return
    const state = stateOf(last)
    const message = state.messageId || state.userMessageId
    if (!message) return
    refused.value = undefined
    items.value = items.value.slice(0, -1)
    show(regenerate(id(), message, { tools }), new Date().toISOString())
  }

  // Another window may have gone on with it, or have deleted it.
  async function look(): Promise<void> {
    const conversation = id()
    if (document.visibilityState !== 'visible' || !conversation || live.value || loading.value || gone.value) return
    try {
      const about = await getConversation(conversation)
      if (conversation !== id() || live.value) return
      if (about.live_run || about.message_count !== items.value.length) await reload()
    } catch (e) {
      if (e instanceof APIError && e.status === 404 && conversation === id()) fail(e)
    }
  }

  watch(returns, () => {
    if (error.value) void reload()
  })
  document.addEventListener('visibilitychange', look)
  onScopeDispose(() => {
    document.removeEventListener('visibilitychange', look)
    loadingNow?.abort()
  })
  return { items, loading, error, gone, refused, busy, live, reload, send, again }
}

async function allMessages(conversation: string, signal: AbortSignal): Promise<Message[]> {
  const all: Message[] = []
  for (let cursor = ''; ; ) {
    const page = await request<Page<Message>>(`/api/conversations/${encodeURIComponent(conversation)}/messages`, { query: { limit: pageSize, cursor }, signal })
    all.push(...page.items)
    if (!page.has_more || page.items.length === 0) return all
    cursor = page.next_cursor
  }
}
