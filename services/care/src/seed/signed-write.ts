import { createHmac } from 'node:crypto'

/** A signed `POST /write` as any client sends it. */
export type SignedWrite = {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly serviceName: string
  /** Its UTF-8 bytes are the key. */
  readonly writeSecret: string
  readonly body: Readonly<Record<string, string | number>>
  /** The writer's clock, Unix milliseconds. */
  readonly unixMs: number
}

/** Sends it and returns the answer, whatever its status. Rejects where nobody answers. */
export async function sendSignedWrite(write: SignedWrite): Promise<Response> {
  const body = JSON.stringify(write.body)
  const timestamp = new Date(write.unixMs).toISOString()
  const signature = createHmac('sha256', write.writeSecret)
    .update(`${timestamp}.${body}`)
    .digest('hex')
  return await fetch(`${write.baseUrl}/write`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      [`x-${write.serviceName}-signature`]: signature,
      [`x-${write.serviceName}-timestamp`]: timestamp,
    },
    body,
  })
}
