// What a person sees when the local stack is up: where everything is, and requests to copy for each service.
import { randomUUID } from 'node:crypto'
import { mintToken } from '@tallystick/jwt-lite'
import { LOCAL_STACK_FILE } from '@tallystick/service-kit/stack-environment'
import type { StackDescription } from './stack-file.ts'

/** The first requests to copy for access. */
function describeAccess(stack: StackDescription, stackFile: string): string {
  const agent = stack.agents[0]
  const { access } = stack
  const named = stackFile === LOCAL_STACK_FILE ? '' : ` --stack ${stackFile}`
  return `ACCESS: ask without paying, and read the challenge

  curl -i '${access.baseUrl}/api/svc/access?agent=${agent?.evmAddress ?? '0x…'}'

  Pay once as ${stack.agents.at(-1)?.name ?? 'an agent'} and stay in:

  npm run --silent agent -- pay --max-hbar 12${named}
  npm run --silent agent -- watch${named}`
}

/** A working day: long enough to try things, short enough to be worthless tomorrow. */
const TOKEN_LIFETIME_SECONDS = 43_200

/** A token for a host that talks to the person at home. */
function readerToken(care: StackDescription['care']): string {
  return mintToken({
    sub: 'local-host',
    scope: 'care.read.user',
    audience: care.mcpUrl,
    typ: 'care+jwt',
    key: Buffer.from(care.tokenSecret),
    nowSeconds: Math.floor(Date.now() / 1_000),
    jti: randomUUID(),
    lifetimeSeconds: TOKEN_LIFETIME_SECONDS,
  })
}

/** The pages to open, how to connect a host, and the first request to copy for care. */
function describeCare({ care, signIn }: StackDescription): string {
  const token = readerToken(care)
  const header = `Authorization: Bearer ${token}`
  return `CARE: check every chain without a key

  curl -H 'accept: text/plain' ${care.baseUrl}/verify

  Open the assistant's page beside the clinician's, and correct a record (what follows # stays in the browser):

  ${care.baseUrl}/echo.html#token=${token}
  ${care.baseUrl}/clinician.html#secret=${care.writeSecret}&token=${token}

  Connect a host: MCP Inspector, transport Streamable HTTP, URL ${care.mcpUrl}, with the header
  ${header}
  Claude Desktop, and hosts that only start programs, through mcp-remote:
  npx mcp-remote ${care.mcpUrl} --header '${header}'${signIn === undefined ? '' : describeSignIn(care.mcpUrl, signIn)}`
}

/** How hosts log in without a token from here. */
function describeSignIn(mcpUrl: string, signIn: NonNullable<StackDescription['signIn']>): string {
  return `

  Or sign in: give a host the URL alone, and it opens ${signIn.url}, where ${signIn.name} signs in with ${signIn.password}

  npx mcp-remote ${mcpUrl}
  npx @modelcontextprotocol/inspector   (transport Streamable HTTP, URL ${mcpUrl}, no header)`
}

/** The page to open and the first requests to copy for grading. */
function describeGrading({ agents, grading }: StackDescription): string {
  const [agent] = agents
  return `GRADING: the truth table, free (its matches are made up)

  curl -X POST ${grading.baseUrl}/api/calibration

  Grade a pick for a cent as ${agent?.name ?? 'an agent'} (what follows # stays in the browser):

  ${grading.baseUrl}/try#key=${agent?.privateKey ?? ''}`
}

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
${stack.signIn === undefined ? '' : `${row('sign-in', stack.signIn.url)}\n`}${row('grading', grading.baseUrl, `paid in the dollar token to ${stack.xlayer.payTo}`)}
${row('facilitator', stack.facilitator.url)}
${row('ledger', ledger.rpcUrl, `mirror ${ledger.mirrorUrl}`, `consensus ${ledger.consensus}`, `chain ${ledger.chainId}`)}
${row('x layer', stack.xlayer.rpcUrl, `dollar token ${stack.xlayer.stablecoin}`, `chain ${stack.xlayer.chainId}`)}
${row('agents', `${stack.agents.length}, funded on both; keys in ${around.stackFile} (worthless outside these ledgers)`)}
${row('logs', `${around.logFolder}/`)}

${describeAccess(stack, around.stackFile)}

${describeCare(stack)}

${describeGrading(stack)}

See the story of an agent with: npm run demo
Ctrl-C stops everything.
`
}
