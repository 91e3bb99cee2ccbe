// What serves, and which models it has. Asked once, and again on demand.
import { computed, ref, shallowRef } from 'vue'
import { request } from '@/api/http'
import type { Model, ServerInfo } from '@/api/wire'

export const server = shallowRef<ServerInfo>({ version: '', trace_url: '' })
export const models = shallowRef<Model[]>([])
export const defaultModel = ref('')

/** modelsKnown is set once the server has told its models. */
export const modelsKnown = ref(false)

/** withoutModel: the server has told, and has none. */
export const withoutModel = computed(() => modelsKnown.value && models.value.length === 0)

let asked: Promise<void> | undefined

/** loadServer asks what serves. Asking again while the first answer is on its way
 * waits for that one. */
export function loadServer(): Promise<void> {
  asked ??= ask().finally(() => (asked = undefined))
  return asked
}

async function ask(): Promise<void> {
  const [info, list] = await Promise.all([
    request<ServerInfo>('/api/server'),
    request<{ models: Model[]; default_model: string }>('/api/models'),
  ])
  server.value = info
  models.value = list.models
  defaultModel.value = list.default_model
  modelsKnown.value = true
}

/** traceAddress is where the operator's Jaeger shows a trace; undefined without
 * one, or when what is configured is no address of a page. */
export function traceAddress(traceId: string): string | undefined {
  if (!traceId || !server.value.trace_url) return undefined
  try {
    const url = new URL(server.value.trace_url.replaceAll('{trace_id}', encodeURIComponent(traceId)))
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined
  } catch {
    return undefined
  }
}
