import {
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  type ExitCode,
  runCommand,
} from '@tallystick/service-kit/command'
import { FacilitatorUnavailable, LedgerUnavailable } from '@tallystick/x402'
import { keyInArguments } from '@tallystick/x402/hedera'
import { ChainUnavailable, ContractAbsent } from '../domain/access-contract.ts'
import {
  fundVerb,
  pauseVerb,
  pokeVerb,
  reapVerb,
  resumeVerb,
  retireOfferVerb,
  setArmingVerb,
  setOfferVerb,
  withdrawVerb,
} from './contract-verbs.ts'
import { deployVerb } from './deploy.ts'
import { explainFailure } from './operator-contract.ts'
import { OPERATOR_VARIABLES, OperatorRefusal, operatorVerb } from './operator-verb.ts'
import { paymentsVerb } from './payments-verb.ts'
import { recordersVerb } from './recorders-verb.ts'
import { statusVerb } from './status-verb.ts'

/** Every verb of `access-operator`, in the order in which a seller needs them. */
export const verbs: readonly CommandVerb[] = [
  deployVerb,
  statusVerb,
  fundVerb,
  withdrawVerb,
  setOfferVerb,
  retireOfferVerb,
  setArmingVerb,
  pauseVerb,
  resumeVerb,
  recordersVerb,
  reapVerb,
  pokeVerb,
  paymentsVerb,
].map(operatorVerb)

const NOTES = [
  'Keys and addresses come from the environment: OWNER_KEY, PAY_TO_KEY, RECORDER_KEY (or',
  'OWNER_KEY_FILE, …), ACCESS_CONTRACT, PAY_TO, PERIODS_PER_PURCHASE, RECORDER_COUNT, NETWORK,',
  'LEDGER_RPC_URL, LEDGER_CHAIN_ID, MIRROR_URL, FACILITATOR_URL.',
  'Exit codes: 0 done, 1 refused or a dependency is down, 2 bad argument or variable.',
]

/** Failures of the service's adapters, whose reason is in their cause. */
const UNAVAILABLE = [FacilitatorUnavailable, LedgerUnavailable, ChainUnavailable, ContractAbsent]

/** The text of a failure that a person can fix; undefined for a bug. */
function explainRefusal(error: unknown): string | undefined {
  if (error instanceof OperatorRefusal) return error.message
  if (!(error instanceof Error) || !UNAVAILABLE.some((kind) => error instanceof kind))
    return undefined
  return error.cause === undefined
    ? error.message
    : `${error.message} (${explainFailure(error.cause)})`
}

/** Runs one line of `access-operator` and returns its exit code. Bugs throw. */
export async function runOperator(terminal: CommandTerminal): Promise<ExitCode> {
  const keyRefusal = keyInArguments(terminal.arguments, 'OWNER_KEY')
  if (keyRefusal !== undefined) {
    terminal.printError(keyRefusal)
    return EXIT.usage
  }
  const title = 'the seller’s side of the access contract'
  const stack = { service: 'access', variables: OPERATOR_VARIABLES }
  return await runCommand(
    { name: 'access-operator', title, verbs, notes: NOTES, explainRefusal, stack },
    terminal,
  )
}
