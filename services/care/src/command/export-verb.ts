import { once } from 'node:events'
import { createWriteStream, rmSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { BadUsage, type CommandCall, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { openSqliteRecordReader } from '../adapters/sqlite-record-store.ts'
import { PRIVATE_FILE_MODE } from '../adapters/store-files.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { storeOptions } from './command-config.ts'

const AUDIENCES: Readonly<Record<string, readonly Audience[]>> = {
  user: ['user'],
  assistant: ['assistant'],
  all: ['user', 'assistant'],
}

/** `care export`: what `care verify` reads, from the store, also beside a running service. */
export const exportVerb: CommandVerb = {
  name: 'export',
  usage: '[--audience user|assistant|all] [--uri URI] [--output FILE]',
  summary: 'writes records, journals and checkpoints as NDJSON; holds values in the clear',
  options: { audience: 'text', uri: 'text', output: 'text' },
  wordsMax: 0,
  run: async (call) => {
    const query = queryOf(call)
    const reader = openSqliteRecordReader(storeOptions(call.terminal))
    try {
      const output = call.text('output')
      if (output === undefined)
        for await (const line of reader.exportLines(query)) call.terminal.print(line)
      else await writeLines(output, reader.exportLines(query))
    } finally {
      await reader.close()
    }
    return EXIT.done
  },
}

function queryOf(call: CommandCall) {
  const named = call.text('audience') ?? 'all'
  const audiences = Object.hasOwn(AUDIENCES, named) ? AUDIENCES[named] : undefined
  if (audiences === undefined) throw new BadUsage('--audience takes user, assistant or all.')
  const uri = call.text('uri')
  if (uri === undefined) return { audiences }
  const slot = parseRecordUri(uri)?.slot
  if (slot === undefined)
    throw new BadUsage('--uri takes care://patient/domain or care-internal://patient/domain.')
  return { audiences: [slot.audience], slot }
}

/** For the owner alone: an export holds what the seal hides. Half of one is not left behind. */
async function writeLines(path: string, lines: AsyncIterable<string>): Promise<void> {
  const file = createWriteStream(path, { mode: PRIVATE_FILE_MODE, flags: 'wx', flush: true })
  try {
    await once(file, 'open')
  } catch (error) {
    throw new BadUsage(`${path} cannot be made; an export overwrites nothing.`, { cause: error })
  }
  try {
    await pipeline(async function* () {
      for await (const line of lines) yield `${line}\n`
    }, file)
  } catch (error) {
    rmSync(path, { force: true })
    const isOfFile = error instanceof Error && 'syscall' in error
    throw isOfFile
      ? new RecordStoreUnavailable(`${path} could not be written: ${error.message}`, {
          cause: error,
        })
      : error
  }
}
