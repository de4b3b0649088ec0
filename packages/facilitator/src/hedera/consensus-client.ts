/**
 * Consensus nodes over gRPC, through the ledger's SDK: which nodes, how long to wait for them, and what happened to a
 * transaction id. submit-payment.ts hands them a payment.
 */
import {
  AccountId,
  Client,
  Hbar,
  type PrivateKey,
  TransactionId,
  TransactionReceiptQuery,
  type TransactionRecord,
  TransactionRecordQuery,
} from '@hiero-ledger/sdk'
import { type Clock, retry } from '@tallystick/service-kit'
import { HBAR_ASSET } from '@tallystick/x402/hedera'
import { createNodeProbe } from './node-probe.ts'
import { type Submission, submitPayment } from './submit-payment.ts'

/** One consensus node: `host:port` of its gRPC service and its account. */
type ConsensusNode = { readonly address: string; readonly accountId: string }

/** The ledger recorded this under a transaction id. */
export type Recorded = {
  /** The network's status code: `SUCCESS`, or why it failed. */
  readonly status: string
  /** SHA-384 of the signed bytes executed under this id, hex. */
  readonly hash: string
  /** Net change by asset, as payments name it, and account; base units. */
  readonly net: ReadonlyMap<string, ReadonlyMap<string, bigint>>
}

/** `cause` is for the log, if the record is not known in time. */
type Outcome = Recorded | { readonly cause: unknown }

export type ConsensusClient = ReturnType<typeof createConsensusClient>

/** The nodes that payments are submitted to, and who pays the fees. */
export type ConsensusNetwork = {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  /** Empty: the public nodes of the network. */
  readonly consensusNodes: readonly ConsensusNode[]
  /** `0.0.x`. */
  readonly feePayer: string
  readonly limits?: Partial<ConsensusLimits> | undefined
}

type ConsensusClientOptions = ConsensusNetwork & {
  readonly feePayerKey: PrivateKey
  readonly clock: Clock
}

/**
 * How long to wait for the network. Nodes answer a call within a second, and waiting for a slow one is better than an
 * unknown outcome. Consensus takes 2 to 5 s, slightly more on a loaded network; official clients wait 90 s for a
 * facilitator, the gate 45 s.
 */
const DEFAULT_LIMITS = {
  /** One gRPC call. */
  callMs: 5_000,
  /** From submission to a receipt. */
  outcomeMs: 20_000,
}
type ConsensusLimits = Readonly<typeof DEFAULT_LIMITS>

/** More polls than fit into any wait: time ends the polling, not the count. */
const POLLS_MAX = 1_000
const POLL_FIRST_MS = 250
const POLL_PAUSE_MAX_MS = 1_000
/** A record costs about 0.001 HBAR; reading one is not worth more than this. */
const RECORD_FEE_MAX = Hbar.fromTinybars(10_000_000)
/** How long the SDK avoids a node after a failed call: hardly at all, since the probe chooses nodes and there may be only one. */
const NODE_BACKOFF_MS = 10
const NODE_BACKOFF_MAX_MS = 20

function newClient(options: ConsensusClientOptions, limits: ConsensusLimits): Client {
  const { consensusNodes: nodes, network } = options
  const client =
    nodes.length === 0
      ? Client.forName(network.replace(/^hedera:/, ''))
      : Client.forNetwork(
          Object.fromEntries(
            nodes.map((node) => [node.address, AccountId.fromString(node.accountId)]),
          ),
          { scheduleNetworkUpdate: false },
        )
  return client
    .setOperator(options.feePayer, options.feePayerKey)
    .setGrpcDeadline(limits.callMs)
    .setRequestTimeout(Math.max(limits.outcomeMs, 2 * limits.callMs))
    .setNodeMinBackoff(NODE_BACKOFF_MS)
    .setNodeMaxBackoff(NODE_BACKOFF_MAX_MS)
    .setMinBackoff(POLL_FIRST_MS)
    .setMaxBackoff(POLL_PAUSE_MAX_MS)
    .setDefaultRegenerateTransactionId(false)
}

/** What a record moved, custom fees of tokens included. */
function netByAsset(record: TransactionRecord): Recorded['net'] {
  const tokens = [...(record.tokenTransfers ?? [])].map(
    ([token, accounts]) =>
      [
        token.toString(),
        new Map([...accounts].map(([id, units]) => [id.toString(), BigInt(units.toString())])),
      ] as const,
  )
  return new Map([[HBAR_ASSET, netTinybar(record)], ...tokens])
}

function netTinybar(record: TransactionRecord): ReadonlyMap<string, bigint> {
  const net = new Map<string, bigint>()
  const add = (lines: TransactionRecord['transfers'], sign: 1n | -1n): void => {
    for (const { accountId, amount } of lines) {
      const account = accountId.toString()
      const tinybar = BigInt(amount.toTinybars().toString())
      net.set(account, (net.get(account) ?? 0n) + sign * tinybar)
    }
  }
  add(record.transfers, 1n)
  // Accounts that stake receive rewards with the next transfer that touches them (HIP-406); these are not part of the
  // payment.
  add(record.paidStakingRewards, -1n)
  return net
}

/** Reads receipt and record once; throws what the SDK throws. */
async function readRecord(
  id: TransactionId,
  client: Client,
  limits: { readonly receiptMs: number; readonly callMs: number },
): Promise<Recorded> {
  await new TransactionReceiptQuery()
    .setTransactionId(id)
    .setValidateStatus(false)
    .setMaxAttempts(POLLS_MAX)
    .execute(client, limits.receiptMs)
  const record = await new TransactionRecordQuery()
    .setTransactionId(id)
    .setValidateReceiptStatus(false)
    .setMaxQueryPayment(RECORD_FEE_MAX)
    .setMaxAttempts(POLLS_MAX)
    .execute(client, limits.callMs)
  return {
    status: record.receipt.status.toString(),
    hash: Buffer.from(record.transactionHash).toString('hex'),
    net: netByAsset(record),
  }
}

/** Returns a client for the given nodes, or for the public nodes of the network. */
export function createConsensusClient(options: ConsensusClientOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const { callMs } = limits
  const client = newClient(options, limits)
  const letGo = holdChannels(Object.keys(client.network), () => client.close())
  const { clock, feePayerKey } = options
  const probe = createNodeProbe(clock)
  return {
    /** Throws ConsensusUnavailable, and only if nothing was submitted. */
    submit: (transactionList: Uint8Array): Promise<Submission> =>
      submitPayment(transactionList, { client, feePayerKey, probe, callMs }),
    /**
     * Waits for the receipt and reads the record; retries until time is up if a node fails, or a record lags behind its
     * receipt. Never throws.
     */
    async outcome(transactionId: string): Promise<Outcome> {
      const id = TransactionId.fromString(transactionId)
      const endMs = clock.unixMs() + limits.outcomeMs
      const pauses = { firstMs: POLL_FIRST_MS, maxMs: POLL_FIRST_MS }
      const limitMs = limits.outcomeMs - POLL_FIRST_MS
      // No reachable node, no receipt in time, or too costly a record: the transfer may still have landed.
      const end = await retry({ ...pauses, clock, limitMs }, () =>
        readRecord(id, client, { receiptMs: Math.max(endMs - clock.unixMs(), callMs), callMs }),
      )
      return end.kind === 'done' ? end.value : { cause: end.cause }
    },
    /** Whether any node can be reached. */
    async isReachable(): Promise<boolean> {
      const addresses = Object.keys(client.network)
      const answers = await Promise.all(addresses.map((address) => probe.isReachable(address)))
      return answers.includes(true)
    },
    close: letGo,
  }
}

const NODE = /^([a-zA-Z0-9.-]+):(\d{1,5})=(\d+\.\d+\.\d+)$/

/**
 * Reads a list such as `127.0.0.1:50211=0.0.3,10.0.0.2:50211=0.0.4`; undefined if an entry is malformed. IPv6 addresses
 * are refused, since the ledger SDK splits an address at its first colon.
 */
export function parseConsensusNodes(text: string): readonly ConsensusNode[] | undefined {
  const nodes: ConsensusNode[] = []
  for (const entry of text.split(',').map((part) => part.trim())) {
    const [, host, port, accountId] = NODE.exec(entry) ?? []
    if (host === undefined || port === undefined || accountId === undefined) return undefined
    if (Number(port) < 1 || Number(port) > 65_535) return undefined
    nodes.push({ address: `${host}:${port}`, accountId })
  }
  return nodes
}

/** A client of the ledger SDK with its nodes' addresses. */
type Hold = { readonly addresses: ReadonlySet<string>; readonly close: () => void }

/** Clients in use. */
const open = new Set<Hold>()
/** Released clients whose channels others still use. */
const letGo = new Set<Hold>()

const isShared = (hold: Hold): boolean =>
  [...open].some(({ addresses }) => [...addresses].some((address) => hold.addresses.has(address)))

/**
 * Holds a client's channels. The SDK shares one channel per address across the process, and a closing client also closes
 * the channels it used. So `close` runs only once no client in use has any of its addresses. Returns a function that
 * releases the hold; a second call does nothing.
 */
export function holdChannels(addresses: readonly string[], close: () => void): () => void {
  const hold: Hold = { addresses: new Set(addresses), close }
  open.add(hold)
  return () => {
    if (!open.delete(hold)) return
    letGo.add(hold)
    for (const client of letGo) {
      if (isShared(client)) continue
      letGo.delete(client)
      client.close()
    }
  }
}
