import type { Clock, ReadinessCheck } from '@tallystick/service-kit'
import { checkEvmDomain, createJsonRpcLedger, type EvmAsset } from '@tallystick/x402/evm'
import { formatEther } from 'viem'
import type { FacilitatorLimits } from '../settlement.ts'
import { createEvmWallet, type EvmWalletOptions } from './evm-wallet.ts'
import { createExactEvm } from './exact-evm.ts'

/** An EVM chain and the account that submits there. */
export type EvmChain = Omit<EvmWalletOptions, 'callMs'> & {
  /** The tokens it settles, all on that chain. */
  readonly assets: readonly EvmAsset[]
  readonly outcomeMs?: number | undefined
  /** Whether contracts may pay (EIP-1271); by default they may. */
  readonly contractWallets?: boolean | undefined
}

/** EVM_RPC_URL leads to a different chain, or to one where a token signs under a different domain. */
export class WrongToken extends Error {
  override readonly name = 'WrongToken'
}

/** What gas is paid in, where we know its name. */
const COINS: Readonly<Record<string, string>> = { 'eip155:196': 'OKB', 'eip155:1952': 'OKB' }

/** Below this the account should be topped up: about a thousand transfers at X Layer's usual price. */
const GAS_BALANCE_MIN_WEI = 5_000_000_000_000_000n

/**
 * Builds the side of one EVM chain from an address and a key, and, if the chain answers, compares the tokens with it (G9). Throws
 * RangeError for an unusable key or asset, WrongToken for a chain or token that is not the configured one.
 */
export async function createEvmFacilitator(
  chain: EvmChain,
  { clock, ...limits }: FacilitatorLimits & { readonly clock: Clock },
) {
  const { assets, contractWallets, outcomeMs, rpcUrl } = chain
  const network = `eip155:${chain.chainId}`
  if (assets.length === 0 || assets.some((asset) => asset.network !== network)) {
    throw new RangeError(`EVM_ASSETS must name at least one token of ${network}`)
  }
  const wallet = createEvmWallet(chain)
  const ledger = createJsonRpcLedger({ url: rpcUrl, clock })
  const checkAll = () => Promise.all(assets.map((asset) => checkEvmDomain(asset, ledger)))
  for (const check of await checkAll()) {
    if (check.kind === 'wrong_chain' || check.kind === 'wrong_domain') {
      throw new WrongToken(`EVM_RPC_URL or EVM_ASSETS: ${JSON.stringify(check)}`)
    }
  }
  const ready: ReadinessCheck = async () => {
    const wrong = (await checkAll()).find((check) => check.kind !== 'right')
    if (wrong !== undefined) return { kind: 'not-ready', reason: `evm_${wrong.kind}` }
    const balance = await wallet.gasBalance()
    if (balance === undefined) return { kind: 'not-ready', reason: 'evm_unreachable' }
    const details = {
      address: wallet.address,
      balanceWei: balance.toString(),
      minimumWei: GAS_BALANCE_MIN_WEI.toString(),
    }
    return balance < GAS_BALANCE_MIN_WEI
      ? { kind: 'not-ready', reason: 'evm_gas_balance_low', details }
      : { kind: 'ready', details }
  }
  return {
    network,
    scheme: createExactEvm({
      network,
      assets,
      wallet,
      ledger,
      clock,
      outcomeMs,
      contractWallets,
      ...limits,
    }),
    readiness: { evm: ready },
    /** Submits and pays the gas. */
    payer: {
      label: `Pays gas on ${network}`,
      account: wallet.address,
      unit: 'wei',
      amountText: (wei: bigint): string => `${formatEther(wei)} ${COINS[network] ?? 'coins'}`,
    },
    balance: wallet.gasBalance,
  }
}
