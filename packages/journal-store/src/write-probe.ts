/** Asks whether a write would be committed now, for `/ready` (S13): a database can answer every read and commit nothing. */

import { keepFinding } from './keep-finding.ts'
import { COMMITS_WAIT, MAKE_OWN, PostgresConnection } from './postgres-connection.ts'
import type { PostgresDoor } from './postgres-door.ts'
import { messageOf, type WriteTrouble } from './unavailable.ts'

/** Asked, connected anew and asked again, it answers before a probe of readiness gives up after 3 s, milliseconds. */
const LIMITS = { answerMs: 1_000, findMs: 300 }

/** The public words: those of the driver name hosts. */
function describeTrouble(message: string): WriteTrouble {
  if (message.endsWith(COMMITS_WAIT)) return { reason: 'commits_wait', sentence: COMMITS_WAIT }
  return { reason: 'database_unavailable', sentence: 'no database server commits in time' }
}

export function openWriteProbe(door: PostgresDoor, onProblem: (error: unknown) => void) {
  const connection = new PostgresConnection(door, LIMITS)
  const look = async (): Promise<WriteTrouble | undefined> => {
    try {
      await connection.transaction((query) => query(MAKE_OWN))
      return undefined
    } catch (error) {
      onProblem(error)
      return describeTrouble(messageOf(error))
    }
  }
  return {
    /** Why a write would fail or wait now; undefined if it would not. */
    trouble: keepFinding(look),
    end: () => connection.end(),
  }
}
