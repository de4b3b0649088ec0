// What the measuring side and the measured server agree on.

/** `floor` has no transport at all: the cost that both transports share. */
export type CostVariant = 'ours' | 'sdk' | 'floor'
export const COST_BASE_URL = 'http://care.test'
export const COST_SECRET = 'token-secret-for-measuring-0123456789'
export const COST_URI = 'care://ann/tea'

export type CostQuestion = 'figures' | 'collect' | 'fire' | 'stop'
export type CostAnswer =
  | { readonly kind: 'listening'; readonly url: string }
  | {
      readonly kind: 'figures'
      /** User and system, microseconds since start. */
      readonly cpuMicros: number
      readonly heapBytes: number
      readonly rssBytes: number
    }
  | { readonly kind: 'fired'; readonly notifications: number }
