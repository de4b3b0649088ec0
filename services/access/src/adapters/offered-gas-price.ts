/** Price offered for a quoted one: a tenth more outlives a rising quote, and the network charges its own price anyway. */
export function offeredGasPrice(quotedWeibar: bigint): bigint {
  return (quotedWeibar * 11n) / 10n
}
