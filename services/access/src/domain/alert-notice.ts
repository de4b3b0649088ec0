/** Everything of the seller's that may run out, or that waits to be taken out. */
export const SELLER_ALERTS = ['reserve_low', 'recorder_low', 'float_low', 'withdrawable'] as const

export type SellerAlert = (typeof SELLER_ALERTS)[number]

/** The seller gets one when an alert is raised, when it has stood for the reminder interval, and when it is cleared. */
export type AlertNotice = {
  readonly alert: SellerAlert
  readonly change: 'raised' | 'reminder' | 'cleared'
  /** For a person, in one sentence. */
  readonly text: string
}

/** Carries notices to the seller, besides metric and log. */
export type AlertWebhook = {
  /** Does not wait. */
  send(notice: AlertNotice): void
  close(): void
}
