// Record URIs. Pure: the browser runs this file too.

import { isRecordName, normalName } from './record-name.ts'
import type { Audience } from './records.ts'

/** Where a chain lives. `patient` and `domain` are record names. */
export type ChainSlot = {
  readonly patient: string
  readonly domain: string
  readonly audience: Audience
}

/** A chain by its name: a topic's own, or one that was moved aside when the topic was freed, by its number (C47). */
export type NamedChain = ChainSlot & {
  /** From 1, in the order in which the topic's chains of that audience were freed. */
  readonly freed?: number | undefined
}

/** The parts of a record's URI. Without `version` it names the newest; `isAudio` for `…/<version>/audio`. */
export type RecordUri = {
  readonly slot: ChainSlot
  readonly version?: number
  readonly isAudio: boolean
}

const SCHEMES: ReadonlyMap<string, Audience> = new Map([
  ['care', 'user'],
  ['care-internal', 'assistant'],
])
/** JavaScript represents every such version exactly. */
const VERSION_PATTERN = /^v?([1-9]\d{0,14})$/
/**
 * Characters that RFC 3986 allows unescaped in a host, where the patient stands, and in a segment of a path; `/` and `|` cannot
 * be in a name at all.
 */
const IN_HOST = /%(?:21|24|26|27|28|29|2A|2B|2C|3B|3D)/gi
const IN_PATH = /%(?:21|24|26|27|28|29|2A|2B|2C|3A|3B|3D|40)/gi
/** Two of the longest names take 1,536, with three characters for each byte. */
const RECORD_URI_CHARS_MAX = 4_096

/** The name that a percent-encoded text spells; undefined if it spells none. */
export function decodeName(text: string): string | undefined {
  try {
    const name = decodeURIComponent(text)
    return isRecordName(name) ? name : undefined
  } catch {
    return undefined // a stray % or bytes that are no UTF-8
  }
}

/**
 * Reads a `care://` or `care-internal://` URI, the scheme in any case, versions as `/<n>` or `/v<n>`; undefined for anything
 * else. The names are as the URI spells them: a chain of before C38 is found by its own spelling alone, every other one by its
 * normal form (the store looks both up).
 */
export function parseRecordUri(uri: string): RecordUri | undefined {
  if (uri.length > RECORD_URI_CHARS_MAX) return undefined
  const match = /^([A-Za-z-]+):\/\/([^/]*)\/([^/]*)(?:\/([^/]+))?(?:\/(audio))?$/.exec(uri)
  const audience = SCHEMES.get(match?.[1]?.toLowerCase() ?? '')
  const patient = decodeName(match?.[2] ?? '')
  const domain = decodeName(match?.[3] ?? '')
  if (audience === undefined || patient === undefined || domain === undefined) return undefined
  const slot = { patient, domain, audience }
  const versionText = match?.[4]
  const isAudio = match?.[5] !== undefined
  if (versionText === undefined) return { slot, isAudio: false }
  const version = VERSION_PATTERN.exec(versionText)?.[1]
  if (version === undefined || (isAudio && audience !== 'user')) return undefined
  return { slot, version: Number(version), isAudio }
}

const encodeName = (name: string, asTheyAre: RegExp): string =>
  encodeURIComponent(name).replace(asTheyAre, (escape) => decodeURIComponent(escape))

/**
 * The URI of a chain, `care://<patient>/<domain>`, names percent-encoded where needed. That of a freed one ends in
 * `/freed-<n>`: it is no record's URI.
 */
export function chainUri({ patient, domain, audience, freed }: NamedChain): string {
  const scheme = audience === 'user' ? 'care' : 'care-internal'
  const end = freed === undefined ? '' : `/freed-${freed}`
  return `${scheme}://${encodeName(patient, IN_HOST)}/${encodeName(domain, IN_PATH)}${end}`
}

/** Reads the URI of a chain or of a version of it; those of freed chains too, which parseRecordUri does not know. */
export function parseChainUri(
  uri: string,
): { readonly slot: NamedChain; readonly version?: number } | undefined {
  const match = /^([^/]*\/\/[^/]*\/[^/]*)\/freed-([1-9]\d{0,8})(\/.*)?$/.exec(uri)
  const parsed = parseRecordUri(match === null ? uri : `${match[1]}${match[3] ?? ''}`)
  if (parsed === undefined || (match !== null && parsed.isAudio)) return undefined
  const { slot, version } = parsed
  const named = match === null ? slot : { ...slot, freed: Number(match[2]) }
  return version === undefined ? { slot: named } : { slot: named, version }
}

/** The same chain in the normal form of its names (C38). */
export const normalSlot = <Slot extends NamedChain>(slot: Slot): Slot => ({
  ...slot,
  patient: normalName(slot.patient),
  domain: normalName(slot.domain),
})

/** The URI of one version, `…/<n>`. */
export function versionUri(slot: NamedChain, version: number): string {
  return `${chainUri(slot)}/${version}`
}

/** The URI of a version's spoken form, `…/<n>/audio`. */
export function audioUri(slot: ChainSlot, version: number): string {
  return `${versionUri(slot, version)}/audio`
}
