/**
 * The place of a process that must be the only one of its kind. A lock tells whether its holder lives; but it goes with its
 * connection, which can be cut while the process goes on. So whoever takes the place moves an epoch on, and every
 * transaction of a holder makes sure of its own: what it writes after that is refused.
 */

import type { PostgresDoor } from './postgres-door.ts'
import type { PostgresLine } from './postgres-line.ts'

/** How often to ask for a place, and the pause between, milliseconds: a killed process's is soon free. */
const PLACE_TRIES_MAX = 20
const PLACE_PAUSE_MS = 50

type PlaceName = {
  /** Unique in its database. */
  readonly name: string
  readonly schema: string
}

async function isLocked(line: PostgresLine, { name }: PlaceName): Promise<boolean> {
  const [row] = await line.ask<{ readonly is_mine: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 1)) AS is_mine',
    [name],
  )
  return row?.is_mine === true
}

/** Moves the epoch on; returns the statement that fails for every other. */
async function moveOn(line: PostgresLine, { name, schema }: PlaceName): Promise<string> {
  const [row] = await line.ask<{ readonly epoch: number }>(
    `SELECT ${schema}.take_place($1) AS epoch`,
    [name],
  )
  return ` SELECT ${schema}.require_place('${name}', ${row?.epoch ?? 0});`
}

/** Takes a place for as long as the connection lives. Rejects with the service's error. */
export async function takePlace(
  door: Pick<PostgresDoor, 'pause' | 'Unavailable'>,
  line: PostgresLine,
  place: PlaceName,
): Promise<string> {
  for (let tries = 0; tries < PLACE_TRIES_MAX; tries += 1) {
    if (await isLocked(line, place)) return moveOn(line, place)
    await door.pause(PLACE_PAUSE_MS)
  }
  throw new door.Unavailable(
    'another process has this store open (one process at a time may serve it), or its start still waits for a standby',
  )
}

/** Takes the process's place on its first connection; on each further one, makes sure that it still has it. */
export async function keepPlace(
  door: PostgresDoor,
  line: PostgresLine,
  place: PlaceName,
): Promise<void> {
  if (door.placeCheck === '') {
    door.placeCheck = await takePlace(door, line, place)
    return
  }
  await line.run(door.placeCheck)
  // If the server still holds the lock for the lost connection, the epoch alone stands for the place.
  await isLocked(line, place)
}
