/** How an accepted write reaches sessions: who follows its record is counted, and the streams are woken (C4). */
import type { SessionHub } from '../domain/publish-record.ts'
import type { UnheardCorrections } from '../domain/unheard-corrections.ts'
import { chainUri } from '../wire/record-uri.ts'
import type { JournalFollower } from './journal-follower.ts'
import type { Listens } from './listens.ts'
import type { SessionRegistry } from './session-registry.ts'

/**
 * What a write says stands in the journals, which the streams read. So nothing is stored here, and nothing is sent before it is
 * durable: no client ever holds an event id that a restart would not know.
 */
export function createSessionHub(deps: {
  readonly registry: SessionRegistry
  readonly follower: Pick<JournalFollower, 'wake'>
  readonly unheard: Pick<UnheardCorrections, 'written'>
  /** Those who listen without a session. */
  readonly listens: Pick<Listens, 'following'>
}): SessionHub {
  const { follower, listens, registry, unheard } = deps
  return {
    async publish(record, previous, place) {
      unheard.written(record, previous, place)
      const subscribed = registry.subscriptions.countBefore(chainUri(record), place)
      const following = listens.following(record)
      follower.wake()
      return subscribed + following
    },
    silent: (uri) => registry.silent(uri).length,
    sessions: () => registry.count,
  }
}
