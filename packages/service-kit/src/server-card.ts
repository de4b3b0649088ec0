/** An MCP server says this of itself before anybody connects: a server card, as SEP-2127 drafts it. */
import type { ServiceApp } from './service-app.ts'

type ServerCard = {
  /** Follows the service's own address, in reverse DNS, in the card's name: `org.example.care/care`. */
  readonly name: string
  readonly baseUrl: string
  readonly title: string
  readonly version: string
  readonly description: string
  readonly remotes: readonly {
    readonly path: string
    readonly supportedProtocolVersions: readonly string[]
  }[]
}

/** The card's place in the draft, beside the transport, and the one of SEP-1649, which readers still ask for. */
const PATHS = ['/mcp/server-card', '/.well-known/mcp/server-card.json']
/** The card changes only with the configuration. */
const CACHE_SECONDS = 300

/** Serves the card; `/` names it to programs if the service lists it among its links (`SERVER_CARD_PATH`). */
export function addServerCard(
  app: ServiceApp,
  { baseUrl, name, remotes, ...about }: ServerCard,
): void {
  const card = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${new URL(baseUrl).hostname.split('.').toReversed().join('.')}/${name}`,
    ...about,
    remotes: remotes.map(({ path, supportedProtocolVersions }) => ({
      type: 'streamable-http',
      url: baseUrl + path,
      supportedProtocolVersions,
    })),
  }
  for (const path of PATHS)
    app.get(path, { exposeHeadRoute: true, schema: { hide: true } }, async (_request, reply) =>
      reply
        .headers({
          'cache-control': `public, max-age=${CACHE_SECONDS}`,
          // Pages read it before they know the server.
          'access-control-allow-origin': '*',
          'content-type': 'application/mcp-server-card+json',
        })
        .serializer(JSON.stringify)
        .send(card),
    )
}

export const SERVER_CARD_PATH = '/mcp/server-card'
