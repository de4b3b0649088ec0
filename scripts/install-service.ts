// `npm run install-service -- SERVICE FOLDER`: installs one service and the packages it runs on into an empty folder,
// without tests, other services or development dependencies. The Dockerfile runs it too, so that a container and a plain
// machine get the same files. Afterwards, with Node 26: `cd FOLDER && node main.mjs`.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyWorkspace } from './install/copy-workspace.ts'
import { installableServices } from './install/installable-services.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What the packages that keep records ask for in their `engines`. */
const NODE_MAJOR_MIN = 24

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

/** The entry: it says on what Node it runs before it loads anything that an older one cannot read. */
const entry = (main: string): string => `const [major] = process.versions.node.split('.')
if (Number(major) < ${NODE_MAJOR_MIN}) {
  console.error(\`This needs Node ${NODE_MAJOR_MIN} or later, and runs on \${process.version}. Start it with the one beside it: npx node main.mjs\`)
  process.exit(1)
}
await import('./${main}')
`

function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}

const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly packageManager: string
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
// A set-up checkout has pnpm; an image under construction gets the one that wrote the lockfile through npm.
const ownPnpm = join(root, 'node_modules', '.bin', 'pnpm')
const [program, ...words] = existsSync(ownPnpm) ? [ownPnpm] : ['npx', '--yes', packageManager]
const installed = spawnSync(program, [...words, ...production, ...withoutTheRoot], {
  cwd: folder,
  stdio: ['ignore', 'inherit', 'inherit'],
})
if (installed.status !== 0) process.exit(installed.status ?? 1)
removeDeclarations(join(folder, 'node_modules'))
writeFileSync(join(folder, 'main.mjs'), entry(service.main))
console.log(
  `${packages.length} packages of this repository are in ${folder}. Start there: npx node main.mjs`,
)
