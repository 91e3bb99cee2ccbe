// Sending a file. XMLHttpRequest tells how much of it has gone, which fetch does
// not.
import { APIError, problemOf } from '@/api/http'
import type { FileInfo } from '@/api/wire'

export interface Upload {
  workspace: string
  /** Folder, without a slash at its end; empty for the workspace itself. */
  folder: string
  file: File
  replace: boolean
  onSent: (bytes: number) => void
  signal: AbortSignal
}

/** upload sends one file and answers what is stored. */
export function upload(u: Upload): Promise<FileInfo> {
  return new Promise((resolve, reject) => {
    const form = new FormData()
    form.set('keep_existing', u.replace ? 'false' : 'true')
    form.set('path', u.folder ? `${u.folder}/` : '')
    form.set('file', u.file, u.file.name)
    const xhr = new XMLHttpRequest()
    xhr.open('POST', `/api/workspaces/${encodeURIComponent(u.workspace)}/files`)
    xhr.upload.onprogress = (event) => u.onSent(event.lengthComputable ? (u.file.size * event.loaded) / event.total : 0)
    xhr.onload = () => void answer(xhr).then(resolve, reject)
    // A server that has had enough closes the connection while it is still sent to.
    xhr.onerror = () => reject(new APIError({ message: '', reason: 'UPLOAD_CUT' }))
    xhr.onabort = () => reject(u.signal.reason as Error)
    u.signal.addEventListener('abort', () => xhr.abort(), { once: true })
    xhr.send(form)
  })
}

async function answer(xhr: XMLHttpRequest): Promise<FileInfo> {
  const response = new Response(xhr.responseText, { status: xhr.status })
  if (!response.ok) throw await problemOf(response)
  const { data } = (await response.json()) as { data: { files: FileInfo[] } }
  const file = data.files[0]
  if (!file) throw new APIError({ status: xhr.status, reason: 'BAD_ANSWER', message: 'What answered is not NanoClaw.' })
  return file
}

/** Cause names the words of files.problems; empty: what the server says has to
 * do. */
export function causeOf(error: unknown): 'tooLarge' | 'quota' | 'exists' | 'cut' | '' {
  if (!(error instanceof APIError)) return ''
  if (error.status === 413) return 'tooLarge'
  if (error.reason === 'QUOTA_EXCEEDED') return 'quota'
  if (error.reason === 'FILE_EXISTS') return 'exists'
  return error.status === 0 || error.reason === 'BODY_INCOMPLETE' ? 'cut' : ''
}
