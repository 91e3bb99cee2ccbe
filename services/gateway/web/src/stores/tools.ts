// The tools that there are.
import { ref, shallowRef } from 'vue'
import { request } from '@/api/http'
import type { Tool } from '@/api/wire'

export const tools = shallowRef<Tool[]>([])
export const toolsKnown = ref(false)

let asked: Promise<void> | undefined

/** loadTools asks for them. Asking again while the first answer is on its way
 * waits for that one. */
export function loadTools(): Promise<void> {
  asked ??= ask().finally(() => (asked = undefined))
  return asked
}

async function ask(): Promise<void> {
  tools.value = (await request<{ tools: Tool[] }>('/api/tools')).tools
  toolsKnown.value = true
}

/** toolTitle is a tool's name for people. */
export function toolTitle(name: string): string {
  return tools.value.find((tool) => tool.name === name)?.title || name
}
