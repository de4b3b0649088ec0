/** Reads `care://` URIs. */
export const USER_SCOPE = 'care.read.user'
/** Reads `care-internal://` URIs. */
export const ASSISTANT_SCOPE = 'care.read.assistant'
/** Writes with a bearer token. */
export const WRITE_SCOPE = 'care.write'

/** Every scope, in the order of the metadata and of challenges (care.md). */
export const SCOPES = [USER_SCOPE, ASSISTANT_SCOPE, WRITE_SCOPE] as const
