// `npm start`: the local ledger, the facilitator and every service, with what a person needs to try them.
import { rmSync } from 'node:fs'
import { relative } from 'node:path'
import { describeStack } from './stack/describe-stack.ts'
import { createLocalStack, defaultDataFolder, defaultLogFolder } from './stack/local-stack.ts'
import { defaultPorts, freePorts, portsInUse } from './stack/ports.ts'
import { readFlags } from './stack/read-flags.ts'
import { findStack, sayProcesses, stackFile, writeStackFile } from './stack/stack-file.ts'
import { whenToldToEnd } from './stack/when-told-to-end.ts'

const HELP = `npm start: the local ledger, the facilitator and every service, until Ctrl-C or npm stop

  npm start -- [FLAGS]

  --free-ports            free ports instead of the documented ones
  --sign-in               an authorization server beside care, so that hosts log in by discovery
  --postgres URL          care and grading on PostgreSQL, in a database that is made there and goes with the stack (URL's role
                          may make databases and roles); "--postgres local" starts Debian's server for that
  --watch                 a service starts again when its source changes
  --stack-file FILE       where to describe the stack for other programs (.local/stack.json)
  --log-folder FOLDER     where the logs go
  --data-folder FOLDER    where the databases go

Example: npm start -- --free-ports --sign-in`

const flags = readFlags(
  {
    watch: { type: 'boolean', default: false },
    'free-ports': { type: 'boolean', default: false },
    'stack-file': { type: 'string', default: stackFile },
    'log-folder': { type: 'string', default: defaultLogFolder },
    'data-folder': { type: 'string', default: defaultDataFolder },
    postgres: { type: 'string' },
    'sign-in': { type: 'boolean', default: false },
  },
  HELP,
)
const file = flags['stack-file']

function refuse(message: string): never {
  console.error(message)
  process.exit(1)
}

function refuseIfRunning(): void {
  const found = findStack(file)
  switch (found.kind) {
    case 'none':
      return
    case 'running':
      return refuse(
        `A local stack is already running (process ${found.description.process.pid}): ${found.description.access.baseUrl}\n` +
          'Stop it with Ctrl-C in its terminal or with npm stop, or use it.',
      )
    case 'stale':
      if (Object.keys(found.leftovers).length > 0) {
        return refuse(
          `An earlier stack was killed and left ${sayProcesses(found.leftovers)} running. End that with npm stop, then start again.`,
        )
      }
      console.log('An earlier stack was not stopped properly; its description will be replaced.')
      rmSync(file, { force: true })
  }
}

async function choosePorts() {
  if (flags['free-ports']) return await freePorts()
  const taken = await portsInUse(defaultPorts)
  if (taken.length > 0) {
    refuse(
      `These ports are in use by another program: ${taken.join(', ')}.\n` +
        'Stop it, or start on other ports with: npm start -- --free-ports',
    )
  }
  return defaultPorts
}

/** A collector of traces takes those of the whole stack. */
const settings = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value = '']) =>
    name.startsWith('OTEL_EXPORTER_OTLP_') ? [[name, value]] : [],
  ),
)

refuseIfRunning()
const startedMs = performance.now()
const stack = createLocalStack({
  ports: await choosePorts(),
  logFolder: flags['log-folder'],
  dataFolder: flags['data-folder'],
  isWatching: flags.watch,
  postgres: flags.postgres,
  hasSignIn: flags['sign-in'],
  settings,
  onStep: (step) => console.log(`  ${step} ...`),
})
let isStopping = false
whenToldToEnd(async () => {
  isStopping = true
  console.log('\nStopping.')
  rmSync(file, { force: true })
  await stack.stop()
  process.exit(0)
})
try {
  const description = await stack.start()
  writeStackFile(file, description)
  console.log(
    describeStack(description, {
      seconds: (performance.now() - startedMs) / 1_000,
      stackFile: relative(process.cwd(), file),
      logFolder: relative(process.cwd(), flags['log-folder']),
    }),
  )
} catch (error) {
  await stack.stop()
  // A service stopped while starting did not fail.
  if (!isStopping) refuse(error instanceof Error ? error.message : String(error))
}
