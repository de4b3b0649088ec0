import { describeCall } from '@tallystick/x402'
import { agentExample } from './routes/examples.ts'

/** What a challenge tells an agent about the call: one query parameter, and the answer in short; `/openapi.json` has it whole. */
export const accessDiscovery = describeCall({
  input: {
    method: 'GET',
    queryParams: { agent: agentExample },
    schema: {
      type: 'object',
      properties: {
        agent: {
          type: 'string',
          pattern: '^0x[a-fA-F0-9]{40}$',
          description: 'Who holds the subscription: an EVM address.',
        },
      },
      required: ['agent'],
    },
  },
  output: {
    example: {
      access: 'granted',
      paidThisRequest: true,
      subscription: { expiresAt: 1_800_003_600, periodSeconds: 3_600, active: true },
      metering: { callsRemainingThisPeriod: 999 },
      resource: {},
    },
    schema: {
      properties: {
        access: { const: 'granted' },
        paidThisRequest: { type: 'boolean' },
        subscription: { type: 'object' },
        metering: { type: 'object' },
        resource: { description: 'What was paid for.' },
      },
      required: ['access', 'paidThisRequest', 'subscription', 'resource'],
    },
  },
})
