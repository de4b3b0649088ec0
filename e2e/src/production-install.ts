// One service as the Dockerfile installs it, run outside a container but under its conditions: only its own environment,
// no privileges, and no writable folders except its data and the temporary folder.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ended, root } from './spawned-stack.ts'

/** "nobody" on Linux. Only a superuser can switch user; others run as themselves. */
const NOBODY = 65_534
const isSuperuser = process.getuid?.() === 0
const somebody = isSuperuser ? { uid: NOBODY, gid: NOBODY } : {}

export type ProductionInstall = {
  readonly folder: string
  /** The one folder that the service may write to. */
  readonly dataFolder: string
  /** Starts a program from the folder. */
  run(options: {
    readonly entry?: readonly string[]
    readonly flags?: readonly string[]
    readonly environment: Readonly<Record<string, string>>
  }): RunningProgram
  remove(): void
}

export type RunningProgram = {
  readonly child: ChildProcess
  output(): string
  stop(): Promise<number | null>
}

/** Installs a service into an empty folder. Throws with the installer's output. */
export function installForProduction(service: string): ProductionInstall {
  const place = mkdtempSync(join(tmpdir(), `tallystick-${service}-`))
  chmodSync(place, 0o755)
  const folder = join(place, 'app')
  const installer = ['scripts/install-service.ts', service, folder]
  const done = spawnSync(process.execPath, installer, { cwd: root, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${done.stdout}\n${done.stderr}`)
  const dataFolder = join(place, 'data')
  mkdirSync(dataFolder)
  if (isSuperuser) chownSync(dataFolder, NOBODY, NOBODY)
  const node = ownNode(folder) // other users may be unable to read the checkout's
  return {
    folder,
    dataFolder,
    run({ entry = ['main.mjs'], flags = [], environment }) {
      const child = spawn(node, [...entry, ...flags], {
        cwd: folder,
        env: { NODE_ENV: 'production', HOST: '127.0.0.1', ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...somebody,
      })
      let text = ''
      const gather = (chunk: Buffer) => (text += chunk.toString('utf8'))
      child.stdout.on('data', gather)
      child.stderr.on('data', gather)
      return {
        child,
        output: () => text,
        stop: async () => {
          child.kill('SIGTERM')
          return await ended(child)
        },
      }
    },
    remove: () => rmSync(place, { recursive: true, force: true }),
  }
}

function ownNode(folder: string): string {
  const modules = join(folder, 'node_modules')
  const name = readdirSync(modules).find((entry) => entry.startsWith('node-'))
  if (name === undefined) throw new Error('the install brought no Node of its own')
  return join(modules, name, 'bin', 'node')
}
