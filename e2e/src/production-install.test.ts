import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findLocalPorts,
  type LocalPorts,
  ledgerFlags,
  localCompose,
  localEnvironment,
} from './compose-here.ts'
import { eventually } from './eventually.ts'
import {
  installForProduction,
  type ProductionInstall,
  type RunningProgram,
} from './production-install.ts'
import { isOk } from './spawned-stack.ts'

const installs = new Map<string, ProductionInstall>()
const running: RunningProgram[] = []

/** Installs each of the compose file's images once. */
function installService(service: string): ProductionInstall {
  const known = installs.get(service)
  if (known !== undefined) return known
  const made = installForProduction(service)
  installs.set(service, made)
  return made
}

async function answers(url: string, program: RunningProgram): Promise<boolean> {
  if (program.child.exitCode !== null) throw new Error(program.output())
  return await isOk(url)
}

/** Which secp256k1 the newest program uses, by its log and by `/ready`. */
async function expectSecp256k1(url: string, implementation: 'native' | 'wasm'): Promise<void> {
  const output = running.at(-1)?.output() ?? ''
  const logged = output.split('\n').find((line) => line.includes('"msg":"secp256k1"'))
  expect(JSON.parse(logged ?? '{}')).toMatchObject({ implementation })
  expect(await (await fetch(`${url}/ready`)).json()).toMatchObject({
    checks: { secp256k1: { kind: 'ready', details: { implementation } } },
  })
}

afterAll(async () => {
  for (const program of running.toReversed()) await program.stop()
  for (const install of installs.values()) install.remove()
})

describe.each([
  ['access', ['access']],
  ['care', ['care']],
  ['grading', ['grading']],
  ['issuer', []],
])('a production install of %s alone', (service, services) => {
  it('contains no test, no other service and no development tool', () => {
    const { folder } = installService(service)
    const place = join(folder, 'services')
    expect(existsSync(place) ? readdirSync(place) : []).toEqual(services)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const own = files.filter((file) => !file.includes('node_modules'))
    expect(
      own.filter((file) => /\.test\.[jt]s$|\.fixture\.ts$|\/testing\/|vitest/.test(file)),
    ).toEqual([])
    expect(files.filter((file) => /\.(d\.[cm]?ts|map)$/.test(file))).toEqual([])
    const installed = readdirSync(join(folder, 'node_modules', '.pnpm')).join('\n')
    expect(installed).not.toMatch(/^(typescript|vitest|@biomejs|oxlint|turbo|playwright|solc)/m)
  })

  it('has no library for keys but libsecp256k1, natively or in WebAssembly', () => {
    const installed = readdirSync(join(installService(service).folder, 'node_modules', '.pnpm'))
    expect(installed.filter((name) => name.startsWith('elliptic'))).toEqual([])
  })

  it('on an older Node says what it needs and how to start it', async () => {
    const older = `for (const [name, value] of Object.entries({ version: 'v20.19.0', versions: { ...process.versions, node: '20.19.0' } }))
      Object.defineProperty(process, name, { value })`
    const entry = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, 'main.mjs']
    const program = installService(service).run({ entry, environment: {} })
    await eventually(() => program.child.exitCode !== null)
    expect(program.child.exitCode).toBe(1)
    expect(program.output()).toBe(
      'This needs Node 24 or later, and runs on v20.19.0. Start it with the one beside it: npx node main.mjs\n',
    )
  })

  it('without its environment names every missing variable, and ends', async () => {
    const program = installService(service).run({ environment: {} })
    await eventually(() => program.child.exitCode !== null)
    expect(program.child.exitCode).toBe(1)
    expect(program.output()).toContain('The configuration is not usable')
  })
})

describe('what the containers run under the local profile, run outside them', () => {
  let ports: LocalPorts

  async function start(
    name: 'facilitator' | 'access' | 'care' | 'grading' | 'issuer',
    own: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const url = `http://127.0.0.1:${ports[name]}`
    const install = installService(name)
    const environment = { ...localEnvironment(name, ports, install.dataFolder), ...own }
    const program = install.run({ environment })
    running.push(program)
    await eventually(() => answers(`${url}/health`, program))
    return url
  }

  beforeAll(async () => {
    ports = await findLocalPorts()
    const ledger = installService('devnet').run({ flags: ledgerFlags(ports), environment: {} })
    running.push(ledger)
    await eventually(() => answers(`http://127.0.0.1:${ports.mirror}/api/v1/blocks`, ledger))
  })

  it('the contract is deployed at the address in deploy/local.env', async () => {
    const { entrypoint, command } = localCompose['deploy-contract'] ?? {}
    const deployment = installService('access').run({
      entry: entrypoint?.slice(1) ?? [],
      flags: command ?? [],
      environment: localEnvironment('deploy-contract', ports),
    })
    await eventually(() => deployment.child.exitCode !== null)
    expect(deployment.child.exitCode, deployment.output()).toBe(0)
    const contract = localCompose['access']?.environment['ACCESS_CONTRACT'] ?? ''
    expect(contract).toMatch(/^0x[0-9a-f]{40}$/)
    expect(deployment.output().toLowerCase()).toContain(contract)
  })

  it('access sells: everything it needs is at the addresses in deploy/local.env, with WebAssembly for the native secp256k1', async () => {
    await expectSecp256k1(await start('facilitator'), 'native')
    // As on an architecture for which the native library is not prebuilt: its loader takes this for the machine's.
    const url = await start('access', { npm_config_arch: 'arm64' })
    await expectSecp256k1(url, 'wasm')
    const program = running.at(-1) as RunningProgram
    await eventually(() => answers(`${url}/ready`, program))
    const agent = '0x8a8c7db64f218350e4ff44d079d96066b6ddcb7b'
    const challenge = await fetch(`${url}/api/svc/access?agent=${agent}`)
    expect(challenge.status).toBe(402)
  })

  it('care keeps its records in its data folder, and serves its documents', async () => {
    const url = await start('care')
    for (const path of ['/ready', '/verify', '/LICENSE', '/CHANGELOG.md', '/vectors/chain.json'])
      expect((await fetch(url + path)).status, path).toBe(200)
    expect(readdirSync(installService('care').dataFolder)).toContain('care.db')
  })

  it('grading keeps its ledger in its data folder, and charges a cent', async () => {
    const url = await start('grading')
    await expectSecp256k1(url, 'native')
    const program = running.at(-1) as RunningProgram
    await eventually(() => answers(`${url}/ready`, program))
    expect((await fetch(`${url}/api/grade`, { method: 'POST' })).status).toBe(402)
    for (const path of ['/', '/calibration', '/try', '/method', '/docs/', '/openapi.json'])
      expect((await fetch(url + path)).status, path).toBe(200)
    expect(readdirSync(installService('grading').dataFolder)).toContain('grading.db')
  })

  it('C27: the sign-in tells of itself by discovery, from an install and a data folder of its own', async () => {
    const url = await start('issuer')
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const answer = await fetch(`${url}/.well-known/${name}`)
      const metadata = (await answer.json()) as { readonly jwks_uri: string }
      expect(metadata).toMatchObject({ issuer: url, code_challenge_methods_supported: ['S256'] })
      expect((await fetch(metadata.jwks_uri)).status).toBe(200)
    }
    expect(readdirSync(installService('issuer').dataFolder)).toContain('issuer.db')
  })

  it('each ends with 0 when told to', async () => {
    const codes: (number | null)[] = []
    // All are stopped before any is judged, so that a failure leaves none running.
    for (const program of running.splice(0).toReversed()) codes.push(await program.stop())
    expect(codes).toEqual(codes.map(() => 0))
    expect(codes).toHaveLength(6)
  })
})
