// The description of a running local stack, for scripts and agents: `.local/stack.json`, readable only by its owner,
// because it holds the keys of the funded agents (worthless outside the local ledger).
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isRunning } from '@tallystick/service-kit/stack-environment'
import { z } from 'zod'
import { SERVICE_MARK } from './service-process.ts'

const StackAgent = z.object({
  name: z.string(),
  accountId: z.string(),
  evmAddress: z.string(),
  privateKey: z.string(),
})

/** What `npm start` tells other programs. A service that does not run is absent. */
export const StackDescription = z.object({
  access: z.object({ baseUrl: z.string(), contract: z.string(), payTo: z.string() }),
  care: z.object({
    baseUrl: z.string(),
    mcpUrl: z.string(),
    writeSecret: z.string(),
    tokenSecret: z.string(),
  }),
  /** With `--sign-in`. */
  signIn: z.object({ url: z.string(), name: z.string(), password: z.string() }).optional(),
  grading: z.object({ baseUrl: z.string(), tokenSecret: z.string() }),
  ledger: z.object({
    rpcUrl: z.string(),
    mirrorUrl: z.string(),
    consensus: z.string(),
    chainId: z.number(),
  }),
  xlayer: z.object({
    rpcUrl: z.string(),
    chainId: z.number(),
    stablecoin: z.string(),
    payTo: z.string(),
  }),
  facilitator: z.object({ url: z.string() }),
  agents: z.array(StackAgent),
  /** By service: the variables that its command reads. */
  environments: z.record(z.string(), z.record(z.string(), z.string())),
  /** The stack's process, and those it started, by name. */
  process: z.object({ pid: z.number(), children: z.record(z.string(), z.number()) }),
})
export type StackDescription = z.infer<typeof StackDescription>

/** `.local/stack.json` of this checkout. */
export const stackFile = fileURLToPath(new URL('../../.local/stack.json', import.meta.url))

/** Writes the description, mode 0600. */
export function writeStackFile(file: string, description: StackDescription): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  rmSync(file, { force: true }) // the mode only applies to a newly created file
  writeFileSync(file, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 })
}

/** Whether a running process is a service of a stack, and not a stranger who got its number after a restart of the machine. */
function isService(pid: number): boolean {
  const command = `/proc/${pid}/cmdline` // on Linux; elsewhere its number must do
  return !existsSync(command) || readFileSync(command, 'utf8').split('\0').includes(SERVICE_MARK)
}

type FoundStack =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly description: StackDescription }
  /** The stack was killed; `leftovers` are its processes that still run, by name. */
  | { readonly kind: 'stale'; readonly leftovers: Readonly<Record<string, number>> }

/** `care (process 17), grading (process 18)`. */
export const sayProcesses = (processes: Readonly<Record<string, number>>): string =>
  Object.entries(processes)
    .map(([name, pid]) => `${name} (process ${pid})`)
    .join(', ')

/** Reads the file and reports whether its stack is alive. */
export function findStack(file: string): FoundStack {
  let description: StackDescription
  try {
    description = StackDescription.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return isAbsent ? { kind: 'none' } : { kind: 'stale', leftovers: {} }
  }
  if (isRunning(description.process.pid)) return { kind: 'running', description }
  const running = Object.entries(description.process.children).filter(
    ([, pid]) => isRunning(pid) && isService(pid),
  )
  return { kind: 'stale', leftovers: Object.fromEntries(running) }
}
