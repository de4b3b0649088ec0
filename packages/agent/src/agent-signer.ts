import type { Clock } from '@tallystick/x402'
import {
  createMirrorNode,
  ExactHederaClient,
  hederaSigner,
  readPrivateKey,
} from '@tallystick/x402/hedera'
import type { SchemeNetworkClient } from '@x402/fetch'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { AgentSigner } from './access-agent.ts'

/**
 * The signer for one ECDSA key: pays from its account and signs its transactions. `privateKey` is 32 bytes or DER in hex. `accountId` is the key's account `0.0.x`, or a function that finds it for the first payment. Throws
 * RangeError for anything else; the message never holds the key.
 */
export function agentSigner(options: {
  readonly privateKey: string
  readonly accountId: string | ((evmAddress: Address) => Promise<string>)
}): AgentSigner {
  const { accountId } = options
  const reading = readPrivateKey(options.privateKey, { only: 'ecdsa' })
  if (reading.kind === 'not_a_key')
    throw new RangeError(`privateKey: expected an ECDSA key in hex; it is ${reading.what}`)
  const key: Hex = `0x${reading.hex}`
  const account = privateKeyToAccount(key)
  let foundId: Promise<string> | undefined

  async function accountIdOnce(): Promise<string> {
    if (typeof accountId === 'string') return accountId
    foundId ??= accountId(account.address)
    return await foundId
  }

  function paymentScheme(memo: string): SchemeNetworkClient {
    return {
      scheme: 'exact',
      async createPaymentPayload(version, requirements) {
        const signer = hederaSigner({ accountId: await accountIdOnce(), privateKey: key })
        const client = new ExactHederaClient({ signer, memo })
        return await client.createPaymentPayload(version, requirements)
      },
    }
  }

  return { evmAddress: account.address, accountId: accountIdOnce, account, paymentScheme }
}

/** No account on the network has the key's EVM address: it was never funded there. */
export class AccountUnknown extends Error {
  override readonly name = 'AccountUnknown'
}

/** The account id `0.0.x` of an EVM address, from the mirror node. Throws AccountUnknown or x402's LedgerUnavailable. */
export async function resolveAccountId(options: {
  readonly mirrorUrl: string
  readonly evmAddress: Address
  readonly clock: Clock
}): Promise<string> {
  const mirror = createMirrorNode({ url: options.mirrorUrl, clock: options.clock })
  const account = await mirror.account(options.evmAddress)
  if (account === undefined) {
    throw new AccountUnknown(
      `The network has no account for ${options.evmAddress} yet: send some HBAR there, or set AGENT_ACCOUNT_ID.`,
    )
  }
  return account.accountId
}
