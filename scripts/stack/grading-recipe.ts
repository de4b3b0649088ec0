import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { XLayer } from '@tallystick/devnet'
import { systemClock } from '@tallystick/service-kit'
import { runGrading } from '../../services/grading/src/command/run-grading.ts'
import type { StackPorts } from './ports.ts'
import type { ServiceRecipe } from './service-process.ts'

/** Where grading runs, with a secret made anew for each stack. */
export type GradingPlace = {
  readonly baseUrl: string
  /** Signs tokens for uploads. */
  readonly tokenSecret: string
}

const SECRET_BYTES = 32

/** Secret and address of the local grading service. */
export function gradingPlace(port: number): GradingPlace {
  const tokenSecret = randomBytes(SECRET_BYTES).toString('hex')
  return { baseUrl: `http://127.0.0.1:${port}`, tokenSecret }
}

/** How grading is started: on an empty ledger of its own, paid in the local dollar token. */
export function gradingRecipe(
  place: GradingPlace,
  stack: {
    readonly xlayer: XLayer
    readonly payTo: string
    readonly ports: StackPorts
    readonly dataFolder: string
  },
): ServiceRecipe {
  const { xlayer, ports } = stack
  const folder = join(stack.dataFolder, 'grading')
  rmSync(folder, { recursive: true, force: true }) // like the chain that it is paid on, the ledger begins anew
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const token = xlayer.stablecoin
  return {
    name: 'grading',
    main: 'services/grading/src/main.ts',
    readyUrl: `${place.baseUrl}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(ports.grading),
      BASE_URL: place.baseUrl,
      DATABASE_PATH: join(folder, 'grading.db'),
      PAY_TO: stack.payTo,
      NETWORK: `eip155:${xlayer.chainId}`,
      ASSET: `${token.address}/${token.name}/${token.version}/${token.decimals}`,
      LEDGER_RPC_URL: xlayer.rpcUrl,
      FACILITATOR_URL: `http://127.0.0.1:${ports.facilitator}`,
      TOKEN_SECRET: place.tokenSecret,
    },
  }
}

/** Imports made-up matches into the ledger, by the service's own command. Throws what the command printed. */
export async function seedGrading({ environment }: ServiceRecipe): Promise<void> {
  const printed: string[] = []
  const print = (line: string): void => void printed.push(line)
  const code = await runGrading({
    arguments: ['seed'],
    environment,
    clock: systemClock,
    stdin: process.stdin,
    print,
    printError: print,
  })
  if (code !== 0) throw new Error(`the grading ledger was not seeded:\n${printed.join('\n')}`)
}
