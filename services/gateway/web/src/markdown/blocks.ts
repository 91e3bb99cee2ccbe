import { onScopeDispose, shallowRef, watch, type ShallowRef } from 'vue'
import { mathEngine } from './math'
import type { Env } from './render'
import { Splitter, type Block } from './split'

// A text whose last block is very long costs time at every update: then updates
// come no more often than leaves the page four fifths of its time.
const cheap = 4
const rest = 4

/** useBlocks keeps the blocks of a text that may still grow. */
export function useBlocks(text: () => string, writing: () => boolean, cite: () => Env['cite']): Readonly<ShallowRef<readonly Block[]>> {
  let splitter = new Splitter(cite())
  const blocks = shallowRef<readonly Block[]>([])
  let timer: ReturnType<typeof setTimeout> | undefined
  let free = 0

  function update(): void {
    clearTimeout(timer)
    timer = undefined
    const began = performance.now()
    blocks.value = writing() ? splitter.update(text()) : splitter.finish(text())
    const took = performance.now() - began
    free = took > cheap ? began + took * (1 + rest) : 0
  }

  watch([text, writing], () => {
    if (!writing()) update()
    else if (timer === undefined) {
      const left = free - performance.now()
      if (left > 0) timer = setTimeout(update, left)
      else update()
    }
  }, { immediate: true })
  // Formulas that were shown as they are written, and sources that came later.
  watch([mathEngine, cite], () => {
    splitter = new Splitter(cite())
    update()
  })
  onScopeDispose(() => clearTimeout(timer))
  return blocks
}
