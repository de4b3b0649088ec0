import {
  status as grpcStatus,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js'
import { proto } from '@hiero-ledger/proto'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { isAnswerLost } from '../ledger/network-faults.ts'
import {
  decodeSignedTransaction,
  ETHEREUM_BYTES_MAX,
  type Status,
  statusNumber,
} from '../ledger/signed-transaction.ts'
import { TRANSACTION_KINDS, UNSUPPORTED_METHODS } from '../ledger/transaction-kinds.ts'
import { hostAndPort } from '../listen.ts'
import { CONTENT_QUERIES } from './answer-content-query.ts'
import { QUERIES } from './answer-query.ts'
import type { TransactionService } from './transaction-service.ts'

type Answer = (request: Buffer) => Promise<Uint8Array>

/**
 * Serves the consensus node's services without TLS, as SDKs expect on any port but 50212.
 * @throws the operating system's error if the port is taken
 */
export async function startConsensusServer(options: {
  ledger: Ledger
  transfers: TransactionService
  host: string
  port: number
}) {
  const { ledger, transfers } = options
  const server = new Server()
  const submit =
    (bytesMax?: number): Answer =>
    async (request) =>
      transactionResponse(await transfers.submit(request, bytesMax))
  const queries = Object.entries({ ...QUERIES, ...CONTENT_QUERIES }).map(
    ([path, answer]): [string, Answer] => [
      path,
      (request) => answer({ ledger, transfers }, request),
    ],
  )
  const answers: { [path: string]: Answer } = {
    ...Object.fromEntries(queries),
    ...Object.fromEntries(Object.values(TRANSACTION_KINDS).map(([, path]) => [path, submit()])),
    'SmartContractService/callEthereum': submit(ETHEREUM_BYTES_MAX),
    ...Object.fromEntries(UNSUPPORTED_METHODS.map((path) => [path, notSupported])),
  }
  for (const [path, answer] of Object.entries(answers)) {
    const [, method = ''] = path.split('/')
    const definition = {
      path: `/proto.${path}`,
      requestStream: false as const,
      responseStream: false as const,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
      responseDeserialize: (bytes: Buffer) => bytes,
    }
    server.addService({ [method]: definition }, { [method]: handler(ledger, { method, answer }) })
  }
  const port = await new Promise<number>((resolve, reject) => {
    const address = hostAndPort(options.host, options.port)
    server.bindAsync(address, ServerCredentials.createInsecure(), (cause, bound) => {
      if (cause === null) resolve(bound)
      else reject(cause)
    })
  })
  return {
    port,
    stop: () => server.forceShutdown(),
  }
}

function handler(ledger: Ledger, { method, answer }: { method: string; answer: Answer }) {
  return (call: ServerUnaryCall<Buffer, Uint8Array>, callback: sendUnaryData<Uint8Array>): void => {
    const unavailable = { code: grpcStatus.UNAVAILABLE, details: 'node unavailable' }
    if (ledger.faults.unavailable.consensus || isForDownNode(ledger, call.request)) {
      callback(unavailable)
      return
    }
    void respond(call.request)

    async function respond(request: Buffer): Promise<void> {
      try {
        const answered = await answer(request)
        if (isAnswerLost(ledger.faults, 'consensus', method)) callback(unavailable)
        else callback(null, answered)
      } catch (cause) {
        process.stderr.write(`devnet: consensus: ${String(cause)}\n`)
        callback({ code: grpcStatus.INTERNAL, details: 'devnet failed' })
      }
    }
  }
}

/** Whether a request is a transaction for a node that is down. Queries name no node, so another one answers them. */
function isForDownNode({ faults }: Ledger, request: Buffer): boolean {
  if (faults.downNodes.length === 0) return false
  const transfer = decodeSignedTransaction(request, ETHEREUM_BYTES_MAX)
  return (
    typeof transfer !== 'string' && faults.downNodes.includes(entityId(transfer.nodeNumber ?? 0))
  )
}

async function notSupported(): Promise<Uint8Array> {
  return transactionResponse('NOT_SUPPORTED')
}

function transactionResponse(status: Status): Uint8Array {
  const nodeTransactionPrecheckCode = statusNumber(status)
  return proto.TransactionResponse.encode({ nodeTransactionPrecheckCode }).finish()
}
