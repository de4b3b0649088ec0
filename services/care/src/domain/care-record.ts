import type { ChainSlot } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'

/** One stored version of a record, with its value in the clear. */
export type CareRecord = ChainSlot & {
  readonly value: string
  readonly authorId: string
  readonly authorLabel: string
  /** ISO 8601, by the server's clock. */
  readonly writtenAt: string
  /** ISO 8601; the record is stale after it. */
  readonly staleAfter?: string | undefined
  readonly priority?: number | undefined
  /** From 1, without gaps. */
  readonly version: number
  /** Lower-case hex; see packages/hashchain. */
  readonly versionHash: string
  readonly prevHash: string
}

/** What a writer supplies; the store sets the rest. */
export type NewRecord = Omit<CareRecord, 'writtenAt' | 'version' | 'versionHash' | 'prevHash'>

/** Scopes in the order in which metadata and challenges list them (care.md, Authentication 4 and 8). */
export const CARE_SCOPES = ['care.read.user', 'care.read.assistant', 'care.write'] as const

const SCOPE_BY_AUDIENCE: Readonly<Record<Audience, string>> = {
  user: 'care.read.user',
  assistant: 'care.read.assistant',
}

/** Whether these scopes may read an audience's records; neither scope includes the other. */
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
