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
import { hostAndPort } from '../listen.ts'
import { QUERIES } from './answer-query.ts'
import { decodeSignedTransfer, type Status, statusNumber } from './signed-transfer.ts'
import type { TransferService } from './transfer-service.ts'

type Answer = (request: Buffer) => Promise<Uint8Array>

/**
 * Serves `proto.CryptoService` without TLS, as SDKs expect on any port but 50212.
 * @throws the operating system's error if the port is taken
 */
export async function startConsensusServer(options: {
  ledger: Ledger
  transfers: TransferService
  host: string
  port: number
}) {
  const { ledger, transfers } = options
  const server = new Server()
  const queries = Object.entries(QUERIES).map(([method, answer]): [string, Answer] => [
    method,
    (request) => answer({ ledger, transfers }, request),
  ])
  const answers: { [method: string]: Answer } = {
    cryptoTransfer: async (request) => transactionResponse(await transfers.submit(request)),
    ...Object.fromEntries(queries),
    createAccount: notSupported,
    updateAccount: notSupported,
    cryptoDelete: notSupported,
    approveAllowances: notSupported,
  }
  for (const [method, answer] of Object.entries(answers)) {
    const definition = {
      path: `/proto.CryptoService/${method}`,
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
  const transfer = decodeSignedTransfer(request)
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
