import { createHmac, randomUUID } from 'node:crypto'
import { mintToken } from '@tallystick/jwt-lite'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'

type Care = StackDescription['care']

/** A token for a host, with these scopes. */
export function careToken(care: Care, { sub, scope }: { sub: string; scope: string }): string {
  return mintToken({
    sub,
    scope,
    audience: care.mcpUrl,
    typ: 'care+jwt',
    key: Buffer.from(care.tokenSecret),
    nowSeconds: Math.floor(Date.now() / 1_000),
    jti: randomUUID(),
  })
}

/** The headers of a signed write. */
export function writeSignature(care: Care, body: string): Readonly<Record<string, string>> {
  const timestamp = new Date().toISOString()
  const mac = createHmac('sha256', care.writeSecret).update(`${timestamp}.${body}`).digest('hex')
  return { 'x-care-timestamp': timestamp, 'x-care-signature': `sha256=${mac}` }
}

/** Publishes a version of a record, signed. */
export async function writeRecord(
  care: Care,
  record: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const body = JSON.stringify(record)
  const headers = { 'content-type': 'application/json', ...writeSignature(care, body) }
  return await fetch(`${care.baseUrl}/write`, { method: 'POST', headers, body })
}
