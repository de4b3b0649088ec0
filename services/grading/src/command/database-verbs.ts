/** The verbs of a ledger on PostgreSQL. */
import {
  BadUsage,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  readVariables,
} from '@tallystick/service-kit/command'
import { z } from 'zod'
import { migrateLedger } from '../adapters/ledger-upkeep.ts'
import { gradingConfigSchema } from '../config.ts'

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
