/** What a write has to do with sessions: who followed its record, at any process, and that streams tell of it. */
import type { CareRecord } from '../domain/care-record.ts'
import type { SessionHub } from '../domain/publish-record.ts'
import type { ListenRows } from '../domain/session-store.ts'
import type { UnheardCorrections } from '../domain/unheard-corrections.ts'
import { chainUri } from '../wire/record-uri.ts'
import type { Listens } from './edges/listens.ts'
import type { JournalFollower } from './sessions/journal-follower.ts'
import type { SessionRegistry } from './sessions/session-registry.ts'

/**
 * What a write says stands in the journals, which the streams read. So nothing is stored here, and nothing is sent before it is
 * durable: no client ever holds an event id that a restart would not know.
 */
export function createSessionHub(deps: {
  readonly registry: SessionRegistry
  readonly follower: Pick<JournalFollower, 'wake'>
  readonly unheard: Pick<UnheardCorrections, 'written'>
  /** Those who listen without a session. */
  readonly listens: { readonly index: Pick<Listens['index'], 'countBefore'> }
  /** Listens of all processes. */
  readonly rows: ListenRows
  /** Sessions could not be read; a write is answered all the same. */
  readonly onProblem: (error: unknown) => void
}): SessionHub {
  const { follower, listens, onProblem, registry, rows, unheard } = deps
  const listeningElsewhere = async (uri: string, place: number): Promise<number> => {
    if (!registry.looks.hasListensElsewhere) return 0
    return rows.countElsewhere(uri, place).catch((error: unknown) => {
      onProblem(error)
      return 0
    })
  }
  const countFollowers = async (record: CareRecord, place: number): Promise<number> => {
    const uri = chainUri(record)
    const here = [registry.subscriptions, listens.index].map((all) => all.countBefore(uri, place))
    return here.reduce((sum, count) => sum + count, await listeningElsewhere(uri, place))
  }
  return {
    async publish(record, previous, place) {
      unheard.written(record, previous, place)
      // Those of other processes, too, as of the write.
      await registry.looks.reach(place).catch(onProblem)
      const followers = countFollowers(record, place)
      follower.wake()
      return followers
    },
    async followers(record, place) {
      await registry.looks.reach(place).catch(onProblem)
      return countFollowers(record, place)
    },
    silent: (uri) => registry.silent(uri).length,
    sessions: () => registry.count,
  }
}
