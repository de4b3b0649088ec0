import { z } from 'zod'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'

/** The parameters of a request, parsed; refuses with -32602 and the path of what does not fit, never the value. */
export function parseParams<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const parsed = schema.safeParse(params ?? {})
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = ['params', ...(issue?.path ?? [])].join('.')
  throw new RpcFailure(RPC_CODES.invalidParams, `${path}: ${issue?.message ?? 'invalid'}`)
}

/** Lists take an opaque cursor. */
export const cursorParams = z.object({ cursor: z.string().optional() })

/** Reads and subscriptions name a resource. */
export const uriParams = z.object({ uri: z.string() })
