import type { FastifyRequest } from 'fastify'
import type { PaymentHeaders } from '../gate/payment-gate.ts'

/** The payment headers of a request. Node joins a header sent twice with a comma, which is then undecodable. */
export function paymentHeadersOf(request: Pick<FastifyRequest, 'headers'>): PaymentHeaders {
  return {
    paymentSignature: single(request.headers['payment-signature']),
    xPayment: single(request.headers['x-payment']),
  }
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
