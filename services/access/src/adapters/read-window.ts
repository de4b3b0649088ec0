/**
 * `windowOf`, the one read that every call makes, without what viem's readContract does anew each time: with the selector
 * hashed once, a read costs a third of the CPU.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import {
  decodeFunctionResult,
  encodeFunctionData,
  type PublicClient,
  prepareEncodeFunctionData,
} from 'viem'
import type { Hex } from '../domain/access-window.ts'

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
