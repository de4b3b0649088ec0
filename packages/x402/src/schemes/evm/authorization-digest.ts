/**
 * What a payer signs: the EIP-712 digest of an EIP-3009 `TransferWithAuthorization`. The domain separator of a token is
 * made once, so that a digest costs two hashes. https://eips.ethereum.org/EIPS/eip-3009, https://eips.ethereum.org/EIPS/eip-712
 */
import { type EvmAsset, evmChainId } from './evm-asset.ts'
import { addressWord, bytesOfHex, type Hex, hexOfBytes, keccak, uintWord } from './evm-words.ts'

/** An EIP-3009 transfer: who pays whom, how much (base units), and the seconds between which it may be submitted. */
export type TransferAuthorization = {
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  /** Unix seconds; valid strictly after it. */
  readonly validAfter: bigint
  /** Unix seconds; valid strictly before it. */
  readonly validBefore: bigint
  /** 32 bytes. */
  readonly nonce: Hex
}

const DOMAIN_TYPE = keccak(
  Buffer.from('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
)

const TRANSFER_TYPE = keccak(
  Buffer.from(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
)

/** An EIP-712 domain with the four fields that these tokens use. */
export type SigningDomain = {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Hex
}

/** The signing domain of an asset. Throws RangeError where its network is no `eip155:…`. */
export function domainOf(asset: Omit<EvmAsset, 'decimals'>): SigningDomain {
  const chainId = evmChainId(asset.network)
  if (chainId === undefined) throw new RangeError(`${asset.network} is no EVM network`)
  const { address: verifyingContract, name, version } = asset
  return { name, version, chainId, verifyingContract }
}

/** The EIP-712 domain separator, 32 bytes; the contract's `DOMAIN_SEPARATOR()` must be the same. */
export function domainSeparator(domain: SigningDomain): Buffer {
  return keccak(
    Buffer.concat([
      DOMAIN_TYPE,
      keccak(Buffer.from(domain.name, 'utf8')),
      keccak(Buffer.from(domain.version, 'utf8')),
      uintWord(BigInt(domain.chainId)),
      addressWord(domain.verifyingContract),
    ]),
  )
}

/** The 32 bytes that are signed for a transfer under a domain. Throws RangeError for a number that fits no word. */
export function authorizationDigest(
  separator: Uint8Array,
  authorization: TransferAuthorization,
): Buffer {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const structHash = keccak(
    Buffer.concat([
      TRANSFER_TYPE,
      addressWord(from),
      addressWord(to),
      uintWord(value),
      uintWord(validAfter),
      uintWord(validBefore),
      bytesOfHex(nonce),
    ]),
  )
  return keccak(Buffer.concat([Buffer.from([0x19, 0x01]), separator, structHash]))
}

/** The separator in hex, as contracts answer it. */
export function domainSeparatorHex(asset: Omit<EvmAsset, 'decimals'>): Hex {
  return hexOfBytes(domainSeparator(domainOf(asset)))
}
