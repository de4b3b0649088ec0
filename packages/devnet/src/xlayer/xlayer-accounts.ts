import secp256k1 from 'secp256k1'
import { hexToBytes, keccak256, stringToBytes } from 'viem'
import { evmAddressOf } from '../ledger/account-key.ts'
import type { XLayerAccount } from './xlayer.ts'

/** Who holds gas (owner of the token, facilitator) or is paid (operator), and the agents, who hold tokens. */
const NAMES = [
  'owner',
  'facilitator',
  'operator',
  ...Array.from({ length: 10 }, (_, index) => `agent-${index + 1}`),
]

/** The accounts, with the keys that the Hedera stand-in derives from the same names. */
export function xLayerAccounts(): XLayerAccount[] {
  return NAMES.map((name) => {
    const privateKey = keccak256(stringToBytes(`tallystick devnet ${name}`))
    const publicKey = secp256k1.publicKeyCreate(hexToBytes(privateKey), true)
    return { name, address: evmAddressOf(publicKey), privateKey }
  })
}
