import { proto } from '@hiero-ledger/proto'

/** Name of a Hedera response code, e.g. `INVALID_SIGNATURE`. */
export type Status = keyof typeof proto.ResponseCodeEnum

/** Number of a response code. */
export function statusNumber(status: Status): number {
  return proto.ResponseCodeEnum[status]
}

/** Whether a text is the name of a response code. */
export function isStatus(text: string): text is Status {
  return Object.hasOwn(proto.ResponseCodeEnum, text) && Number.isNaN(Number(text))
}
