/**
 * What an accepted writer's record goes through: appended and durable, then told to sessions, then answered (C14). Within
 * a chain sessions hear of versions in their order. Who may write is decided before, in routes/judge-write.ts.
 */
import type { AuditTrail } from './audit-trail.ts'
import type { CareRecord, NewRecord } from './care-record.ts'
import type { RecordStore, RequestKey } from './record-store.ts'
import { chainUri } from './record-uri.ts'
import type { SessionHub } from './session-hub.ts'

/** The 200 of `POST /write`. */
export type WriteAnswer = {
  /** The chain's URI, the one that hosts subscribe to. */
  readonly uri: string
  readonly version: number
  readonly versionHash: string
  readonly writtenAt: string
  /** Sessions subscribed to `uri`. */
  readonly subscribers: number
  readonly notified: boolean
}

/** A record by a writer who is verified. */
export type VerifiedWrite = {
  readonly record: NewRecord
  readonly via: 'hmac' | 'bearer'
  /** The verified `sub`, or the `authorId` that a signed body names. */
  readonly actor: string
  /** Of a signed write. */
  readonly request?: RequestKey
}

export type PublishOutcome =
  | { readonly kind: 'published'; readonly answer: WriteAnswer }
  /** The chain belongs to the other audience. */
  | { readonly kind: 'conflict' }

export type PublishDeps = {
  readonly store: Pick<RecordStore, 'append' | 'version' | 'noteSubscribers'>
  readonly hub: Pick<SessionHub, 'publish'>
  readonly audit: Pick<AuditTrail, 'add'>
  /** The present time in ISO 8601. */
  readonly isoNow: () => string
}

/** Rejects with `RecordStoreUnavailable`, or what the hub or the audit trail throw; the record may be durable by then. */
export type PublishRecord = (write: VerifiedWrite) => Promise<PublishOutcome>

export function createPublisher(deps: PublishDeps): PublishRecord {
  const { store, hub, audit, isoNow } = deps
  const lastOfChain = new Map<string, Promise<unknown>>()

  /** Runs `tell` when what was begun before for the same chain has ended, well or not. */
  const inOrder = async (uri: string, tell: () => Promise<number>): Promise<number> => {
    const before = lastOfChain.get(uri)
    const mine = before === undefined ? tell() : before.then(tell, tell)
    lastOfChain.set(uri, mine)
    try {
      return await mine
    } finally {
      if (lastOfChain.get(uri) === mine) lastOfChain.delete(uri)
    }
  }
  const tellSessions = (record: CareRecord): Promise<number> =>
    inOrder(chainUri(record), async () => {
      const previous =
        record.version === 1 ? undefined : await store.version(record, record.version - 1)
      return await hub.publish(record, previous?.kind === 'found' ? previous.record : undefined)
    })
  const addRow = ({ via, actor }: VerifiedWrite, uri?: string): Promise<void> => {
    const verdict =
      uri === undefined
        ? ({ outcome: 'rejected', reason: 'store_rejected' } as const)
        : ({ outcome: 'accepted', reason: 'ok' } as const)
    return audit.add({
      at: isoNow(),
      ...verdict,
      via,
      actor,
      ...(uri === undefined ? {} : { uri }),
    })
  }
  /** Sessions are told first: they wait for no row, nor for what a repeat of the request is to be answered. */
  const tellAndKeep = async (record: CareRecord, write: VerifiedWrite): Promise<number> => {
    let subscribers = 0
    try {
      subscribers = await tellSessions(record)
    } finally {
      const { request } = write
      await Promise.all([
        addRow(write, chainUri(record)),
        request === undefined ? undefined : store.noteSubscribers(request, subscribers),
      ])
    }
    return subscribers
  }

  return async (write) => {
    const outcome = await store.append(write.record, write.request)
    if (outcome.kind === 'audience-conflict') {
      await addRow(write)
      return { kind: 'conflict' }
    }
    const { version, versionHash, writtenAt } = outcome.record
    const uri = chainUri(outcome.record)
    if (outcome.kind === 'repeated') await addRow(write, uri)
    const subscribers =
      outcome.kind === 'appended' ? await tellAndKeep(outcome.record, write) : outcome.subscribers
    const notified = subscribers > 0
    return {
      kind: 'published',
      answer: { uri, version, versionHash, writtenAt, subscribers, notified },
    }
  }
}
