import type { CarePlaces } from './care-places.ts'

/** Ends `/llms.txt`: how a program reads, follows and checks records. */
export function llmsNotes(places: CarePlaces): string {
  return `## How to use it

1. MCP (Streamable HTTP) is at ${places.resource}. Every request carries \`Authorization: Bearer <token>\`; ${places.metadataUrl} names the issuers and scopes.
2. \`care://<patient>/<domain>\` may be spoken to the person. \`care-internal://…\` must never be spoken; reading it needs \`care.read.assistant\`.
3. Subscribe to the URIs that you speak from. On \`notifications/resources/updated\` read again; where the answer's \`_meta\` carries a retraction, say it.
4. Say a record's age where its text begins to: \`[STALE — …; say this age aloud]\`.
5. \`GET ${places.baseUrl}/verify\` replays every chain, without a token. /doc/verify has the hashed bytes.`
}
