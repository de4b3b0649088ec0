import { type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { withStore } from './command-store.ts'

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
    withStore(terminal, async (store) => {
      const { size } = await store.head()
      const checkpoint = await store.checkpoint()
      for await (const { seq, text, hash } of store.entries({ from: 0, to: size }))
        terminal.print(JSON.stringify({ seq, text, hash }))
      terminal.print(JSON.stringify({ checkpoint: checkpoint.note, key: checkpoint.verifierKey }))
      return EXIT.done
    }),
}
