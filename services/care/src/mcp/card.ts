import { CARD_PAGE } from './card-page.ts'

/** What hosts of either kind know as the type of a card. The first is fixed by care.md, the second is MCP Apps' (SEP-1865). */
const SKYBRIDGE = 'text/html+skybridge'
const MCP_APP = 'text/html;profile=mcp-app'

const cards = (serviceName: string) => [
  { uri: `ui://${serviceName}/echo`, name: 'echo', mimeType: SKYBRIDGE },
  { uri: `ui://${serviceName}/echo-app`, name: 'echo-app', mimeType: MCP_APP },
]

/** The cards as lists show them. */
export function cardResources(serviceName: string): readonly object[] {
  return cards(serviceName).map((card) => ({
    ...card,
    title: 'Card with what holds now and what it corrects',
  }))
}

/** The content of a card; undefined for any other URI. */
export function readCard(
  serviceName: string,
  uri: string,
): { readonly uri: string; readonly mimeType: string; readonly text: string } | undefined {
  const card = cards(serviceName).find((one) => one.uri === uri)
  return card === undefined ? undefined : { uri, mimeType: card.mimeType, text: CARD_PAGE }
}

/** The `_meta` that binds the card to a tool, for hosts of both kinds (C12). */
export function cardBinding(serviceName: string): Record<string, unknown> {
  return {
    'openai/outputTemplate': `ui://${serviceName}/echo`,
    ui: { resourceUri: `ui://${serviceName}/echo-app` },
  }
}
