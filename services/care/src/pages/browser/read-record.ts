/** Reading records: the newest version over a session, its spoken form, and what stands stored before a write. */
import { pageFact } from '@tallystick/service-kit/browser'
import { type ChainSlot, chainUri, parseRecordUri } from '../../wire/record-uri.ts'
import type { RecordMeta } from '../../wire/records.ts'
import type { VerifyPayload } from '../../wire/verify.ts'
import { McpError, type McpSession, openMcpSession, TokenRefused } from './mcp-session.ts'

/** The newest version of a record, as a read gives it (C10). */
export type ShownRecord = Pick<RecordMeta, 'uri' | 'version' | 'value' | 'writtenAt'> & {
  /** `[changed 2d ago by …]` or `[STALE — …]`. */
  readonly ageLine: string
  readonly isStale: boolean
  /** The sentence that takes the version before it back. */
  readonly retraction: string | undefined
}

export type ReadOutcome =
  | { readonly kind: 'found'; readonly record: ShownRecord }
  /** What is stored does not hold. */
  | { readonly kind: 'broken' }
  /** Not there for this token. */
  | { readonly kind: 'absent' }

/** JSON-RPC errors of a read (C10): the stored text and its hash differ; not there for this token. */
const BROKEN = -32_603
const NOT_FOUND = -32_002

type Contents<Content> = { readonly contents: readonly [Content] }

/** The service's name, which stands in headers and `_meta` keys. */
export const serviceName = (): string => pageFact('service-name')

/** The chain that a URI names; undefined for the URI of a version, of audio or of anything else. */
export function chainOf(uri: string): ChainSlot | undefined {
  const read = parseRecordUri(uri)
  return read?.version === undefined ? read?.slot : undefined
}

/** Reads the newest version. */
export async function readRecord(session: McpSession, uri: string): Promise<ReadOutcome> {
  try {
    const { contents } = await session.request<
      Contents<{ readonly text: string; readonly _meta: RecordMeta }>
    >('resources/read', { uri })
    const [{ text, _meta: meta }] = contents
    const retraction = meta[`${serviceName()}/retraction`]
    const record = {
      uri,
      version: meta.version,
      value: meta.value,
      ageLine: text.slice(text.lastIndexOf('\n') + 1),
      isStale: meta.stale,
      writtenAt: meta.writtenAt,
      retraction: typeof retraction === 'string' ? retraction : undefined,
    }
    return { kind: 'found', record }
  } catch (error) {
    if (error instanceof McpError && error.code === BROKEN) return { kind: 'broken' }
    if (error instanceof McpError && error.code === NOT_FOUND) return { kind: 'absent' }
    throw error
  }
}

/** Reads the spoken form of a version; undefined where the service has none. */
export async function readSpeech(
  session: McpSession,
  { uri, version }: Pick<ShownRecord, 'uri' | 'version'>,
): Promise<Blob | undefined> {
  try {
    const { contents } = await session.request<
      Contents<{ readonly blob: string; readonly mimeType: string }>
    >('resources/read', { uri: `${uri}/${version}/audio` })
    const [{ blob, mimeType }] = contents
    return new Blob([Uint8Array.from(atob(blob), (letter) => letter.charCodeAt(0))], {
      type: mimeType,
    })
  } catch (error) {
    if (error instanceof McpError && (error.code === NOT_FOUND || error.code === BROKEN))
      return undefined
    throw error
  }
}

/** The slots of all public chains; none where the service does not answer. */
export async function readPublicSlots(): Promise<readonly ChainSlot[]> {
  try {
    const answer = await fetch('/verify', { headers: { accept: 'application/json' } })
    const { chains }: VerifyPayload = await answer.json()
    return chains.map(({ uri }) => chainOf(uri)).filter((slot) => slot !== undefined)
  } catch {
    return []
  }
}

/** What stands stored before a write, as far as a token lets the page know. */
export type Before =
  /** No token. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'none' }
  | { readonly kind: 'found'; readonly record: ShownRecord; readonly slot: ChainSlot }
  | { readonly kind: 'broken' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unreachable' }

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
      if (token === '' || names.patient === '' || names.domain === '') return { kind: 'unknown' }
      try {
        return await readBefore(await sessionFor(token), names)
      } catch (error) {
        open = undefined
        const isRefusal = error instanceof TokenRefused || error instanceof McpError
        return isRefusal ? { kind: 'refused', why: error.message } : { kind: 'unreachable' }
      }
    },
  }
}
