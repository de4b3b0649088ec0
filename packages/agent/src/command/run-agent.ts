import { runCommand } from '@tallystick/service-kit/command'
import { keyInArguments } from '@tallystick/x402/hedera'
import { type AgentTerminal, agentVerb, explainFailure } from './agent-verb.ts'
import { agentVerbs } from './agent-verbs.ts'
import { EXIT, type ExitCode } from './output.ts'
import { AGENT_VARIABLES } from './read-environment.ts'

const NOTES = [
  'Environment: AGENT_KEY (or AGENT_KEY_FILE), AGENT_ACCOUNT_ID (looked up when absent), ACCESS_URL, SERVICE_NAME,',
  'ACCESS_CONTRACT, LEDGER_RPC_URL, LEDGER_CHAIN_ID, MIRROR_URL, NETWORK, RECEIPTS_FILE (gets what the service signs',
  'about each payment). A key is never taken from an argument. buy needs the key, MIRROR_URL and NETWORK alone.',
  'With --json one JSON object per outcome, amounts in tinybar or a token’s base units.',
  'Exit codes: 0 done, 1 refused or a dependency is down, 2 bad argument or variable, 3 a payment is needed and not',
  'allowed by a cap, 4 quota spent, 5 a payment is pending (do not pay again), 6 nothing to cancel, top up or watch,',
  '7 the paid time ends within --ends-within, 8 access has ended.',
]

/** Runs one command line and returns its exit code. Bugs throw. */
export async function runAgent(terminal: AgentTerminal): Promise<ExitCode> {
  const keyRefusal = keyInArguments(terminal.arguments, 'AGENT_KEY')
  if (keyRefusal !== undefined) {
    terminal.printError(keyRefusal)
    return EXIT.usage
  }
  return await runCommand<ExitCode>(
    {
      name: 'tallystick-agent',
      title: 'pay once for access, and watch the window renew itself',
      verbs: agentVerbs.map(agentVerb(terminal)),
      notes: NOTES,
      explainRefusal: explainFailure,
      stack: { service: 'agent', variables: AGENT_VARIABLES },
    },
    terminal,
  )
}
