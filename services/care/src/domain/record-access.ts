import type { Audience } from './care-record.ts'

/** Scopes in the order in which metadata and challenges list them (care.md, Authentication 4 and 8). */
export const CARE_SCOPES = ['care.read.user', 'care.read.assistant', 'care.write'] as const

const SCOPE_BY_AUDIENCE: Readonly<Record<Audience, string>> = {
  user: 'care.read.user',
  assistant: 'care.read.assistant',
}

const AUDIENCES: readonly Audience[] = ['user', 'assistant']

/** Whether these scopes read the records of an audience: `care.read.user` reads `care://`, `care.read.assistant` reads `care-internal://`; neither stands for the other. */
export function mayRead(scopes: readonly string[], audience: Audience): boolean {
  return scopes.includes(SCOPE_BY_AUDIENCE[audience])
}

/** The audiences whose records these scopes read. */
export function readableAudiences(scopes: readonly string[]): readonly Audience[] {
  return AUDIENCES.filter((audience) => mayRead(scopes, audience))
}

/** Whether a URI names a card, which holds no record and is open to every principal. */
export function isCardUri(uri: string): boolean {
  return uri.startsWith('ui://') && uri.length > 'ui://'.length
}
