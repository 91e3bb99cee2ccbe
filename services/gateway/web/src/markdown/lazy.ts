import { shallowRef, type ShallowRef } from 'vue'

type Markdown = (typeof import('./StreamingMarkdown.vue'))['default']

const component = shallowRef<Markdown>()
let loading: Promise<void> | undefined

/** lazyMarkdown is the component that shows Markdown, once it has come. A page
 * without any does without it; where it cannot be had, whoever shows a text next
 * asks again. */
export function lazyMarkdown(): Readonly<ShallowRef<Markdown | undefined>> {
  loading ??= import('./StreamingMarkdown.vue').then(
    (m) => void (component.value = m.default),
    () => (loading = undefined),
  )
  return component
}
