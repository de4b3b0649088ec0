/** The verbs of a ledger on PostgreSQL. */
import { existsSync } from 'node:fs'
import {
  BadUsage,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  readVariables,
} from '@tallystick/service-kit/command'
import { z } from 'zod'
import { migrateLedger } from '../adapters/ledger-upkeep.ts'
import { ledgerOwner } from '../adapters/open-stores.ts'
import { gradingConfigSchema } from '../config.ts'
import { readStoreConfig } from './command-store.ts'

/** The database that the environment names. Throws BadUsage if it names none. */
function databaseUrl(terminal: CommandTerminal) {
  const { DATABASE_URL } = gradingConfigSchema.shape
  const url = readVariables(terminal, z.object({ DATABASE_URL })).DATABASE_URL
  if (url === undefined) throw new BadUsage('DATABASE_URL names no database.')
  return url
}

/** `grading migrate`: makes the schema, or brings it up to date. */
export const migrateVerb: CommandVerb = {
  name: 'migrate',
  usage: '',
  summary: 'brings the schema in DATABASE_URL up to date; DATABASE_URL is its owner’s here',
  options: {},
  wordsMax: 0,
  run: async ({ terminal }) => {
    await migrateLedger(databaseUrl(terminal))
    terminal.print('The schema of the ledger is up to date.')
    return EXIT.done
  },
}

/** `grading move`: a ledger's files into a database, or back. */
export const moveVerb: CommandVerb = {
  name: 'move',
  usage: 'postgres|sqlite',
  summary:
    'copies ledger, picks and payments from DATABASE_PATH into DATABASE_URL (its owner’s), or back; stop the service first',
  options: {},
  wordsMax: 1,
  run: async ({ terminal, words: [engine] }) => {
    if (engine !== 'postgres' && engine !== 'sqlite')
      throw new BadUsage('Say where to: grading move postgres, or grading move sqlite.')
    const [url, config] = [databaseUrl(terminal), readStoreConfig(terminal)]
    if (engine === 'postgres' && !existsSync(config.DATABASE_PATH))
      throw new BadUsage('There is no ledger at DATABASE_PATH.')
    const owner = ledgerOwner(config)
    const { rootHash, size } =
      engine === 'postgres'
        ? await (await import('../adapters/move-to-postgres.ts')).moveToPostgres(owner, url)
        : await (await import('../adapters/move-to-sqlite.ts')).moveToSqlite(owner, url)
    terminal.print(`${size} entries moved, root ${Buffer.from(rootHash).toString('hex')}.`)
    return EXIT.done
  },
}
