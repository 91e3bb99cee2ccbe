import { expect, it } from 'vitest'
import { fixOf } from './advice'

it.each([
  ['model "m" at https://x/v1/models: 401 Unauthorized. The key is not accepted', 'key'],
  ['model "m" at https://x/v1/models: 403 Forbidden', 'forbidden'],
  ['model "m" at https://x/v2/models: 404 Not Found', 'missing'],
  ['https://x/v1/models answers, but the model is not among the 12 it lists. Correct models[0].model', 'model'],
  ['model "m" at https://x/v1/models: no answer within 10s. Check that the server is alive', 'timeout'],
  ['model "m": dial tcp 127.0.0.1:11434: connect: connection refused', 'refused'],
  ['model "m": lookup api.exmaple.com: no such host', 'name'],
  ['tls: failed to verify certificate: x509: certificate signed by unknown authority', 'tls'],
  ['429 Too Many Requests', 'busy'],
  ['502 Bad Gateway', 'down'],
  ['something else', undefined],
])('%s', (message, fix) => {
  expect(fixOf(message)).toBe(fix)
})
