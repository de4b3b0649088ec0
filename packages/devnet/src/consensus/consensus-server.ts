import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { proto } from '@hiero-ledger/proto'
import type { Ledger } from '../ledger/ledger.ts'
import { hostAndPort } from '../listen.ts'
import {
  answerBalance,
  answerInfo,
  answerReceipt,
  answerRecord,
  type QueryContext,
} from './answer-query.ts'
import { statusNumber } from './signed-transfer.ts'
import type { TransferService } from './transfer-service.ts'

/** The consensus edge, listening. */
export type ConsensusServer = { port: number; stop(): void }

type Answer = (request: Buffer) => Promise<Uint8Array>

/**
 * Serves `proto.CryptoService` without TLS, as SDKs expect on any port but 50212.
 * @throws what the operating system says when the port is taken
 */
export async function startConsensusServer(options: {
  ledger: Ledger
  transfers: TransferService
  host: string
  port: number
}): Promise<ConsensusServer> {
  const { ledger, transfers } = options
  const server = new Server()
  const answers = cryptoService({ ledger, transfers })
  const definition = Object.fromEntries(
    Object.keys(answers).map((method) => [
      method,
      {
        path: `/proto.CryptoService/${method}`,
        requestStream: false as const,
        responseStream: false as const,
        requestSerialize: (bytes: Buffer) => bytes,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    ]),
  )
  const handlers = Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [method, handler(ledger, answer)]),
  )
  server.addService(definition, handlers)
  const port = await new Promise<number>((resolve, reject) => {
    const address = hostAndPort(options.host, options.port)
    server.bindAsync(address, ServerCredentials.createInsecure(), (cause, bound) => {
      if (cause === null) resolve(bound)
      else reject(cause)
    })
  })
  return {
    port,
    stop() {
      server.forceShutdown()
    },
  }
}

function handler(ledger: Ledger, answer: Answer) {
  return (call: ServerUnaryCall<Buffer, Uint8Array>, callback: sendUnaryData<Uint8Array>): void => {
    if (ledger.faults.unavailable.consensus) {
      callback({ code: status.UNAVAILABLE, details: 'node unavailable' })
      return
    }
    void respond(call.request)

    async function respond(request: Buffer): Promise<void> {
      try {
        callback(null, await answer(request))
      } catch (cause) {
        process.stderr.write(`devnet: consensus: ${String(cause)}\n`)
        callback({ code: status.INTERNAL, details: 'devnet failed' })
      }
    }
  }
}

function cryptoService(context: QueryContext): { [method: string]: Answer } {
  const query =
    (
      answer: (
        context: QueryContext,
        query: proto.IQuery,
      ) => proto.IResponse | Promise<proto.IResponse>,
    ): Answer =>
    async (request) =>
      proto.Response.encode(await answer(context, proto.Query.decode(request))).finish()
  return {
    cryptoTransfer: async (request) =>
      transactionResponse(statusNumber(await context.transfers.submit(request))),
    getTransactionReceipts: query(answerReceipt),
    getTxRecordByTxID: query(answerRecord),
    cryptoGetBalance: query(answerBalance),
    getAccountInfo: query(answerInfo),
    createAccount: notSupported,
    updateAccount: notSupported,
    cryptoDelete: notSupported,
    approveAllowances: notSupported,
  }
}

async function notSupported(): Promise<Uint8Array> {
  return transactionResponse(statusNumber('NOT_SUPPORTED'))
}

function transactionResponse(nodeTransactionPrecheckCode: number): Uint8Array {
  return proto.TransactionResponse.encode({ nodeTransactionPrecheckCode }).finish()
}
