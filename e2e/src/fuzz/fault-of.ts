import { z } from 'zod'
import type { FuzzedRequest } from './fuzzed-request.ts'
import type { FuzzedAnswer } from './send-fuzzed.ts'

/** What any service may answer to any target, method, header or body, besides what an operation documents (S5). */
const COMMON_REFUSALS = new Set([400, 404, 405, 413, 415, 431])

const ErrorBody = z.looseObject({ error: z.string().regex(/^[a-z][a-z0-9_]*$/) })
const RpcErrorBody = z.looseObject({
  jsonrpc: z.literal('2.0'),
  error: z.object({ code: z.int(), message: z.string() }),
})

/** Why an answer is not allowed; undefined for one that is. */
export function findFault(request: FuzzedRequest, answer: FuzzedAnswer): string | undefined {
  const { operation, method } = request
  const { contentType, headers, status, text } = answer
  if (status >= 500) return `status ${status}: ${text}`
  if (headers['x-request-id'] === undefined && !isBelowHttp(answer)) return 'no x-request-id'
  if (method === 'HEAD') return text === '' ? undefined : 'HEAD has a body'
  if (status >= 400 && text !== '') {
    const body: unknown = JSON.parse(text)
    const isError = operation.path === '/mcp' ? isMcpError(body) : ErrorBody.safeParse(body).success
    if (!isError) return `${status} is in no documented shape: ${text.slice(0, 200)}`
  }
  if (COMMON_REFUSALS.has(status) || !request.isStraight) return undefined
  return operation.findFault(status, contentType, text)
}

/** Whether Node refused the bytes before there was a request to give an id. */
function isBelowHttp({ headers, status }: FuzzedAnswer): boolean {
  return headers['connection'] === 'close' && (status === 431 || status === 400)
}

function isMcpError(body: unknown): boolean {
  return RpcErrorBody.safeParse(body).success || ErrorBody.safeParse(body).success
}
