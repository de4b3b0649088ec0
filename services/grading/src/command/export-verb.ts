import { type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { exportLines } from '../domain/export-lines.ts'
import { withLedger } from './command-store.ts'

/**
 * `grading export`: every entry as it is hashed, one JSON line each, and the signed checkpoint last. For the operator: it
 * holds prices that may not be passed on.
 */
export const exportVerb: CommandVerb = {
  name: 'export',
  usage: '',
  summary: 'writes every entry and the signed checkpoint as JSON lines, for `grading verify FILE`',
  options: {},
  wordsMax: 0,
  run: ({ terminal }) =>
    withLedger(terminal, async (store) => {
      for await (const line of exportLines(store)) terminal.print(line)
      return EXIT.done
    }),
}
