/** sinkTone is how careful one should be with a tool. */
export function sinkTone(sink: string): 'plain' | 'ok' | 'warn' | 'bad' {
  if (sink === 'read') return 'ok'
  return sink === 'egress' ? 'warn' : 'bad'
}
