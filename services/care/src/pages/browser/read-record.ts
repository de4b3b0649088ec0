/** Reading records: the newest version over a session, its spoken form, and what is stored before a write. */
import { breakable, fetchInTime, pageFact, Unreachable } from '@tallystick/service-kit/browser'
import { languageAttributes } from '../../wire/language-tag.ts'
import { type ChainSlot, chainUri, decodeName, parseRecordUri } from '../../wire/record-uri.ts'
import type { RecordMeta } from '../../wire/records.ts'
import { elementText } from '../../wire/text-of-others.ts'
import { textsIn } from '../../wire/texts.ts'
import type { VerifyPayload } from '../../wire/verify.ts'
import {
  McpError,
  type McpSession,
  openMcpSession,
  SessionLost,
  TokenRefused,
} from './mcp-session.ts'
import { refusalWords } from './sign-in.ts'
import { word } from './words.ts'

/** The newest version of a record, as a read gives it (C10). */
export type ShownRecord = Pick<
  RecordMeta,
  'uri' | 'version' | 'value' | 'status' | 'language' | 'writtenAt' | 'authorLabel' | 'staleAfter'
> & {
  /** A record's age in words for a person, when it was read. */
  readonly age: string
  /** Unix milliseconds, by this browser's clock. */
  readonly readAtMs: number
  readonly isStale: boolean
  /** The sentence that takes back the previous version. */
  readonly retraction: string | undefined
}

/** JSON-RPC errors of a read (C10): the stored version does not hold; not there for this token. */
const FAILED = new Map([
  [-32_603, { kind: 'broken' as const }],
  [-32_002, { kind: 'absent' as const }],
])

/** A record's spoken form has a blob. */
type Content = {
  readonly blob?: string
  readonly mimeType: string
  readonly _meta: RecordMeta
}

/** The only content of a resource, or why there is none. */
async function readContent(session: McpSession, uri: string) {
  try {
    const { contents } = await session.request<{ readonly contents: readonly [Content] }>(
      'resources/read',
      { uri },
    )
    return { kind: 'found' as const, content: contents[0] }
  } catch (error) {
    const failed = error instanceof McpError ? FAILED.get(error.code ?? 0) : undefined
    if (failed !== undefined) return failed
    throw error
  }
}

/** Whether names are shown to tokens alone (C33). */
export const areNamesPrivate = (): boolean => pageFact('verify-names') === 'private'

/** The service's name, as used in headers and `_meta` keys. */
export const serviceName = (): string => pageFact('service-name')

/** The chain that a URI names; undefined for the URI of a version, of audio or of anything else. */
export function readChain(uri: string): ChainSlot | undefined {
  const read = parseRecordUri(uri)
  return read?.version === undefined ? read?.slot : undefined
}

/** A record's URI for a person: its names as they are, not percent-encoded. */
export const readableUri = (uri: string): readonly (Node | string)[] =>
  breakable(
    uri
      .split('/')
      .map((part) => elementText(decodeName(part) ?? part))
      .join('/'),
  )

/** Attributes of what a version says: its value, or the service's sentence that it was withdrawn. */
export const valueAttributes = ({
  language,
  status,
}: Pick<ShownRecord, 'language' | 'status'>): Readonly<Record<string, string>> =>
  status === undefined ? languageAttributes(language) : aroundAttributes(language)

/** Attributes of what the service says around a value. */
export const aroundAttributes = (language: string | undefined): Readonly<Record<string, string>> =>
  languageAttributes(textsIn(language).language)

export async function readRecord(session: McpSession, uri: string) {
  const read = await readContent(session, uri)
  if (read.kind !== 'found') return read
  const { _meta: meta } = read.content
  const { authorLabel, language, version, value, staleAfter, status, writtenAt } = meta
  const said = (what: 'age' | 'retraction'): string | undefined => {
    const text = meta[`${serviceName()}/${what}`]
    return typeof text === 'string' ? text : undefined
  }
  const record: ShownRecord = {
    uri,
    version,
    value,
    status,
    language,
    writtenAt,
    authorLabel,
    staleAfter,
    age: said('age') ?? '',
    readAtMs: Date.now(),
    isStale: meta.stale,
    retraction: said('retraction'),
  }
  return { kind: 'found' as const, record }
}

/** Reads the spoken form of a version; undefined if the service has none. */
export async function readSpeech(
  session: McpSession,
  { uri, version }: Pick<ShownRecord, 'uri' | 'version'>,
): Promise<Blob | undefined> {
  const read = await readContent(session, `${uri}/${version}/audio`)
  if (read.kind !== 'found') return undefined
  const { blob = '', mimeType: type } = read.content
  return new Blob([Uint8Array.from(atob(blob), (letter) => letter.charCodeAt(0))], { type })
}

/**
 * The slots of all chains that this token may know of, or anybody without one, to suggest names; none if the service does not
 * tell.
 */
export async function readKnownSlots(token: string): Promise<readonly ChainSlot[]> {
  if (token === '' && areNamesPrivate()) return []
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  try {
    const headers = { accept: 'application/json', ...authorization }
    const answer = await fetchInTime('/verify', { headers })
    if (!answer.ok) return []
    const { chains }: VerifyPayload = await answer.json()
    return chains.map(({ uri }) => readChain(uri)).filter((slot) => slot !== undefined)
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return []
  }
}

/** What is stored before a write, as far as a token lets the page know. */
export type Before =
  /** `unknown` without a token, `unnamed` without a name of the person or the topic. */
  | { readonly kind: 'unknown' | 'unnamed' | 'none' | 'broken' | 'unreachable' }
  | { readonly kind: 'found'; readonly record: ShownRecord; readonly slot: ChainSlot }
  | { readonly kind: 'refused'; readonly why: string }

/** What an error answer of a session means to a person. */
export const failureWords = ({ code, status }: McpError): string =>
  word('answered', { status: status ?? code ?? '?' })

type Names = Omit<ChainSlot, 'audience'>

/** Looks in whichever audience the token may read. */
async function readBefore(session: McpSession, names: Names): Promise<Before> {
  for (const audience of ['user', 'assistant'] as const) {
    const slot = { ...names, audience }
    const outcome = await readRecord(session, chainUri(slot))
    if (outcome.kind === 'broken') return outcome
    if (outcome.kind === 'found') return { ...outcome, slot }
  }
  return { kind: 'none' }
}

/** Reads what is stored for a person and a topic over one session, opened when first needed. */
export function createRecordReader() {
  let open: { readonly token: string; readonly session: Promise<McpSession> } | undefined

  function end(): void {
    void open?.session.then((session) => session.end()).catch(() => undefined)
    open = undefined
  }
  function sessionFor(token: string): Promise<McpSession> {
    if (open?.token !== token) {
      end()
      open = { token, session: openMcpSession({ url: '/mcp', token }) }
    }
    return open.session
  }
  return {
    end,
    async read(token: string, names: Names): Promise<Before> {
      if (token === '') return { kind: 'unknown' }
      if (names.patient === '' || names.domain === '') return { kind: 'unnamed' }
      try {
        return await readBefore(await sessionFor(token), names)
      } catch (error) {
        open = undefined
        if (error instanceof TokenRefused)
          return { kind: 'refused', why: refusalWords(error.message) }
        if (error instanceof McpError) return { kind: 'refused', why: failureWords(error) }
        if (error instanceof Unreachable || error instanceof SessionLost)
          return { kind: 'unreachable' }
        throw error
      }
    },
  }
}
