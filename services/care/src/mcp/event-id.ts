/** Characters of the session id that its event ids begin with: enough that no other session's id is taken for its own. */
const TAG_CHARS = 12

const PATTERN = /^(.+)-(0|[1-9]\d{0,14})$/

/** The id of an event: it names its session, and the sequence number of its frame in that session. */
export function formatEventId(session: { readonly id: string }, sequence: number): string {
  return `${session.id.slice(0, TAG_CHARS)}-${sequence}`
}

/** The sequence that an event id of this session names; undefined for a foreign or malformed id. */
export function parseEventId(
  session: { readonly id: string },
  eventId: string,
): number | undefined {
  const match = PATTERN.exec(eventId)
  return match?.[1] === session.id.slice(0, TAG_CHARS) ? Number(match[2]) : undefined
}
