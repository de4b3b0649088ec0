import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'
import { careToken } from './care-writer.ts'

/** A host of the official SDK with a session at care; its owner closes it. */
export async function connectHost(care: StackDescription['care'], scope: string): Promise<Client> {
  const client = new Client({ name: 'e2e', version: '1.0.0' })
  const headers = { authorization: `Bearer ${careToken(care, { sub: 'e2e-host', scope })}` }
  const url = new URL(care.mcpUrl)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  return client
}
