/** What `/mcp` takes: JSON-RPC messages of MCP 2025-11-25 and 2026-07-28, and the arguments of the tools. */
import { z } from 'zod'
import { mcpExample } from './examples.ts'

const params = z.record(z.string(), z.unknown())

/** One message, only for the reference: @tallystick/service-kit/mcp reads it. */
export const rpcMessageSchema = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]).optional(),
    method: z.string(),
    params: params.optional(),
  })
  .meta({ id: 'McpMessage', examples: [mcpExample] })

/** The only method of 2026-07-28 that SDK 1.x has no schema for. */
export const discoverRequest = z.object({ method: z.literal('server/discover') })

export const readPickSchema = z
  .strictObject({ receipt: z.string('the receipt of a paid card').max(200) }, 'an object')
  .meta({ examples: [{ receipt: '309a0c4a…' }] })
