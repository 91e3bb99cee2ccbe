import { defineAsyncComponent, type AsyncComponentLoader, type Component } from 'vue'
import { APIError } from '@/api/http'
import UiProblem from './UiProblem.vue'

/** lazy is a part of the app that is loaded when it is first shown, and a word
 * about the server where it cannot be had. */
export function lazy<T extends Component>(loader: AsyncComponentLoader<T>): T {
  return defineAsyncComponent({
    loader: () =>
      loader().catch((cause: unknown) => {
        throw new APIError({ message: cause instanceof Error ? cause.message : String(cause) })
      }),
    errorComponent: UiProblem,
  }) as unknown as T
}
