import { describeAccess } from './describe-access.ts'
import { describeCare } from './describe-care.ts'
import { describeGrading } from './describe-grading.ts'
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
  const { access, care, grading, ledger } = stack
  return `
Tallystick is up after ${around.seconds.toFixed(1)} s.

${row('access', access.baseUrl, `contract ${access.contract}`, `paid to ${access.payTo}`)}
${row('care', care.baseUrl, `MCP ${care.mcpUrl}`)}
${row('grading', grading.baseUrl, `paid in the dollar token to ${stack.xlayer.payTo}`)}
${row('facilitator', stack.facilitator.url)}
${row('ledger', ledger.rpcUrl, `mirror ${ledger.mirrorUrl}`, `consensus ${ledger.consensus}`, `chain ${ledger.chainId}`)}
${row('x layer', stack.xlayer.rpcUrl, `dollar token ${stack.xlayer.stablecoin}`, `chain ${stack.xlayer.chainId}`)}
${row('agents', `${stack.agents.length}, funded on both; keys in ${around.stackFile} (worthless outside these ledgers)`)}
${row('logs', `${around.logFolder}/`)}

${describeAccess(stack, around.stackFile)}

${describeCare(care)}

${describeGrading(stack)}

See the story of an agent with: npm run demo
Ctrl-C stops everything.
`
}
