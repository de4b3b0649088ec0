import { PrivateKey } from '@hiero-ledger/sdk'

const RAW_KEY = /^(?:0x)?([0-9a-fA-F]{64})$/
const DER_KEY = /^(?:0x)?(30[0-9a-fA-F]{60,})$/

/**
 * Reads a private key: 32 bytes in hex are an ECDSA (secp256k1) key, DER in hex says itself which kind it is; an Ed25519
 * key must be DER, since its bare bytes look like any other. Undefined for anything else.
 */
export function parsePrivateKey(text: string): PrivateKey | undefined {
  const [, raw] = RAW_KEY.exec(text) ?? []
  const [, der] = DER_KEY.exec(text) ?? []
  try {
    if (raw !== undefined) return PrivateKey.fromStringECDSA(raw)
    return der === undefined ? undefined : PrivateKey.fromStringDer(der)
  } catch {
    return undefined
  }
}
