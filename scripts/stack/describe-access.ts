import type { StackDescription } from './stack-file.ts'

/** The first requests to copy for access. */
export function describeAccess(stack: StackDescription, stackFile: string): string {
  const agent = stack.agents[0]
  const { access, ledger } = stack
  return `ACCESS: ask without paying, and read the challenge

  curl -i '${access.baseUrl}/api/svc/access?agent=${agent?.evmAddress ?? '0x…'}'

  Pay once as ${agent?.name ?? 'an agent'} and stay in (the key is read from the environment):

  export ACCESS_URL=${access.baseUrl} LEDGER_RPC_URL=${ledger.rpcUrl} MIRROR_URL=${ledger.mirrorUrl}
  export AGENT_KEY=$(npx node -p "require('./${stackFile}').agents[0].privateKey")
  npm run --silent agent -- pay --max-hbar 12
  npm run --silent agent -- watch`
}
