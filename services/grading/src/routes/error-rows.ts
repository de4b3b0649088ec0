/** The error rows that routes document. */
import { errorBody } from '@tallystick/service-kit'
import { issuesBody, paymentRequiredSchema } from '../wire/errors.ts'

export const describedError = (description: string) => errorBody.describe(description)

/** What any route may answer while the ledger cannot be read. */
export const storeErrorRow = { 503: describedError('The ledger cannot be read or written.') }

/** What a body may be refused for. */
export const bodyErrorRows = {
  413: describedError('The body is over the route’s limit.'),
  415: describedError('The body is declared as something other than JSON.'),
}

export const paidErrorRows = {
  400: issuesBody,
  402: paymentRequiredSchema,
  409: describedError('The Idempotency-Key already named another request; nothing was settled.'),
  ...bodyErrorRows,
  502: describedError(
    'The facilitator or the payment network was unavailable, or the payment is pending.',
  ),
  ...storeErrorRow,
}

export const tooManyRow = {
  429: describedError('This address has asked too often; Retry-After says when to go on.'),
}

export const notFoundRow = { 404: describedError('There is no such entry or receipt.') }

/** What a free route with a body may answer besides its 200. */
export const freeErrorRows = { 400: issuesBody, ...bodyErrorRows, ...storeErrorRow }
