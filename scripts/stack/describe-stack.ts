import type { StackDescription } from './stack-file.ts'

type Surroundings = {
  readonly seconds: number
  readonly stackFile: string
  readonly logFolder: string
}

function row(name: string, ...parts: readonly string[]): string {
  return `  ${name.padEnd(12)} ${parts.join('   ')}`
}

/** What a person sees when the stack is up: where everything is, and one request to copy for each service. */
export function describeStack(stack: StackDescription, around: Surroundings): string {
  const agent = stack.agents[0]
  const address = agent?.evmAddress ?? '0x…'
  const { access, ledger } = stack
  return `
Tallystick is up after ${around.seconds.toFixed(1)} s.

${row('access', access.baseUrl, `contract ${access.contract}`, `paid to ${access.payTo}`)}
${row('facilitator', stack.facilitator.url)}
${row('ledger', ledger.rpcUrl, `mirror ${ledger.mirrorUrl}`, `consensus ${ledger.consensus}`, `chain ${ledger.chainId}`)}
${row('agents', `${stack.agents.length}, funded; keys in ${around.stackFile} (worthless outside this ledger)`)}
${row('logs', `${around.logFolder}/`)}

Ask for access without paying, and read the challenge:

  curl -i '${access.baseUrl}/api/svc/access?agent=${address}'

Pay once as ${agent?.name ?? 'an agent'} and stay in (the key is read from the environment):

  export ACCESS_URL=${access.baseUrl} LEDGER_RPC_URL=${ledger.rpcUrl} MIRROR_URL=${ledger.mirrorUrl}
  export AGENT_KEY=$(npx node -p "require('./${around.stackFile}').agents[0].privateKey")
  npm run --silent agent -- pay --max-hbar 12
  npm run --silent agent -- watch

See the whole story with: npm run demo
Ctrl-C stops everything.
`
}
