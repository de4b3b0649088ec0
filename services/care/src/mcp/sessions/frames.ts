/**
 * What happened at a place, as frames: what it says, to whom, and in which order (C4). A frame is rendered when the first stream
 * needs it, and shared by all. Scopes, level and subscription are judged when a stream takes it, live and replayed alike.
 */
import { countVersions, type Position } from '../../domain/position.ts'
import type { PlacedFree, PlacedVersion, Revision } from '../../domain/record-store.ts'
import { mayRead } from '../../domain/scopes.ts'
import { LOG_LEVELS, type LogLevel } from '../../wire/mcp.ts'
import { type ChainSlot, chainUri } from '../../wire/record-uri.ts'
import type { RevisionNotice } from '../../wire/records.ts'

/** The level of a revision notice: normal but significant (RFC 5424). */
const NOTICE_LEVEL: LogLevel = 'notice'
/** Names and labels in a notice are cut to this many characters, so that notices stay small. */
const LABEL_CHARS_MAX = 256

const cutOff = (label: string): string =>
  label.length > LABEL_CHARS_MAX ? `${label.slice(0, LABEL_CHARS_MAX).toWellFormed()}…` : label

/** Whether a session's log level lets a revision notice through; without a level everything is sent. */
export const letsNoticeThrough = (logLevel: LogLevel | undefined): boolean =>
  logLevel === undefined || LOG_LEVELS.indexOf(logLevel) <= LOG_LEVELS.indexOf(NOTICE_LEVEL)

export function updatedMessage(chain: ChainSlot): object {
  return {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: chainUri(chain) },
  }
}

const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/resources/list_changed' }

export function noticeMessage({
  previous,
  record,
  serviceName,
}: Revision & { readonly serviceName: string }): object {
  const { version, versionHash, prevHash, writtenAt, authorId, authorLabel } = record
  const data: RevisionNotice = {
    uri: chainUri(record),
    version,
    previousVersion: version > 1 ? version - 1 : null,
    valueChanged: previous === undefined || previous.value !== record.value,
    versionHash,
    prevHash,
    writtenAt,
    authorId: cutOff(authorId),
    authorLabel: cutOff(authorLabel),
    staleAfter: record.staleAfter,
    priority: record.priority,
    language: record.language,
  }
  return {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: NOTICE_LEVEL, logger: `${serviceName}/revisions`, data },
  }
}

/** The frames that one happening may have, in their order. Some of them are a mask, with a bit for each. */
const KINDS = ['updated', 'notice', 'list-changed'] as const
type FrameKind = (typeof KINDS)[number]

const kindsIn = (mask: number): readonly FrameKind[] =>
  KINDS.filter((_kind, index) => (mask & (1 << index)) !== 0)

/** Who gets frames: a session's part, and the scopes of the token that opened its stream (C48). */
export type Listener = {
  readonly session: {
    readonly scopes: readonly string[]
    readonly logLevel: LogLevel | undefined
    readonly subscriptions: ReadonlyMap<string, number> | undefined
  }
  readonly ownScopes: readonly string[]
}

export type Frame = {
  /** The rest of its event, behind the id. */
  readonly text: string
  /** Behind it, for this listener. */
  readonly position: Position
  readonly isUpdate: boolean
}

type HappeningParts = {
  readonly slot: ChainSlot
  /** Sizes of the journals before it. */
  readonly at: Pick<Position, 'user' | 'assistant'>
  /** Frames of its place before its own. */
  readonly first: number
  /** 0 where a topic was freed, and nothing is there (C47). */
  readonly version: number
  readonly changesList: boolean
  readonly serviceName: string
  /** Its record is told of by a newer one: only the list has changed by it. */
  readonly isListOnly?: boolean
}

type MoreParts = Pick<HappeningParts, 'first' | 'serviceName' | 'isListOnly'>

/** A version, or a topic that was freed before the next one. */
export class Happening {
  readonly slot: ChainSlot
  readonly uri: string
  readonly version: number
  readonly place: number
  /** Whether lists gain or lose its record by it: it begins, withdraws or brings it back (C6, C40). */
  readonly changesList: boolean
  /** Frames of its place before its own. */
  readonly first: number
  /** Behind all that anybody is told of it. */
  readonly end: Position
  /** What its notice says, once it is read; undefined if the version does not hold, or is none. */
  revision: Revision | undefined
  readonly #parts: HappeningParts
  readonly #texts = new Map<FrameKind, string>()
  /** By the mask of their kinds: most listeners have the same. */
  readonly #frames = new Map<number, readonly Frame[]>()

  constructor(parts: HappeningParts) {
    this.#parts = parts
    this.slot = parts.slot
    this.uri = chainUri(parts.slot)
    this.version = parts.version
    this.place = countVersions(parts.at)
    this.changesList = parts.changesList
    this.first = parts.first
    this.end = this.#findEnd(parts)
  }

  static written(
    { audience, changesList, domain, leaf, patient, place, version }: PlacedVersion,
    more: MoreParts,
  ): Happening {
    const slot = { patient, domain, audience }
    const other = place - leaf
    const at =
      audience === 'user' ? { user: leaf, assistant: other } : { user: other, assistant: leaf }
    return new Happening({ slot, at, version, changesList, ...more })
  }

  static freed(
    { assistant, audience, domain, patient, user }: PlacedFree,
    more: MoreParts,
  ): Happening {
    const slot = { patient, domain, audience }
    return new Happening({
      slot,
      at: { user, assistant },
      version: 0,
      changesList: false,
      ...more,
    })
  }

  #findEnd({ at, first }: HappeningParts): Position {
    if (this.version === 0) return { ...at, frames: first + 1 }
    return this.slot.audience === 'user'
      ? { user: at.user + 1, assistant: at.assistant, frames: 0 }
      : { user: at.user, assistant: at.assistant + 1, frames: 0 }
  }

  /** Its frames for a listener that are not before a position. */
  framesFor(listener: Listener, from: Position): readonly Frame[] {
    const mask = this.#kindsFor(listener, this.revision !== undefined, from)
    const known = this.#frames.get(mask)
    if (known !== undefined) return known
    const { at, first } = this.#parts
    const kinds = kindsIn(mask)
    const frames = kinds.map((kind, index) => ({
      text: this.#writeText(kind),
      // Behind its last frame a version is over, so that it need not be looked at again.
      position:
        index === kinds.length - 1 ? this.end : { ...at, frames: first + KINDS.indexOf(kind) + 1 },
      isUpdate: kind === 'updated',
    }))
    this.#frames.set(mask, frames)
    return frames
  }

  /** How many they are, before what it says is read. */
  countFor(listener: Listener, from: Position): number {
    return kindsIn(this.#kindsFor(listener, this.version > 0, from)).length
  }

  #kindsFor({ ownScopes, session }: Listener, hasNotice: boolean, from: Position): number {
    const { logLevel, scopes, subscriptions } = session
    if (!mayRead(scopes, this.slot) || !mayRead(ownScopes, this.slot)) return 0
    const since = this.#parts.isListOnly === true ? undefined : subscriptions?.get(this.uri)
    const isSubscribed = since !== undefined && since <= this.place
    const isNoticed = hasNotice && letsNoticeThrough(logLevel)
    const mask = Number(isSubscribed) + 2 * Number(isNoticed) + 4 * Number(this.changesList)
    const passed = countVersions(from) === this.place ? Math.max(0, from.frames - this.first) : 0
    return passed < KINDS.length ? (mask >> passed) << passed : 0
  }

  #writeText(kind: FrameKind): string {
    const known = this.#texts.get(kind)
    if (known !== undefined) return known
    const text = `event: message\ndata: ${JSON.stringify(this.#writeMessage(kind))}\n\n`
    this.#texts.set(kind, text)
    return text
  }

  #writeMessage(kind: FrameKind): object {
    switch (kind) {
      case 'updated':
        return updatedMessage(this.slot)
      case 'notice':
        if (this.revision === undefined) throw new Error('a notice of nothing')
        return noticeMessage({ ...this.revision, serviceName: this.#parts.serviceName })
      case 'list-changed':
        return LIST_CHANGED
      default:
        return kind satisfies never
    }
  }
}
