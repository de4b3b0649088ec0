// A stranger's application: the gate from its packed tarball, outside the workspace, types and all. Its folder holds the tarball,
// the dependencies that the tarball declares, and what the application itself asks for. They are the workspace's installed
// copies, so that no test waits for a registry.
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
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OTHER_NODES, type PackedPackage, run, unpackInto } from '../packed-package.ts'
import { root } from '../spawned-stack.ts'

const packageFolder = join(root, 'packages/x402')
const TSC = join(root, 'node_modules/typescript/bin/tsc')

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
  const of = ({ id, params }) => ({ jsonrpc: '2.0', id, result: word(params[0].data.startsWith('0x70a08231') ? 10n ** 9n : 0n) })
  const settled = { success: true, transaction: word(7n), network: 'eip155:196' }
  response.end(JSON.stringify(request.url === '/settle' ? settled : Array.isArray(call) ? call.map(of) : of(call)))
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

/** What a typed application relies on. */
const TYPED = `
import { createPaymentGate, type PaymentTerms } from '@tallystick/x402'
import { hederaRequirement } from '@tallystick/x402/hedera'
import { callPaidTool, type ToolResult } from '@tallystick/x402/mcp'
import { paidRoute } from '@tallystick/x402/fastify'

const network = 'hedera:testnet'
const requirement = hederaRequirement({ network, amountTinybar: 1n, payTo: '0.0.1', feePayer: '0.0.2' })
const terms: PaymentTerms = {
  requirements: [requirement],
  resource: { url: 'https://shop.example', description: '', mimeType: 'text/plain' },
}
void [terms, createPaymentGate, paidRoute, callPaidTool]
const result: ToolResult = { content: [] }
void result
`

/** Runs them with the package `x402` as it was packed. */
export function strangersShopTests(packed: () => PackedPackage): void {
  const folder = mkdtempSync(join(tmpdir(), 'stranger-'))

  beforeAll(() => {
    const { manifest, tarball } = packed()
    unpackInto(folder, { name: manifest.name, tarball })
    const needed = { ...manifest.dependencies, ...manifest.peerDependencies }
    const asked = [...Object.keys(needed), '@x402/fetch']
    for (const name of asked) install(folder, { name, from: packageFolder })
    for (const name of ['typescript', '@types/node']) install(folder, { name, from: root })
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

  it('its types hold in a strict project, declarations checked', () => {
    writeFileSync(join(folder, 'typed.ts'), TYPED)
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024']
    const libraries = ['--lib', 'es2024,dom', '--types', 'node', '--skipLibCheck', 'false']
    expect(run(process.execPath, [TSC, ...options, ...libraries, 'typed.ts'], folder)).toBe('')
  })
}
