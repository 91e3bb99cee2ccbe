// Requests to the gateway. Answers come in an envelope; everything else that can
// come back is an APIError.

/** Problem is what is shown of a failure. */
export interface Problem {
  /** HTTP status; 0 when nobody answered. */
  status: number
  /** Stable reason, upper snake case. */
  reason: string
  /** Words for a person. */
  message: string
  /** What is wrong with single fields. */
  details: { field?: string; description?: string; [key: string]: unknown }[]
  traceId: string
  /** Milliseconds after which asking again is welcome; 0: not said. */
  retryAfter: number
  /** What the service adds for programs, such as args_sha256 or run_id. */
  facts: Record<string, string>
}

/** APIError is a failed request. */
export class APIError extends Error implements Problem {
  readonly status: number
  readonly reason: string
  readonly details: Problem['details']
  readonly traceId: string
  readonly retryAfter: number
  readonly facts: Problem['facts']

  constructor(problem: Partial<Problem> & { message: string }) {
    super(problem.message)
    this.name = 'APIError'
    this.status = problem.status ?? 0
    this.reason = problem.reason ?? 'UNREACHABLE'
    this.details = problem.details ?? []
    this.traceId = problem.traceId ?? ''
    this.retryAfter = problem.retryAfter ?? 0
    this.facts = problem.facts ?? {}
  }

  /** Nobody answered, or somebody in between who is not the gateway. */
  get unreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504
  }
}

/** Ask says what is asked for. */
export interface Ask {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** A value is sent as JSON, a form as it is. */
  body?: unknown
  query?: Record<string, string | number | boolean | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
}

// onUnauthorized is told when the server does not know us any more.
let unauthorized: () => void = () => {}

export function onUnauthorized(tell: () => void): void {
  unauthorized = tell
}

// reached is told of every request whether the gateway answered it.
let reached: (answered: boolean) => void = () => {}

export function onReach(tell: (answered: boolean) => void): void {
  reached = tell
}

/** send makes a request and answers whatever comes back with a status below 400. */
export async function send(path: string, ask: Ask = {}): Promise<Response> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(ask.query ?? {})) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const url = query.size > 0 ? `${path}?${query}` : path
  const form = ask.body instanceof FormData
  const headers: Record<string, string> = { Accept: 'application/json', ...ask.headers }
  if (ask.body !== undefined && !form) headers['Content-Type'] = 'application/json'
  let response: Response
  try {
    response = await fetch(url, {
      method: ask.method ?? 'GET',
      headers,
      body: ask.body === undefined ? undefined : form ? (ask.body as FormData) : JSON.stringify(ask.body),
      signal: ask.signal,
      credentials: 'same-origin',
    })
  } catch (error) {
    if (ask.signal?.aborted) throw error
    reached(false)
    throw new APIError({ message: 'The server does not answer.' })
  }
  if (response.ok) {
    reached(true)
    return response
  }
  const problem = await problemOf(response)
  reached(!(problem.reason === 'BAD_ANSWER' && problem.unreachable))
  if (problem.status === 401) unauthorized()
  throw problem
}

/** request makes a request and answers the data of its envelope. */
export async function request<T>(path: string, ask: Ask = {}): Promise<T> {
  const response = await send(path, ask)
  let body: { data?: T }
  try {
    body = (await response.json()) as { data?: T }
  } catch (error) {
    if (ask.signal?.aborted) throw error
    throw new APIError({ status: response.status, reason: 'BAD_ANSWER', message: 'What answered is not NanoClaw.' })
  }
  return body.data as T
}

/** problemOf reads what a refusal says. */
export async function problemOf(response: Response): Promise<APIError> {
  const after = Number(response.headers.get('Retry-After') ?? '')
  const retryAfter = Number.isFinite(after) ? after * 1000 : 0
  try {
    const body = (await response.json()) as { message?: string; reason?: string; details?: Problem['details']; trace_id?: string }
    const facts = Object.entries(body).filter((fact): fact is [string, string] => typeof fact[1] === 'string')
    return new APIError({
      status: response.status,
      reason: body.reason ?? 'UNKNOWN',
      message: body.message ?? response.statusText,
      details: body.details ?? [],
      traceId: body.trace_id ?? '',
      retryAfter,
      facts: Object.fromEntries(facts),
    })
  } catch {
    return new APIError({ status: response.status, reason: 'BAD_ANSWER', message: response.statusText || `HTTP ${response.status}`, retryAfter })
  }
}
