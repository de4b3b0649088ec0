import { type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import { seedLedger } from '../seed/seed-ledger.ts'
import { withStore } from './command-store.ts'

/** `grading seed`: fills an empty ledger with synthetic fixtures. */
export const seedVerb: CommandVerb = {
  name: 'seed',
  usage: '',
  summary: 'fills an empty ledger with synthetic fixtures, for trying the service out',
  options: {},
  wordsMax: 0,
  run: ({ terminal }) =>
    withStore(terminal, async (store) => {
      const outcome = await seedLedger({ store, nowSeconds: terminal.clock.unixMs() / 1_000 })
      terminal.print(
        outcome.kind === 'seeded'
          ? `${outcome.account.events} synthetic events imported: made up, and marked so on every card.`
          : 'The ledger has entries already; nothing was written.',
      )
      return EXIT.done
    }),
}
