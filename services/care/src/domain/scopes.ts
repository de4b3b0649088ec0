// What scopes let their holder do with records (C24). Pure: the browser runs this file too.

import type { Audience } from '../wire/audience.ts'
import { type ChainSlot, decodeName, isWritableName, normalName } from '../wire/record-uri.ts'

/** Scopes in the order in which metadata and challenges list them (care.md, Authentication 4 and 8). */
export const CARE_SCOPES = ['care.read.user', 'care.read.assistant', 'care.write'] as const

const SCOPE_BY_AUDIENCE: Readonly<Record<Audience, string>> = {
  user: 'care.read.user',
  assistant: 'care.read.assistant',
}

/** Not those of the wire, whose schemas a browser does not load. */
const AUDIENCES = Object.keys(SCOPE_BY_AUDIENCE) as readonly Audience[]

export const audienceScope = (audience: Audience): string => SCOPE_BY_AUDIENCE[audience]

/** Those of them that read. */
export const READ_SCOPES = AUDIENCES.map(audienceScope)

/** The caller, by a verified token. */
export type Principal = {
  readonly sub: string
  readonly scopes: readonly string[]
  readonly jti?: string | undefined
  /** The program that the token was issued to, if it says so. */
  readonly client?: string | undefined
}

/** Permits writes on the bearer path (care.md, Authentication 4). */
const WRITE_SCOPE = 'care.write'

/** Chains of one audience: all of them, or those of one patient. */
export type Reach = Pick<ChainSlot, 'audience'> & Partial<Pick<ChainSlot, 'patient'>>

/** The patient that a scope `<scope>:<patient>` names, percent-encoded there (C24). */
function readPatient(granted: string, scope: string): string | undefined {
  if (!granted.startsWith(`${scope}:`)) return undefined
  const name = normalName(decodeName(granted.slice(scope.length + 1)) ?? '')
  return isWritableName(name) ? name : undefined
}

const covers = (scopes: readonly string[], scope: string, patient: string): boolean =>
  scopes.some((granted) => granted === scope || readPatient(granted, scope) === normalName(patient))

/** Whether a scope is one of this service's, for everybody or for one patient. */
export const isCareScope = (text: string): boolean =>
  !text.includes(' ') &&
  CARE_SCOPES.some((scope) => text === scope || readPatient(text, scope) !== undefined)

/** What a scope is called here: a provider may call it `api://care/care.read.user` (C41). */
export const bareScope = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** Of a provider's own names, those for these scopes of ours, and all that are for none of ours, such as `offline_access`. */
export const namesFor = (ours: readonly string[], names: readonly string[]): readonly string[] =>
  names.filter((name) => {
    const bare = bareScope(name)
    return (
      !isCareScope(bare) || ours.some((scope) => bare === scope || bare.startsWith(`${scope}:`))
    )
  })

/**
 * Whether these scopes may read the chains of a slot; neither audience's scope includes the other's. The names alone decide:
 * a check before the look-up takes the same time for hidden and for absent chains (C30).
 */
export function mayRead(
  scopes: readonly string[],
  { audience, patient }: Pick<ChainSlot, 'audience' | 'patient'>,
): boolean {
  return covers(scopes, SCOPE_BY_AUDIENCE[audience], patient)
}

export function mayWrite(scopes: readonly string[], patient: string): boolean {
  return covers(scopes, WRITE_SCOPE, patient)
}

/**
 * Whether these scopes may write that version (C47). Internal chains are no household's to fill, unless it reads them; and who
 * names the version that he has seen, or withdraws the record, must be able to see it, since the answer tells of the chain.
 */
export function mayPublish(
  scopes: readonly string[],
  write: {
    readonly slot: Pick<ChainSlot, 'audience' | 'patient'>
    /** Whether the answer tells a writer who may not read whether or where the chain is. */
    readonly tellsOfChain: boolean
  },
): boolean {
  const { slot, tellsOfChain } = write
  if (!mayWrite(scopes, slot.patient)) return false
  const needsReading = tellsOfChain || !scopes.includes(WRITE_SCOPE)
  return slot.audience === 'user' || !needsReading || mayRead(scopes, slot)
}

/** Whether these scopes may write anybody's records. */
export function isWriter(scopes: readonly string[]): boolean {
  return scopes.some(
    (granted) => granted === WRITE_SCOPE || readPatient(granted, WRITE_SCOPE) !== undefined,
  )
}

/** Everything that these scopes read. A scope without a patient covers all (C24). */
export function readReach(scopes: readonly string[]): readonly Reach[] {
  return AUDIENCES.flatMap((audience): readonly Reach[] => {
    const scope = SCOPE_BY_AUDIENCE[audience]
    if (scopes.includes(scope)) return [{ audience }]
    const patients = scopes.map((granted) => readPatient(granted, scope))
    return [...new Set(patients)]
      .filter((patient) => patient !== undefined)
      .map((patient) => ({ audience, patient }))
  })
}

/** Whether a scope that names a patient is among these, and none of ours that covers all. */
export function isOfHousehold(scopes: readonly string[]): boolean {
  return (
    CARE_SCOPES.every((scope) => !scopes.includes(scope)) &&
    CARE_SCOPES.some((scope) => scopes.some((granted) => readPatient(granted, scope) !== undefined))
  )
}

export function isWithin(
  { audience, patient }: Pick<ChainSlot, 'audience' | 'patient'>,
  reach: readonly Reach[],
): boolean {
  const name = normalName(patient)
  return reach.some((part) => part.audience === audience && (part.patient ?? name) === name)
}

/** The part of a reach that is one patient's; all of it without a patient. */
export function reachWithin(
  reach: readonly Reach[],
  patient: string | undefined,
): readonly Reach[] {
  if (patient === undefined) return reach
  return reach
    .filter((part) => (part.patient ?? patient) === patient)
    .map(({ audience }) => ({ audience, patient }))
}
