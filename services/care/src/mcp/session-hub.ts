import type { Clock } from '@tallystick/service-kit'
import { type CareRecord, mayRead } from '../domain/care-record.ts'
import type { SessionHub } from '../domain/publish-record.ts'
import type { SessionStore } from '../domain/session-store.ts'
import { chainUri } from '../wire/record-uri.ts'
import type { FrameShelf } from './frame-shelf.ts'
import {
  letsNoticeThrough,
  listChangedMessage,
  noticeMessage,
  updatedMessage,
} from './revision-notice.ts'
import type { McpSession } from './session.ts'
import type { SessionRegistry } from './session-registry.ts'

/** Sessions that are written to before other work gets a turn. */
const FAN_OUT_SLICE = 500

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Writes to the streams of sessions, in slices that leave the event loop to others. */
async function pumpAll(sessions: Iterable<McpSession>): Promise<void> {
  let count = 0
  for (const session of sessions) {
    if (session.stream === undefined) continue
    if (count > 0 && count % FAN_OUT_SLICE === 0) await turn()
    count += 1
    session.stream?.pump()
  }
}

/**
 * The hub that a write goes through: frames are stored for every session that is to receive them by its last scopes, its
 * token expired or not (C4), kept, and only then sent, so that no client ever holds an event id that a restart would not
 * know.
 */
export function createSessionHub(deps: {
  readonly serviceName: string
  readonly registry: SessionRegistry
  readonly shelf: FrameShelf
  readonly store: SessionStore
  /** Resolves when what was saved is kept, or the failure to keep it was reported. */
  readonly flush: () => Promise<void>
  readonly clock: Clock
  /** Told when the frames of a record are written to every open stream that they are for, and how long that took. */
  readonly onFannedOut: (seconds: number) => void
}): SessionHub {
  const { clock, serviceName, registry, shelf, store, flush, onFannedOut } = deps

  const mayKnow = ({ audience }: CareRecord): McpSession[] =>
    [...registry.all()].filter(({ scopes }) => mayRead(scopes, audience))

  return {
    async publish(record, previous) {
      const startedMs = clock.unixMs()
      const about = chainUri(record)
      const subscribed = [...registry.subscriptions.of(about)]
      const knowing = mayKnow(record)
      shelf.add({ message: updatedMessage(record), about, recipients: subscribed })
      const heeding = knowing.filter(({ logLevel }) => letsNoticeThrough(logLevel))
      const notice = noticeMessage({ serviceName, record, previous })
      shelf.add({ message: notice, about, recipients: heeding })
      if (record.version === 1)
        shelf.add({ message: listChangedMessage(), about, recipients: knowing })
      store.save([{ kind: 'published', uri: about, version: record.version }])
      await flush()
      // The subscribed are among the knowing: a subscription is lost with its scope.
      void pumpAll(subscribed)
        .then(() => pumpAll(knowing))
        .then(() => onFannedOut((clock.unixMs() - startedMs) / 1_000))
      return subscribed.length
    },
    sessions: () => registry.count,
  }
}
