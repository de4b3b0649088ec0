/** The error rows that routes document. */
import { errorBody } from '@tallystick/service-kit'
import { issuesBody, paymentRequiredSchema } from '../wire/errors.ts'

export const describedError = (description: string) => errorBody.describe(description)

/** What any route may answer while the ledger cannot be read. */
export const storeErrorRow = { 503: describedError('The ledger cannot be read or written.') }

export const paidErrorRows = {
  400: issuesBody,
  402: paymentRequiredSchema,
  409: describedError('The Idempotency-Key already named another request; nothing was settled.'),
  413: describedError('The body is over the route’s limit.'),
  415: describedError('The body is declared as something other than JSON.'),
  502: describedError(
    'The facilitator or the payment network was unavailable, or the payment is pending.',
  ),
  ...storeErrorRow,
}

export const notFoundRow = { 404: describedError('There is no such entry or receipt.') }

/** What a free route with a body may answer besides its 200. */
export const freeErrorRows = {
  400: issuesBody,
  413: paidErrorRows[413],
  415: paidErrorRows[415],
  ...storeErrorRow,
}
