// How the status of a call is shown: a picture, a word and a colour.
import { Ban, CircleAlert, CircleCheck, CircleDashed, CircleHelp, CirclePause, CircleSlash, LoaderCircle, PencilLine } from '@lucide/vue'
import type { Component } from 'vue'
import type { CallStatus } from '@/run/state'

export interface Look {
  icon: Component
  /** Class of the colour. */
  colour: string
  /** It goes on. */
  moves: boolean
}

const looks: Record<CallStatus, Look> = {
  writing: { icon: PencilLine, colour: 'text-soft', moves: false },
  pending: { icon: CircleDashed, colour: 'text-soft', moves: false },
  running: { icon: LoaderCircle, colour: 'text-accent-ink', moves: true },
  waiting_approval: { icon: CirclePause, colour: 'text-warn', moves: false },
  completed: { icon: CircleCheck, colour: 'text-ok', moves: false },
  error: { icon: CircleAlert, colour: 'text-bad', moves: false },
  denied: { icon: Ban, colour: 'text-bad', moves: false },
  cancelled: { icon: CircleSlash, colour: 'text-soft', moves: false },
  unknown: { icon: CircleHelp, colour: 'text-warn', moves: false },
}

/** lookOf is the look of a status, also of one that a newer server invents. */
export function lookOf(status: string): Look {
  return looks[status as CallStatus] ?? looks.unknown
}
