/** Fix names the advice of the words models.fix. */
export type Fix = 'key' | 'forbidden' | 'missing' | 'model' | 'timeout' | 'refused' | 'name' | 'tls' | 'busy' | 'down'

// What the server says of a model that does not answer, and what that means.
const signs: [RegExp, Fix][] = [
  [/not among the \d+ it lists/i, 'model'],
  [/\b401\b|unauthorized|invalid.{0,12}key/i, 'key'],
  [/\b403\b|forbidden/i, 'forbidden'],
  [/\b404\b|\b405\b|not found|redirect/i, 'missing'],
  [/\b429\b|\b402\b|quota|balance/i, 'busy'],
  [/no such host|lookup|name resolution/i, 'name'],
  [/certificate|x509|tls/i, 'tls'],
  [/connection refused|nobody listens|nothing listens/i, 'refused'],
  [/no answer within|deadline|time.?out|timed out/i, 'timeout'],
  [/\b5\d\d\b/, 'down'],
]

/** fixOf finds what mends a model that does not answer; undefined when the words
 * of the server have to do. */
export function fixOf(message: string): Fix | undefined {
  return signs.find(([sign]) => sign.test(message))?.[1]
}
