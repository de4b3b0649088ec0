/** A handler that puts a price on one Express route (X1). It attaches to the route itself, so there is no path to match. */
import type { Request, RequestHandler, Response } from 'express'
import { answerPaidCall, type PaidRoute, renderText } from '../gate/paid-response.ts'

type Options<Prepared, Answer, Declined> = PaidRoute<Request, Prepared, Answer, Declined> & {
  /** Sends a paid answer, whose headers are set; by default text as it is, everything else as JSON. */
  readonly sendAnswer?: (response: Response, answer: Answer) => void
  /** Answers a request whose job declined before settlement; by default 422 with what it declined with. */
  readonly decline?: (response: Response, declined: Declined) => void
}

/**
 * `app.get('/report', paidRoute({ gate, terms, job }))`, in Express 4 and 5. Express serves HEAD with what serves GET; here it
 * is 405, since it would buy an answer without a body.
 */
export function paidRoute<Prepared, Answer, Declined>(
  options: Options<Prepared, Answer, Declined>,
): RequestHandler {
  const { decline, sendAnswer } = options
  async function serve(request: Request, response: Response): Promise<void> {
    const headers = {
      paymentSignature: request.header('payment-signature'),
      xPayment: request.header('x-payment'),
    }
    const outcome = await answerPaidCall(request, headers, options)
    if (outcome.kind === 'declined' && decline !== undefined) return decline(response, outcome.body)
    response.status(outcome.status)
    if (outcome.kind === 'sold') {
      const { delivered } = outcome
      // A client that disconnects earlier causes `close` without `finish`.
      response.once('finish', () => {
        if (response.statusCode === 200) void delivered?.()
      })
      if (sendAnswer !== undefined) return sendAnswer(response.set(outcome.headers), outcome.body)
    }
    const { headers: all, text } = renderText(outcome)
    // Not `send`: it may answer 304, and no middleware may touch the bytes that a header repeats.
    response.set(all).end(text)
  }
  return (request, response, next) => {
    if (request.method === 'HEAD')
      response.status(405).set('allow', 'GET').json({ error: 'method_not_allowed' })
    // Express 4 does not hear of a rejection by itself.
    else void serve(request, response).then(undefined, next)
  }
}
