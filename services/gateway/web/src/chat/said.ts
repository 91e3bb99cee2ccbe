import { ref, watch, type ComputedRef, type Ref } from 'vue'
import { useI18n } from 'vue-i18n'
import type { Live } from '@/stores/runs'

/** useSaid is what a reader of the screen is told of an answer: that it is being
 * written, and how it ended; never its every word. */
export function useSaid(live: ComputedRef<Live | undefined>): Ref<string> {
  const { t } = useI18n()
  const said = ref('')
  watch(live, (now, before) => {
    if (now) said.value = t('chat.saysAnswering')
    else if (before) {
      const status = before.state.value.status
      said.value = t(status === 'completed' ? 'chat.saysDone' : status === 'cancelled' ? 'chat.saysStopped' : 'chat.saysFailed')
    }
  })
  return said
}
