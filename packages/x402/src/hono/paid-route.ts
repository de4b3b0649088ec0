/** A handler that puts a price on one Hono route (X1). It attaches to the route itself, so there is no path to match. */
import type { Context } from 'hono'
import { answerPaidCall, type PaidRoute, renderText } from '../gate/paid-response.ts'

type Options<Prepared, Answer, Declined> = PaidRoute<Context, Prepared, Answer, Declined> & {
  /** Makes the response to a paid call, whose headers are set; by default text as it is, everything else as JSON. */
  readonly sendAnswer?: (context: Context, answer: Answer) => Response
  /** Answers a request whose job declined before settlement; by default 422 with what it declined with. */
  readonly decline?: (context: Context, declined: Declined) => Response
}

/**
 * `app.get('/report', paidRoute({ gate, terms, job }))`. Hono serves HEAD with what serves GET; here it is 405, since it would
 * buy an answer without a body.
 */
export function paidRoute<Prepared, Answer, Declined>(
  options: Options<Prepared, Answer, Declined>,
): (context: Context) => Promise<Response> {
  const { decline, sendAnswer } = options
  return async (context) => {
    if (context.req.method === 'HEAD')
      return context.json({ error: 'method_not_allowed' }, 405, { allow: 'GET' })
    const headers = {
      paymentSignature: context.req.header('payment-signature'),
      xPayment: context.req.header('x-payment'),
    }
    const outcome = await answerPaidCall(context, headers, options)
    if (outcome.kind === 'declined' && decline !== undefined) return decline(context, outcome.body)
    const { headers: all, text } = renderText(outcome)
    if (outcome.kind !== 'sold') return new Response(text, { status: outcome.status, headers: all })
    for (const [name, value] of Object.entries(outcome.headers)) context.header(name, value)
    const response = sendAnswer?.(context, outcome.body) ?? context.body(text, 200, all)
    const { delivered } = outcome
    if (delivered === undefined || response.body === null) return response
    // The server took the last byte: as much as a handler of Hono can see. A client that left cancels the stream instead.
    const seen = new TransformStream<Uint8Array, Uint8Array>({ flush: () => void delivered() })
    return new Response(response.body.pipeThrough(seen), response)
  }
}
