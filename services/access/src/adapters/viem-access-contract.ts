/** Reads of the access contract through JSON-RPC. Writes are in viem-contract-sender.ts. */
import { accessWindowAbi } from '@tallystick/contracts'
import {
  decodeFunctionResult,
  encodeFunctionData,
  type PublicClient,
  prepareEncodeFunctionData,
} from 'viem'
import type { AccessWindow, Hex } from '../domain/access-window.ts'
import {
  type AccessContract,
  ChainUnavailable,
  ContractAbsent,
  type Offer,
} from '../domain/ports.ts'
import { isNoContract } from './ledger-client.ts'

type ViemAccessContractOptions = {
  readonly client: PublicClient
  readonly chainId: number
  readonly address: Hex | undefined
}

const abi = accessWindowAbi

/** Counts on the wire are JSON numbers: one beyond their exact range is shown as the largest exact one. */
const toCount = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value)

const lower = (address: Hex): Hex => address.toLowerCase() as Hex

export function createViemAccessContract(options: ViemAccessContractOptions): AccessContract {
  const { client } = options
  const verifier = deploymentVerifier(options)

  /** Runs a read; a failure is named, and makes the next call look at chain and code again. */
  const read = async <Result>(run: (address: Hex) => Promise<Result>): Promise<Result> => {
    const { address } = options
    if (address === undefined) throw new ContractAbsent('no contract address is configured')
    try {
      return await run(address)
    } catch (error) {
      verifier.forget()
      if (isNoContract(error)) await verifier.ensure()
      throw new ChainUnavailable('the access contract could not be read', { cause: error })
    }
  }
  const hasRole = (functionName: 'isForwarder' | 'isRecorder', account: Hex) =>
    read((address) => client.readContract({ address, abi, functionName, args: [account] }))
  const offers = offerHistory(options.client, read)

  return {
    address: options.address,
    isOwn: (address) => address === options.address,
    ensureDeployed: () => verifier.ensure(),
    windowOf: (agent, atSeconds) =>
      read(async (contract) =>
        toAccessWindow(await readWindow(client, { contract, agent, atSeconds })),
      ),
    offers,
    areSalesPaused: () =>
      read((address) => client.readContract({ address, abi, functionName: 'salesPaused' })),
    isForwarder: (account) => hasRole('isForwarder', account),
    isRecorder: (account) => hasRole('isRecorder', account),
    paymentOf: (paymentReference) =>
      read(async (address) => {
        const [isUsed, agent] = await client.readContract({
          address,
          abi,
          functionName: 'paymentOf',
          args: [paymentReference],
        })
        return { isUsed, agent: lower(agent) }
      }),
    renewalsReserveCanArm: () =>
      read(async (address) =>
        toCount(await client.readContract({ address, abi, functionName: 'renewalsReserveCanArm' })),
      ),
    books: () => read((address) => client.readContract({ address, abi, functionName: 'books' })),
  }
}

function toAccessWindow(window: Awaited<ReturnType<typeof readWindow>>): AccessWindow {
  const { expiresAt, scheduledAt, periodsFunded, schedule, guardNonce: _, ...same } = window
  return {
    ...same,
    expiresAtSeconds: toCount(expiresAt),
    periodsFunded: toCount(periodsFunded),
    schedule: lower(schedule),
    scheduledAtSeconds: toCount(scheduledAt),
  }
}

type Read = <Result>(run: (address: Hex) => Promise<Result>) => Promise<Result>

/** Offers never change once set: only those not seen yet are read. A lagging read never shortens the list. */
function offerHistory(client: PublicClient, read: Read): () => Promise<readonly Offer[]> {
  const known: Offer[] = []
  return () =>
    read(async (address) => {
      const [currentId] = await client.readContract({ address, abi, functionName: 'currentOffer' })
      const missing = Array.from(
        { length: Math.max(0, currentId + 1 - known.length) },
        (_, index) => known.length + index,
      )
      const added = await Promise.all(
        missing.map(async (offerId): Promise<Offer> => {
          const args = [offerId] as const
          const { startsAt, ...terms } = await client.readContract({
            address,
            abi,
            functionName: 'offerAt',
            args,
          })
          return { offerId, ...terms, startsAtSeconds: toCount(startsAt) }
        }),
      )
      for (const offer of added) known[offer.offerId] = offer
      return known.slice()
    })
}

/** Looks once whether the chain is the configured one and has code at the address; again after anything failed. */
function deploymentVerifier(options: ViemAccessContractOptions) {
  const { client, address, chainId } = options
  let verified: Promise<void> | undefined
  const verify = async (): Promise<void> => {
    if (address === undefined) throw new ContractAbsent('no contract address is configured')
    const [actualChainId, code] = await Promise.all([
      client.getChainId(),
      client.getCode({ address }),
    ]).catch((error: unknown) => {
      throw new ChainUnavailable('the ledger did not answer', { cause: error })
    })
    if (actualChainId !== chainId)
      throw new ChainUnavailable(`the ledger is chain ${actualChainId}, not ${chainId}`, {
        isAnotherChain: true,
      })
    if (code === undefined || code === '0x')
      throw new ContractAbsent('there is no code at the contract address')
  }
  return {
    ensure(): Promise<void> {
      verified ??= verify().catch((error: unknown) => {
        verified = undefined
        throw error
      })
      return verified
    },
    forget(): void {
      verified = undefined
    },
  }
}

/**
 * `windowOf`, the one read that every call makes, without what viem's readContract does anew each time: with the selector
 * hashed once, a read costs a third of the CPU.
 */

const prepared = prepareEncodeFunctionData({ abi: accessWindowAbi, functionName: 'windowOf' })

/** The window of `agent` at `atSeconds` as the contract gives it. Throws viem's errors; see isNoContract. */
export async function readWindow(
  client: PublicClient,
  at: { readonly contract: Hex; readonly agent: Hex; readonly atSeconds: number },
) {
  const args = [at.agent, BigInt(at.atSeconds)] as const
  const data = await client.request({
    method: 'eth_call',
    params: [{ to: at.contract, data: encodeFunctionData({ ...prepared, args }) }, 'latest'],
  })
  return decodeFunctionResult({ abi: prepared.abi, functionName: 'windowOf', data })
}

/**
 * Gas limit of a transaction that may arm a renewal, as the contract reckons it from the dollar price of a `scheduleCall`
 * and the gas price that it saw last: an estimate is wrong for calls that schedule. Only what is used is charged. Throws
 * viem's errors.
 */
export async function readArmingGas(client: PublicClient, address: Hex): Promise<bigint> {
  const [transactionGas] = await client.readContract({ address, abi, functionName: 'armingGas' })
  return transactionGas
}
