import { type ServiceApp, systemClock } from '@tallystick/service-kit'
import { buildGradingApp } from './app.ts'
import { methodsAnswer } from './methods-answer.ts'

/** Stands in for what routes do: a reference is made from their schemas alone. */
function notCalled(): never {
  throw new Error('the API reference is made without calling any route')
}

/** The application without anything behind it, for its OpenAPI document. Nothing opens, and nothing is left to close. */
export async function buildReferenceApp(): Promise<ServiceApp> {
  return buildGradingApp({
    grader: {
      grade: notCalled,
      release: notCalled,
      audit: notCalled,
      cardOf: notCalled,
      calibration: notCalled,
      coverage: notCalled,
      publicEntry: notCalled,
    },
    store: {
      events: notCalled,
      searchEvents: notCalled,
      ingest: notCalled,
      hasPayload: notCalled,
      markPayload: notCalled,
      keepPick: notCalled,
      payerTag: notCalled,
      pickByReceipt: notCalled,
      pickByPayment: notCalled,
      pickBySeq: notCalled,
      picksOf: notCalled,
      entry: notCalled,
      entries: notCalled,
      head: notCalled,
      checkpoint: notCalled,
      inclusionProof: notCalled,
      truth: notCalled,
      counts: notCalled,
      verify: notCalled,
      close: notCalled,
    },
    gate: {
      challenge: notCalled,
      refusalOf: notCalled,
      pay: notCalled,
      isPending: notCalled,
      close: notCalled,
    },
    termsOf: notCalled,
    report: notCalled,
    methods: methodsAnswer(),
    verifyToken: undefined,
    reportUpload: notCalled,
    clock: systemClock,
  })
}
