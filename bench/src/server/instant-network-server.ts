// A payment network that answers at once, in a process of its own: a facilitator that settles whatever it gets, and a node
// whose every nonce is unused and whose every balance is large. What is left of a paid call is the gate's own.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { domainSeparator, keccak256, stringToBytes, toFunctionSelector } from 'viem'
import { answerProbe } from './answer-probe.ts'
import { BENCH_CHAIN } from './payment-network-facts.ts'

const [, , payerCount = '0'] = process.argv

const BALANCE_OF = toFunctionSelector('function balanceOf(address)')
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`
const UNUSED = word(0n)
const LARGE_BALANCE = word(10n ** 18n)

const { address, name, version } = X_LAYER_USDT0
const chainId = Number(BENCH_CHAIN.split(':')[1])
const DOMAIN_SEPARATOR = toFunctionSelector('function DOMAIN_SEPARATOR()')
const domain = domainSeparator({ domain: { name, version, chainId, verifyingContract: address } })

type RpcCall = { readonly id: number; readonly params: readonly [{ readonly data: string }?] }

/** Gates ask for the state of a nonce and a balance; a service that starts, for the chain and the token's domain. */
function rpcResult({ params: [call] }: RpcCall): string {
  if (call === undefined) return `0x${chainId.toString(16)}`
  if (call.data === DOMAIN_SEPARATOR) return domain
  return call.data.startsWith(BALANCE_OF) ? LARGE_BALANCE : UNUSED
}

const rpcAnswer = (call: RpcCall): object => ({
  jsonrpc: '2.0',
  id: call.id,
  result: rpcResult(call),
})

type SettleCall = {
  readonly paymentPayload: { readonly payload: { authorization: { from: string } } }
}

function answerTo(path: string, body: string): unknown {
  if (path === '/supported') {
    const kind = { x402Version: 2, scheme: 'exact', network: BENCH_CHAIN }
    return { kinds: [kind], extensions: [], signers: {} }
  }
  if (path === '/rpc') {
    const call = JSON.parse(body) as RpcCall | readonly RpcCall[]
    return Array.isArray(call) ? call.map(rpcAnswer) : rpcAnswer(call as RpcCall)
  }
  const { paymentPayload } = JSON.parse(body) as SettleCall
  const payer = paymentPayload.payload.authorization.from
  if (path === '/verify') return { isValid: true, payer }
  const transaction = `0x${randomBytes(32).toString('hex')}`
  return { success: true, transaction, network: BENCH_CHAIN, payer }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

const server = createServer((request, response) => {
  void readBody(request).then((body) => {
    const text = JSON.stringify(answerTo(request.url ?? '', body))
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    return response.end(text)
  })
})
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
answerProbe({
  url,
  details: {
    facilitatorUrl: url,
    evmUrl: `${url}/rpc`,
    stablecoin: { address, name, version },
    evmPayTo: `0x${'11'.repeat(20)}`,
    evmPayerKeys: Array.from({ length: Number(payerCount) }, (_, index) =>
      keccak256(stringToBytes(`bench-payer-${index}`)),
    ),
  },
  async stop() {
    server.closeAllConnections()
    server.close()
  },
})
