/** The command verbs for a store on PostgreSQL, the same in every service that has one. */
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { BadUsage, type CommandTerminal, type CommandVerb, EXIT, readVariables } from './command.ts'
import { databaseUrlField, storeConfigFault } from './config-field.ts'
import type { Secret } from './secret.ts'

type Config = {
  readonly DATABASE_PATH: string
  readonly DATABASE_URL?: Secret | undefined
  readonly CHECKPOINT_KEY?: Secret | undefined
}

/** The config for opening a service's store. Throws BadUsage if something is missing. */
export function requireStoreConfig<Read extends Config>(config: Read): Read {
  const fault = storeConfigFault(config)
  if (fault !== undefined) throw new BadUsage(`${fault.path[0]}: ${fault.message}.`)
  return config
}

function databaseUrl(terminal: CommandTerminal): Secret {
  const { DATABASE_URL } = readVariables(terminal, z.object({ DATABASE_URL: databaseUrlField() }))
  if (DATABASE_URL === undefined) throw new BadUsage('DATABASE_URL names no database.')
  return DATABASE_URL
}

type MovedJournal = { readonly size: number; readonly rootHash: Uint8Array }

type DatabaseVerbs<Read extends Config> = {
  /** People call what it holds so: `the ledger`. */
  readonly noun: string
  /** Throws BadUsage. */
  readonly readConfig: (terminal: CommandTerminal) => Read
  /** Creates or updates the schema, as its owner, or removes what only the release before needed. */
  readonly migrate: (ownerUrl: Secret, part: 'expand' | 'contract') => Promise<void>
  /** Moves everything from the file into the empty database, or from the database into a new file; returns the journals' heads. */
  readonly move: (
    config: Read & { readonly DATABASE_URL: Secret },
    toFile: string | undefined,
  ) => Promise<Readonly<Record<string, MovedJournal>>>
}

/** `migrate` and `move`. */
export function databaseVerbs<Read extends Config>(
  database: DatabaseVerbs<Read>,
): readonly CommandVerb[] {
  const { migrate, move, noun, readConfig } = database
  return [
    {
      name: 'migrate',
      usage: '[contract]',
      summary:
        'brings the schema in DATABASE_URL up to date; DATABASE_URL is its owner’s here. `contract` then removes what only the release before needed, once none of its processes runs',
      example: 'migrate',
      wordsMax: 1,
      run: async ({ terminal, words: [part = 'expand'] }) => {
        if (part !== 'expand' && part !== 'contract')
          throw new BadUsage('Say contract, or nothing.')
        await migrate(databaseUrl(terminal), part)
        terminal.print(
          part === 'expand'
            ? `The schema of ${noun} is up to date.`
            : `The schema of ${noun} has nothing of the release before.`,
        )
        return EXIT.done
      },
    },
    {
      name: 'move',
      usage: 'to-postgres | to-file FILE',
      summary: `moves ${noun} of a stopped service between DATABASE_PATH and DATABASE_URL (its owner’s), with equal roots, all or nothing`,
      example: 'move to-postgres',
      wordsMax: 2,
      run: async ({ terminal, words: [direction, file] }) => {
        const isToFile = direction === 'to-file' && file !== undefined
        if (!isToFile && (direction !== 'to-postgres' || file !== undefined))
          throw new BadUsage('Say where to: to-postgres, or to-file and a new file.')
        const config = { ...readConfig(terminal), DATABASE_URL: databaseUrl(terminal) }
        // A mistyped path must not pass for an empty store.
        if (!isToFile && !existsSync(config.DATABASE_PATH))
          throw new BadUsage('There is no store at DATABASE_PATH.')
        const moved = await move(config, file)
        for (const [name, { rootHash, size }] of Object.entries(moved))
          terminal.print(
            `${name}: ${size} entries moved, root ${Buffer.from(rootHash).toString('hex')}.`,
          )
        terminal.print('Compare the exports of both, and start the service on the new one only.')
        return EXIT.done
      },
    },
  ]
}
