import { ref } from 'vue'

/** Toast is a short message that goes by itself. */
export interface Toast {
  id: number
  tone: 'ok' | 'bad'
  text: string
}

export const toasts = ref<Toast[]>([])

let last = 0

/** toast shows a message. */
export function toast(text: string, tone: Toast['tone'] = 'ok'): void {
  toasts.value = [...toasts.value.slice(-3), { id: ++last, tone, text }]
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((t) => t.id !== id)
}
