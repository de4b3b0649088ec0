/**
 * How a record is named: what a person or a topic may be called from now on (C38: one human name is one text, and what is seen is
 * all there is), and the URI that spells both. Pure: the browser runs this file too, so no lookbehind (Safari 15).
 */

import type { Audience } from './audience.ts'
import { foldLetters, readsAs, TWO_FOR_ONE } from './reads-as.ts'

/** The form in which names are kept and compared, whatever a keyboard or a file system made of them. */
export const normalName = (name: string): string => name.normalize('NFC')

/** Whether a text holds half a character. `isWellFormed` tells it too, but browsers of 2022 lack that. */
export const hasLoneSurrogate = (text: string): boolean => /\p{Surrogate}/u.test(text)

/** Whether a text can be a name in the store: not empty, no `/`, no `|`, no U+0000, well-formed Unicode. Older names are kept. */
export function isRecordName(text: string): boolean {
  return text !== '' && !/[/|]/.test(text) && !text.includes('\u0000') && !hasLoneSurrogate(text)
}

/**
 * What controls, is not seen, or stands for nothing that people agreed on (unassigned and private code points, what replaces an
 * object or a broken letter); a mark with no letter before it. Joiners are judged by what is around them.
 */
const HIDDEN =
  /^\p{M}|[\p{Cc}\p{Cn}\p{Co}\p{Zl}\p{Zp}\uFFF9-\uFFFD]|(?![\u200C\u200D])\p{Default_Ignorable_Code_Point}/u
/** Spaces but the one of the keyboard, and what is blank without being one. */
const OTHER_SPACE = /(?! )[\p{Zs}\u2800]/u
/** Full and half widths of letters that have their own. */
const OTHER_WIDTH = /[\uFF01-\uFFEF]/u

/**
 * Letters whose right side (RIGHT_OF) or left side takes part in joining, as Unicode's DerivedJoiningType has them: L and D, R
 * and D. Mandaic, Manichaean and the like are there too, so the ranges are not a script's.
 */
const JOINS_NEXT =
  '\u0620\u0626\u0628\u062A-\u062E\u0633-\u063F\u0641-\u0647\u0649\u064A\u066E\u066F\u0678-\u0687\u069A-\u06BF\u06C1\u06C2\u06CC\u06CE\u06D0\u06D1\u06FA-\u06FC\u06FF\u0712-\u0714\u071A-\u071D\u071F-\u0727\u0729\u072B\u072D\u072E\u074E-\u0758\u075C-\u076A\u076D-\u0770\u0772\u0775-\u0777\u077A-\u077F\u07CA-\u07EA\u0841-\u0845\u0848\u084A-\u0853\u0855\u0860\u0862-\u0865\u0868\u0886\u0889-\u088D\u08A0-\u08A9\u08AF\u08B0\u08B3-\u08B8\u08BA-\u08C8\u1807\u1820-\u1878\u1887-\u18A8\u18AA\uA840-\uA872\u{10AC0}-\u{10AC4}\u{10ACD}\u{10AD3}-\u{10ADC}\u{10ADE}-\u{10AE0}\u{10AEB}-\u{10AEE}\u{10B80}\u{10B82}\u{10B86}-\u{10B88}\u{10B8A}\u{10B8B}\u{10B8D}\u{10B90}\u{10BAD}\u{10BAE}\u{10D00}-\u{10D21}\u{10D23}\u{10F30}-\u{10F32}\u{10F34}-\u{10F44}\u{10F51}-\u{10F53}\u{10F70}-\u{10F73}\u{10F76}-\u{10F81}\u{10FB0}\u{10FB2}\u{10FB3}\u{10FB8}\u{10FBB}\u{10FBC}\u{10FBE}\u{10FBF}\u{10FC1}\u{10FC4}\u{10FCA}\u{10FCB}\u{1E900}-\u{1E943}'
const JOINS_LAST =
  '\u0620\u0622-\u063F\u0641-\u064A\u066E\u066F\u0671-\u0673\u0675-\u06D3\u06D5\u06EE\u06EF\u06FA-\u06FC\u06FF\u0710\u0712-\u072F\u074D-\u077F\u07CA-\u07EA\u0840-\u0858\u0860\u0862-\u0865\u0867-\u086A\u0870-\u0882\u0886\u0889-\u088E\u08A0-\u08AC\u08AE-\u08C8\u1807\u1820-\u1878\u1887-\u18A8\u18AA\uA840-\uA871\u{10AC0}-\u{10AC5}\u{10AC7}\u{10AC9}\u{10ACA}\u{10ACE}-\u{10AD6}\u{10AD8}-\u{10AE1}\u{10AE4}\u{10AEB}-\u{10AEF}\u{10B80}-\u{10B91}\u{10BA9}-\u{10BAE}\u{10D01}-\u{10D23}\u{10F30}-\u{10F44}\u{10F51}-\u{10F54}\u{10F70}-\u{10F81}\u{10FB0}\u{10FB2}-\u{10FB6}\u{10FB8}-\u{10FBF}\u{10FC1}-\u{10FC4}\u{10FC9}-\u{10FCA}\u{1E900}-\u{1E943}'
const TRANSPARENT = '[\\p{Mn}\\p{Me}]*'
const JOINED_BEFORE = new RegExp(`[${JOINS_NEXT}]${TRANSPARENT}$`, 'u')
const JOINED_AFTER = new RegExp(`^${TRANSPARENT}[${JOINS_LAST}]`, 'u')
/** Canonical combining class 9. */
const VIRAMA_BEFORE =
  /[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D3B\u0D3C\u0D4D\u0DCA\u0E3A\u0EBA\u0F84\u1039\u103A\u1714\u1715\u1734\u17D2\u1A60\u1B44\u1BAA\u1BAB\u1BF2\u1BF3\u2D7F\uA806\uA82C\uA8C4\uA953\uA9C0\uAAF6\uABED\u{10A3F}\u{11046}\u{11070}\u{1107F}\u{110B9}\u{11133}\u{11134}\u{111C0}\u{11235}\u{112EA}\u{1134D}\u{11442}\u{114C2}\u{115BF}\u{1163F}\u{116B6}\u{1172B}\u{11839}\u{1193D}\u{1193E}\u{119E0}\u{11A34}\u{11A47}\u{11A99}\u{11C3F}\u{11D44}\u{11D45}\u{11D97}]$/u

/** Whether each joiner stands where its script needs it: RFC 5892, appendix A.1 and A.2. */
const areJoinersNeeded = (text: string): boolean =>
  [...text.matchAll(/[\u200C\u200D]/g)].every(({ 0: joiner, index }) => {
    const before = text.slice(0, index)
    if (VIRAMA_BEFORE.test(before)) return true
    const after = text.slice(index + 1)
    return joiner === '\u200C' && JOINED_BEFORE.test(before) && JOINED_AFTER.test(after)
  })

/** Most names: a report of a large store asks this of each. */
const isPlainAscii = (text: string): boolean =>
  /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !/[/|]|^\.{1,2}$/.test(text)

/** Whether a text may name a patient or a domain from now on: in its normal form, one plain line, and no folder to any program. */
export const isWritableName = (text: string): boolean =>
  isPlainAscii(text) ||
  (isRecordName(text) &&
    text === normalName(text) &&
    text === text.trim() &&
    !/^\.{1,2}$/.test(text) &&
    ![HIDDEN, OTHER_SPACE, OTHER_WIDTH].some((pattern) => pattern.test(text)) &&
    areJoinersNeeded(text))

/** Marks that are vowels or the like in their script, not accents. */
const SPELLING_MARK = /(?!\p{Script=Inherited})\p{M}/u

/**
 * Marks that tell no name from another for who reads it: the points of Hebrew, Arabic, Syriac and Ethiopic, and the dot below
 * that letters of India may lack; where a nasal has a moon or a dot, either is written.
 */
const UNREAD_MARK =
  /(?=\p{M})[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Ethiopic}]|[\u093C\u09BC\u0A3C\u0ABC\u0B3C\u0C3C\u0CBC]/gu
const MOON = /[\u0901\u0981\u0A81\u0B01\u0C01]/g
const withoutUnread = (name: string): string =>
  name
    .normalize('NFD')
    .replace(UNREAD_MARK, '')
    .replace(MOON, (sign) => String.fromCharCode(sign.charCodeAt(0) + 1))
    .normalize('NFC')

/** With the apostrophe and the hyphen of a keyboard: a telephone writes O’Brien. */
const withPlainSigns = (name: string): string =>
  name.replace(/['‘’‛ʹʻʼʽ′`´]/g, "'").replace(/[\p{Pd}\u2212]/gu, '-')

/** What is left out, or is a space: Mary Ann is Mary-Ann and MaryAnn. */
const withoutJoints = (name: string): string => name.replace(/[\s'._-]/gu, '')

/** What a name may be taken for: without case, accents, alphabets and joints, and by the digits and letters that look like others. */
export function listLooks(text: string): readonly string[] {
  const name = withPlainSigns(text)
  // A joiner only shapes what stands around it.
  const plain = foldLetters(withoutUnread(name))
  if (SPELLING_MARK.test(plain)) return [plain]
  const looks = [
    readsAs(name.toUpperCase()),
    readsAs(name.replace(/[I1|]/g, 'l').replace(/0/g, 'o').replace(/rn/g, 'm')),
    // Müller is written Mueller, and on a keyboard without ü Muller.
    readsAs(plain).replace(TWO_FOR_ONE, '$1').replace(/aa/g, 'a'),
    readsAs(withoutJoints(plain)),
  ]
  return [...new Set(looks)]
}

/** Whether a reader may take two different names for one. The looks are compact: the letters that C45 knows, not all of TR39. */
export function areAlike(left: string, right: string): boolean {
  if (left === right) return false
  const looks = listLooks(right)
  return listLooks(left).some((look) => looks.includes(look))
}

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
