/**
 * The seller has to fix these before anything is sold: each is red on `/ready`, with a sentence. Open windows are still
 * served, and earlier payments are still opened.
 */
import { type Clock, keptRead } from '@tallystick/service-kit'
import { formatHbar } from '@tallystick/x402/hedera'
import type { AccessParts } from './access-parts.ts'
import type { Hex } from './access-window.ts'
import type { LedgerClock } from './ledger-clock.ts'

export type SalesStop = {
  readonly reason:
    | 'sales_paused'
    | 'offer_retired'
    | 'forwarder_role_missing'
    | 'recorder_role_missing'
    | 'recorder_gas_low'
    | 'payto_key_mismatch'
    | 'payto_shared'
    | 'clock_off'
  /** For a person: what is wrong and what to do. */
  readonly sentence: string
}

/** One thing that sales need; undefined while it is there. Throws ChainUnavailable or ContractAbsent. */
type SalesCheck = () => Promise<SalesStop | undefined>

/** How long a finding is used, milliseconds: a fix shows within this time, and a purchase seldom waits for the reads. */
const KEPT_MS = 30_000

/** The recorder's money must last this part of an hour at its present rate: ten minutes. */
const LEAST_PARTS_PER_HOUR = 6n

type SalesStopsDeps = Pick<
  AccessParts,
  'budget' | 'contract' | 'sender' | 'log' | 'payTo' | 'recorder' | 'recorderGas'
> & {
  readonly clock: Clock
  readonly ledgerClock: Pick<LedgerClock, 'offSeconds'>
  /** Computes what the recorder spends in an hour, tinybar. */
  readonly spentPerHour: () => bigint
  readonly otherSales: () => Hex | undefined
}

export type SalesStops = ReturnType<typeof createSalesStops>

export function createSalesStops(deps: SalesStopsDeps) {
  const { contract, ledgerClock, log, payTo, recorder, sender } = deps
  const keep = keeper(deps)
  const checks = {
    // A pause acts at once; within 30 s while the budget of the relay is short.
    sales: unkept(async () =>
      (await contract.areSalesPaused())
        ? stop('sales_paused', 'Sales are paused: access-operator resume.')
        : undefined,
    ),
    offer: unkept(() => findRetirement(contract)),
    forwarder: keep(async () =>
      (await contract.isForwarder(sender.address))
        ? undefined
        : stop(
            'forwarder_role_missing',
            `The contract takes no payments from ${sender.address}, the account of PAY_TO_KEY: deploy with that key, or have its owner call setForwarder.`,
          ),
    ),
    recorder: keep(async () => {
      if (!(await contract.isRecorder(recorder)))
        return stop(
          'recorder_role_missing',
          `The contract counts no calls from ${recorder}, the account of RECORDER_KEY: access-operator recorders add ${recorder}.`,
        )
      const { balanceTinybar, neededTinybar } = await deps.recorderGas()
      const spent = deps.spentPerHour()
      if (balanceTinybar >= neededTinybar && balanceTinybar * LEAST_PARTS_PER_HOUR >= spent)
        return undefined
      return stop(
        'recorder_gas_low',
        `The recorder ${recorder} holds ${formatHbar(balanceTinybar)}; a full batch takes ${formatHbar(neededTinybar)} and an hour at the present rate ${formatHbar(spent)}: send it HBAR.`,
      )
    }),
    payTo: keep(async () => {
      // Another check reports a mirror node that is down.
      const address = await log.readEvmAddress(payTo).catch(() => sender.address)
      return address === sender.address
        ? undefined
        : stop(
            'payto_key_mismatch',
            `PAY_TO_KEY is the key of ${sender.address}, and ${payTo} is ${address}: set the key of PAY_TO.`,
          )
    }),
    contracts: unkept(async () => {
      const other = deps.otherSales()
      return other === undefined
        ? undefined
        : stop(
            'payto_shared',
            `${payTo} also forwards payments to the contract ${other}: name it in PREVIOUS_CONTRACTS, or give each contract a PAY_TO of its own.`,
          )
    }),
    clock: unkept(async () => {
      const off = ledgerClock.offSeconds()
      return off === 0
        ? undefined
        : stop(
            'clock_off',
            `The clock of this machine is ${Math.abs(off)} s ${off > 0 ? 'ahead of' : 'behind'} the ledger: set it, and keep it set with ntp.`,
          )
    }),
  }
  return {
    checks: Object.entries(checks).map(([name, { now }]) => [name, now] as const),
    /** The first reason not to sell. Throws ChainUnavailable or ContractAbsent. */
    async find(): Promise<SalesStop | undefined> {
      const found = await Promise.all(Object.values(checks).map(({ lately }) => lately()))
      return found.find((stop) => stop !== undefined)
    },
  }
}

/** Challenges of one second share the read. */
async function findRetirement(
  contract: SalesStopsDeps['contract'],
): Promise<SalesStop | undefined> {
  const current = (await contract.offers()).at(-1)
  return current === undefined || current.retiredAtSeconds === 0
    ? undefined
    : stop('offer_retired', 'The current offer is retired: access-operator set-offer.')
}

const stop = (reason: SalesStop['reason'], sentence: string): SalesStop => ({ reason, sentence })

/**
 * One check for two uses: sales take a recent finding (`lately`), others ask for a new one (`now`), while the budget of the
 * relay has room (A25). Callers share a fresh run; a failed one is not kept.
 */
function keeper({ budget, clock }: Pick<SalesStopsDeps, 'budget' | 'clock'>) {
  return (check: SalesCheck) => {
    const lately = keptRead({ clock, keptMs: () => budget.keptMs(KEPT_MS), read: check })
    const now: SalesCheck = () => {
      if (!budget.isShort()) lately.forget()
      return lately()
    }
    return { now, lately }
  }
}

const unkept = (check: SalesCheck) => ({ now: check, lately: check })
