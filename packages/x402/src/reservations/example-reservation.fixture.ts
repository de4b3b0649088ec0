import type { VerifiedPayment } from '../payment.ts'
import type { Reservation } from './reservation-store.ts'

/** A reservation for tests, with `changes` applied. */
export function exampleReservation(
  paymentId: string,
  changes: Partial<Reservation> = {},
): Reservation {
  const payment: VerifiedPayment = {
    id: paymentId,
    network: 'hedera:testnet',
    asset: '0.0.0',
    amount: 300_000_000n,
    payTo: '0.0.7001',
    payer: '0.0.9001',
    payerEvmAddress: `0x${'cd'.repeat(20)}`,
    nonce: paymentId,
    memo: 'é ₮',
    validFromSeconds: 1_795_226_000,
    validUntilSeconds: 1_795_226_180,
  }
  return {
    paymentId,
    payment,
    fingerprint: 'GET /access',
    subject: 'agent',
    state: 'reserved',
    expiresAtSeconds: 1_795_226_240,
    ...changes,
  }
}
