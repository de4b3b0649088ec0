// `npm run install-service -- SERVICE FOLDER`: installs one service and the packages it runs on into an empty folder,
// without tests, other services or development dependencies. The Dockerfile runs it too, so that a container and a plain
// machine get the same files. Afterwards, with Node 26: `cd FOLDER && node main.mjs`.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyWorkspace } from './install/copy-workspace.ts'
import { installableServices } from './install/installable-services.ts'

/** The repository's version, which wrote the lockfile. */
const PNPM = 'pnpm@12.4.2'
const root = fileURLToPath(new URL('..', import.meta.url))

/** Types and source maps: for compilers and debuggers, not for a running program. */
const DECLARATION = /\.(d\.[cm]?ts|map)$/

/** Removes them from the installation: a third of access's files. Does not follow links. */
function removeDeclarations(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) removeDeclarations(path)
    else if (entry.isFile() && DECLARATION.test(entry.name)) rmSync(path)
  }
}

function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}

const [name = '', folder = ''] = process.argv.slice(2)
const service = installableServices.find((candidate) => candidate.name === name)
if (service === undefined || folder === '') {
  const names = installableServices.map((candidate) => candidate.name).join(', ')
  refuse(`Usage: npm run install-service -- SERVICE FOLDER\nSERVICE is one of ${names}.`)
}
if (existsSync(folder) && readdirSync(folder).length > 0) refuse(`${folder} is not empty.`)

const packages = copyWorkspace({ root, folder, packageName: service.packageName })
const production = ['install', '--prod', '--frozen-lockfile', '--prefer-offline']
const withoutTheRoot = ['--filter', `${service.packageName}...`]
// A set-up checkout has pnpm; an image under construction gets it through npm.
const ownPnpm = join(root, 'node_modules', '.bin', 'pnpm')
const [program, ...words] = existsSync(ownPnpm) ? [ownPnpm] : ['npx', '--yes', PNPM]
const installed = spawnSync(program, [...words, ...production, ...withoutTheRoot], {
  cwd: folder,
  stdio: ['ignore', 'inherit', 'inherit'],
})
if (installed.status !== 0) process.exit(installed.status ?? 1)
removeDeclarations(join(folder, 'node_modules'))
writeFileSync(join(folder, 'main.mjs'), `await import('./${service.main}')\n`)
console.log(
  `${packages.length} packages of this repository are in ${folder}. Start there: npx node main.mjs`,
)
