import { randomUUID } from 'node:crypto'
import { mintToken } from '@tallystick/jwt-lite'
import type { CarePlace } from './care-recipe.ts'

/** A working day: long enough to try things, short enough to be worthless tomorrow. */
const TOKEN_LIFETIME_SECONDS = 43_200

/** A token for a host that speaks to the person at home. */
function readerToken(care: CarePlace): string {
  return mintToken({
    sub: 'local-host',
    scope: 'care.read.user',
    audience: care.mcpUrl,
    typ: 'care+jwt',
    key: Buffer.from(care.tokenSecret),
    nowSeconds: Math.floor(Date.now() / 1_000),
    jti: randomUUID(),
    lifetimeSeconds: TOKEN_LIFETIME_SECONDS,
  })
}

/** The pages to open, how to connect a host, and the first request to copy for care. */
export function describeCare(care: CarePlace): string {
  const token = readerToken(care)
  const header = `Authorization: Bearer ${token}`
  return `CARE: check every chain without a key

  curl -H 'accept: text/plain' ${care.baseUrl}/verify

  Open the assistant's page beside the clinician's, and correct a record (what follows # stays in the browser):

  ${care.baseUrl}/echo.html#token=${token}
  ${care.baseUrl}/clinician.html#secret=${care.writeSecret}&token=${token}

  Connect a host: MCP Inspector, transport Streamable HTTP, URL ${care.mcpUrl}, with the header
  ${header}
  Claude Desktop, and hosts that only start programs, through mcp-remote:
  npx mcp-remote ${care.mcpUrl} --header '${header}'`
}
