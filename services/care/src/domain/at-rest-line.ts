import { SEAL_ALGORITHM } from '@tallystick/hashchain'

/** The at-rest status line of `/verify` (care.md), without a label: says plaintext where no sealing is configured. */
export function atRestLine(sealing: {
  readonly isSealed: boolean
  readonly keyId?: string
}): string {
  return sealing.isSealed
    ? `sealed at rest with ${SEAL_ALGORITHM} under key ${sealing.keyId ?? '(unnamed)'}, each value bound to patient|domain|version|audience`
    : 'plaintext at rest: no sealing is configured'
}
