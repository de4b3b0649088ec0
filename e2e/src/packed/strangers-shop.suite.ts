// A stranger's application: the gate from its packed tarball, outside the workspace, types and all. Its folder holds the tarball,
// the dependencies that the tarball declares, and what the application itself asks for. They are the workspace's installed
// copies, so that no test waits for a registry.
import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { hederaRequirement, readTransfer } from '@tallystick/x402/hedera'
import { agentMemo, type ExactHederaClient } from '@tallystick/x402/hedera-client'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OTHER_NODES, type PackedPackage, run, unpackInto } from '../packed-package.ts'
import { root } from '../spawned-stack.ts'

const packageFolder = join(root, 'packages/x402')

/** Puts an installed package of the workspace into the stranger's folder. */
function install(folder: string, { name, from }: { name: string; from: string }): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(realpathSync(join(from, 'node_modules', name)), place)
}

/** The README's first program, with the addresses of this test in place of the public ones. */
function programOfReadme(): string {
  const readme = readFileSync(join(packageFolder, 'README.md'), 'utf8')
  const [, program = ''] = /## A paid route in a minute\n\n```ts\n([^]*?)```/.exec(readme) ?? []
  return program
    .replace('https://rpc.xlayer.tech', '${process.env.NODE}')
    .replace('http://127.0.0.1:4020', '${process.env.NODE}')
    .replaceAll(/'(\$\{process[^']*)'/g, '`$1`')
    .replace("'0x…'", "`0x${'11'.repeat(20)}`")
    .replace('await app.listen({ port: 3000 })', 'export { app }')
}

const PAYING = `
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { ExactEvmClient, evmSigner, X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'

const word = (value) => '0x' + value.toString(16).padStart(64, '0')
const node = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const call = JSON.parse(body)
  const respond = ({ id, params }) => ({ jsonrpc: '2.0', id, result: word(params[0].data.startsWith('0x70a08231') ? 10n ** 9n : 0n) })
  const settled = { success: true, transaction: word(7n), network: 'eip155:196' }
  response.end(JSON.stringify(request.url === '/settle' ? settled : Array.isArray(call) ? call.map(respond) : respond(call)))
})
await new Promise((done) => node.listen(0, '127.0.0.1', done))
process.env.NODE = 'http://127.0.0.1:' + node.address().port
const { app } = await import('./shop.mjs')
const url = (await app.listen({ port: 0, host: '127.0.0.1' })) + '/report'
const allowed = { network: 'eip155:196', asset: X_LAYER_USDT0.address, maxAmountPerPayment: '10000' }
const client = new x402Client().setSpendControls({ allowedAssets: [allowed] })
  .register('eip155:*', new ExactEvmClient({ signer: evmSigner({ privateKey: '11'.repeat(32) }) }))
assert.equal((await fetch(url)).status, 402)
const paid = await wrapFetchWithPayment(fetch, client)(url)
assert.equal(paid.status, 200)
console.log(JSON.stringify(await paid.json()))
process.exit(0)
`

/** What the README's blocks say that their reader has. */
const READER = `
import type { createPaymentGate, JobOptions, PaymentGate, PaymentTerms } from '@tallystick/x402'
import type { callPaidTool } from '@tallystick/x402/mcp'
import type { x402Client } from '@x402/fetch'
import type { FastifyInstance } from 'fastify'

type Shop = Parameters<typeof createPaymentGate>[0]
type Wallet = { request(call: { method: string; params?: unknown }): Promise<unknown> }
declare global {
  const app: FastifyInstance
  const gate: PaymentGate
  const terms: PaymentTerms
  const job: () => JobOptions<unknown, { answer: number }, string>
  const shop: Shop
  const first: Extract<Shop['facilitator'], { settle: unknown }>
  const second: typeof first
  const client: x402Client
  const ethereum: Wallet
  const wallet: Wallet
  const publicKey: Uint8Array
  const privateKey: string
  const apiKey: string
  const passphrase: string
  const secretKey: string
  const url: string
  const description: string
  const mimeType: string
  const inputSchema: object
  const params: { name: string; arguments: Record<string, unknown> }
  const gradeJob: (fingerprint: string, given: object) => JobOptions<string, object, string>
  const decline: Parameters<typeof callPaidTool>[0]['decline']
}
`

/** A page's program, which signs with a function and has nothing of Node. */
const PAGE = `
import { ExactEvmClient } from '@tallystick/x402/evm'
import { agentMemo, ExactHederaClient } from '@tallystick/x402/hedera'
import { x402Client } from '@x402/core/client'

const signer = { accountId: '0.0.9001', keyKind: 'ed25519', publicKey: new Uint8Array(32).fill(1), sign: (body) => signed(body) }
const scheme = new ExactHederaClient({ signer, memo: agentMemo('0x' + 'ab'.repeat(20)) })
new x402Client().register('hedera:*', scheme).register('eip155:*', new ExactEvmClient({ signer: {} }))
globalThis.paid = scheme.createPaymentPayload(2, requirement)
`

/** Runs them with the package `x402` as it was packed. */
export function strangersShopTests(packed: () => PackedPackage): void {
  const folder = mkdtempSync(join(tmpdir(), 'stranger-'))

  beforeAll(() => {
    const { manifest, tarball } = packed()
    unpackInto(folder, { name: manifest.name, tarball })
    const needed = { ...manifest.dependencies, ...manifest.peerDependencies }
    const wanted = [...Object.keys(needed), '@x402/fetch']
    for (const name of wanted) install(folder, { name, from: packageFolder })
    install(folder, { name: '@types/node', from: root })
    install(folder, { name: 'typescript-5', from: join(root, 'e2e') })
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('the README’s first program sells a report for a cent to the official client', () => {
    writeFileSync(join(folder, 'shop.mjs'), programOfReadme())
    writeFileSync(join(folder, 'pay.mjs'), PAYING)
    expect(JSON.parse(run(process.execPath, ['pay.mjs'], folder))).toEqual({ answer: 42 })
  })

  for (const variable of OTHER_NODES)
    it(`so it does with the Node of ${variable}`, ({ skip }) => {
      const node = process.env[variable] ?? skip(`${variable} names no other Node`)
      expect(JSON.parse(run(node, ['pay.mjs'], folder))).toEqual({ answer: 42 })
    })

  it.each([
    ['5.9', 'typescript-5/bin/tsc'],
    ['7', 'typescript/bin/tsc'],
  ])(
    'the README’s programs compile in a strict project, declarations checked: TypeScript %s',
    (_version, path) => {
      const readme = readFileSync(join(packageFolder, 'README.md'), 'utf8')
      const blocks = [...readme.matchAll(/^```ts.*\n([^]*?)^```/gm)].map(([, code = '']) => code)
      expect(blocks.length).toBeGreaterThan(10)
      const files = blocks.map((code, at) => {
        writeFileSync(join(folder, `readme-${at}.mts`), `${code}\nexport {}\n`)
        return `readme-${at}.mts`
      })
      writeFileSync(join(folder, 'reader.d.mts'), READER)
      const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024']
      const libraries = ['--lib', 'es2024,dom', '--types', 'node', '--skipLibCheck', 'false']
      const compiler = join(
        root,
        path.startsWith('typescript-5') ? 'e2e' : '',
        'node_modules',
        path,
      )
      const line = [compiler, ...options, ...libraries, 'reader.d.mts', ...files]
      const { status, stdout } = spawnSync(process.execPath, line, {
        cwd: folder,
        encoding: 'utf8',
      })
      expect([status, stdout]).toEqual([0, ''])
    },
  )

  it('the payer’s half bundles for a browser, and pays there with a function that signs', async () => {
    writeFileSync(join(folder, 'page.mjs'), PAGE)
    const warnings: string[] = []
    const bundle = await rolldown({
      cwd: folder,
      input: './page.mjs',
      platform: 'browser',
      onwarn: ({ message }) => warnings.push(message),
    })
    const { output } = await bundle.generate({ format: 'iife' })
    expect([warnings, output[0].imports]).toEqual([[], []])
    // What pages have, and nothing else.
    const { atob, btoa, crypto, TextDecoder, TextEncoder, URL } = globalThis
    const page = { atob, btoa, crypto, TextDecoder, TextEncoder, URL, console }
    const requirement = hederaRequirement({
      network: 'hedera:testnet',
      price: '3 HBAR',
      payTo: '0.0.7001',
      feePayer: '0.0.5001',
    })
    const bodies: Uint8Array[] = []
    const signed = (body: Uint8Array): Uint8Array => {
      bodies.push(body)
      return new Uint8Array(64).fill(2)
    }
    const context = createContext({ ...page, requirement, signed })
    runInContext(output[0].code, context)
    const { payload } = await (context['paid'] as ReturnType<
      ExactHederaClient['createPaymentPayload']
    >)
    const transfer = readTransfer(Buffer.from(String(payload['transaction']), 'base64'))
    expect(bodies).toHaveLength(1)
    expect(transfer).toMatchObject({ transfer: { memo: agentMemo(`0x${'ab'.repeat(20)}`) } })
  })
}
