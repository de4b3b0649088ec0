// Whoever may write to the database may write any row. What a process believes of rows that others of the service wrote, it
// believes for a MAC, under a key that only the service's processes have.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { checkpointOrigin } from '@tallystick/journal-store'
import { chooseSeed } from '@tallystick/service-kit'
import type { CareConfig } from '../../config.ts'

export type RowMac = {
  write(cells: readonly unknown[]): Buffer
  isOwn(cells: readonly unknown[], mac: Uint8Array): boolean
}

/** The MAC of rows of one kind; undefined where CHECKPOINT_KEY is not said, and nobody shares rows. */
export function openRowMac(
  config: Pick<CareConfig, 'CHECKPOINT_KEY' | 'BASE_URL' | 'SERVICE_NAME'>,
  kind: string,
): RowMac | undefined {
  const seed = chooseSeed(config)
  if (seed === undefined) return undefined
  const key = Buffer.from(hkdfSync('sha256', seed, '', `tallystick care ${kind}`, 32))
  const origin = checkpointOrigin(config.BASE_URL, config.SERVICE_NAME)
  const write = (cells: readonly unknown[]): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([origin, ...cells]))
      .digest()
  return {
    write,
    isOwn: (cells, mac) => mac.length === 32 && timingSafeEqual(write(cells), mac),
  }
}
